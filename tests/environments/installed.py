"""What a user installs: the wheel, in a virtual environment for each extra. pip gets the packages from where it is told to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from extapi.cli import COMMANDS
from tests.environments.machine import KUBECONFIG, ROOT

EXTRAS = ("", "etcd", "kubeconfig")
_ETCD = ("storage", "status", "etcd:", "--etcd-servers=http://127.0.0.1:1")
_WITHOUT_HPACK = (_ETCD, 1, "pip install 'extapi[etcd]'")
_WITHOUT_KUBERNETES = (("doctor", "--kubeconfig=config"), 2, "pip install 'extapi[kubeconfig]'")
_JOBS: tuple[tuple[tuple[str, ...], int, str], ...] = (
    (("certs", "--service=a", "--namespace=b"), 0, "ca.crt"),
    (("crd", "export", "extapi.pizza:api", "--conversion-webhook-url=https://127.0.0.1/convert"), 0, "kind: CustomRes"),
    (("manifests", "extapi.pizza:api"), 0, "kind: APIService"),
    (("storage", "status", "sqlite:///nowhere.db"), 1, "nowhere.db"),
    (("webhooks", "extapi.pizza:api"), 1, "--tls-cert-file and --tls-private-key-file are required"),
)
"""A command, its status, and what it says: the same with each extra."""
_OF_EXTRAS = {
    "": (_WITHOUT_HPACK, _WITHOUT_KUBERNETES),
    "etcd": ((_ETCD, 1, "refused"), _WITHOUT_KUBERNETES),
    "kubeconfig": (_WITHOUT_HPACK, (("doctor", "--kubeconfig=config"), 2, "no answer to list on apiservices")),
}


def wheel(place: Path) -> Path:
    """Build it; its file."""
    _do(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(place), str(ROOT))
    (found,) = place.glob("extapi-*.whl")
    return found


def environment(place: Path, *requirements: str) -> Path:
    """Make a virtual environment with these; its Python."""
    _do(sys.executable, "-m", "venv", str(place))
    python = place / "bin" / "python"
    _do(str(python), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *requirements)
    return python


def wrong(python: Path, extra: str, place: Path) -> Iterator[str]:
    """What does not go as it should with an extra: each command's help, and its main job."""
    (place / "config").write_text(KUBECONFIG)
    helps = [((name, "--help"), 0, "Usage: ") for name in COMMANDS]
    for arguments, status, says in (*helps, *_JOBS, *_OF_EXTRAS[extra]):
        done = subprocess.run(
            [str(python.with_name("extapi")), *arguments],
            cwd=place,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        said = done.stdout + done.stderr
        if done.returncode != status or says not in said or "Traceback" in said:
            yield f"extapi {' '.join(arguments)}: {done.returncode}, {said.strip()[-300:]}"


def _do(*command: str) -> None:
    subprocess.run(command, check=True)
