"""A machine for one command: its file system, its network, its processes and its modules are as a row of the table says.

Made of namespaces, which need root, or a user who may make a user namespace.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.certificates import authority

ROOT = Path(__file__).parents[2]
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
"""
SERVE = (
    *("serve", "mine:api", "--kubeconfig=config", "--bind-address=127.0.0.1", "--secure-port=0", "--cert-dir=certs"),
    *(
        "--authentication-skip-lookup",
        "--requestheader-client-ca-file=proxy.pem",
        "--requestheader-allowed-names=proxy",
    ),
)
"""A server that asks no cluster before it listens."""


@dataclass(frozen=True)
class Odd:
    """A row: an oddity, and what a command is to do.

    Attributes:
        name: What is odd.
        command: The arguments of ``extapi``.
        says: What stderr has to hold, as a pattern; ``{here}`` is the directory.
        status: The exit status.
        made: A shell script that makes the machine, as root of the namespaces, in the directory of the command.
        namespaces: What ``unshare`` gives it of its own.
        module: What ``mine.py`` begins with; the API of pizzas follows.
        files: What may be in the directory ``small`` afterwards; None: anything.
    """

    name: str
    command: tuple[str, ...]
    says: str
    status: int = 1
    made: str = ""
    namespaces: tuple[str, ...] = ("--mount",)
    module: str = ""
    files: frozenset[str] | None = field(default=None)


def prepare(place: Path, module: str) -> None:
    """Write what commands need: an author's module, a kubeconfig and a front proxy's authority."""
    (place / "mine.py").write_text(f"{module}\nfrom extapi.pizza import api\n")
    (place / "config").write_text(KUBECONFIG)
    (place / "proxy.pem").write_bytes(authority("proxy").pem)
    (place / "small").mkdir()


def command(odd: Odd, place: Path, python: str = sys.executable) -> list[str]:
    """The command line that makes the machine and runs the command on it."""
    # What is below a mount is seen inside of its namespace alone.
    listed = f'find "{place}/small" -mindepth 1 -printf "%P\\n" >"{place}/listed"'
    script = f'{odd.made or ":"}\nstatus=0\n"$@" || status=$?\n{listed}\nexit "$status"'
    unshare = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), *odd.namespaces]
    return [*unshare, "sh", "-euc", script, "sh", python, "-B", "-m", "extapi", *odd.command]


def run(odd: Odd, place: Path, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Run the command of a row in a directory, with little else in its environment."""
    prepare(place, odd.module)
    return subprocess.run(
        command(odd, place),
        cwd=place,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
