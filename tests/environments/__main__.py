"""``python -m tests.environments``: tries commands on odd machines that take long to make. Exits with 1 if one is wrong.

Takes the names of parts: ``rows``, ``threads``, ``orphans``, ``extras``.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from tests.environments import installed
from tests.environments.machine import ROOT, SERVE, prepare, run
from tests.environments.table import FURTHER, QUICK

_THREAD = "import threading\nthreading.Thread(target=threading.Event().wait, name='poller').start()"
_SERVES = '"event":"serving"'
"""What a server's log has soon after it listens: it asks the cluster."""
_GREEN = {
    "gevent": "from gevent import monkey\nmonkey.patch_all()",
    "eventlet": "import eventlet\neventlet.monkey_patch()",
}
_LOADING = (
    ("serve", "mine:api"),
    ("dev", "mine:api"),
    ("manifests", "mine:api"),
    ("crd", "export", "mine:api"),
    ("doctor", "--kubeconfig=config", "--app=mine:api"),
)
"""Commands that load a module, as far as they get without more."""
_SECONDS = 30


def rows(place: Path) -> Iterator[str]:
    """The rows of the table."""
    for number, odd in enumerate((*QUICK, *FURTHER)):
        here = place / str(number)
        here.mkdir()
        done = run(odd, here)
        says = re.search(odd.says.replace("{here}", re.escape(str(here))), done.stderr, re.MULTILINE)
        files = set((here / "listed").read_text().splitlines())
        if done.returncode != odd.status or not says or "Traceback" in done.stderr or files != (odd.files or files):
            yield f"{odd.name}: {done.returncode}, {done.stderr.strip()[-300:]}"


def threads(place: Path) -> Iterator[str]:
    """SIGTERM ends servers whose module has left a thread, one process or two, and names it."""
    prepare(place, _THREAD)
    for more in ((), ("--workers=2", "--storage=sqlite:///store.db")):
        log = place / f"log{len(more)}"
        with log.open("wb") as output:
            command = [sys.executable, "-m", "extapi", *SERVE, *more]
            server = subprocess.Popen(command, cwd=place, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=output)
        _until(lambda log=log: _SERVES in log.read_text(), "a server that asks its cluster")  # type: ignore[misc]
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        status = server.wait(_SECONDS)
        click.echo(f"  {1 + bool(more)} processes ended after {time.monotonic() - began:.1f} s")
        if status or "not daemons: poller (Event.wait" not in log.read_text():
            yield f"serve {' '.join(more)}: {status}, {log.read_text()[-300:]}"


def orphans(place: Path) -> Iterator[str]:
    """A first process that waits for nobody."""
    prepare(place, "")
    served = [sys.executable, "-m", "extapi", *SERVE, "--workers=2", "--storage=sqlite:///store.db"]
    developed = [sys.executable, "-m", "extapi", "dev", "mine:api", "--dir=dev"]
    for ready, command in ((_SERVES, served), ("ready after", developed)):
        here = place / command[3]
        here.mkdir()
        first = [sys.executable, "-m", "tests.environments.orphans", str(here), ready, *command]
        unshare = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--pid", "--fork", "--mount-proc"]
        done = subprocess.run(
            [*unshare, *first],
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        click.echo(f"  extapi {command[3]}: {done.stdout.strip()}")
        if done.returncode:
            yield f"extapi {command[3]}: {done.stderr.strip()[-300:]}"


def extras(place: Path) -> Iterator[str]:
    """The wheel with each extra, and with the two libraries of green threads."""
    built = installed.wheel(place)
    for extra in installed.EXTRAS:
        python = installed.environment(place / f"venv-{extra}", f"{built}[{extra}]" if extra else str(built))
        here = place / f"with-{extra}"
        here.mkdir()
        for each in installed.wrong(python, extra, here):
            yield f"extapi[{extra}]: {each}"
    python = installed.environment(place / "venv-green", f"{built}[kubeconfig]", *_GREEN)
    for library, module in _GREEN.items():
        here = place / library
        here.mkdir()
        prepare(here, module)
        for arguments in _LOADING:
            command = [str(python), "-m", "extapi", *arguments]
            done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=_SECONDS, check=False)
            last = (done.stderr.strip().splitlines() or [""])[-1]
            if not done.returncode or not last.startswith(
                f"Error: mine cannot be served: {library} has replaced parts"
            ):
                yield f"{library}: extapi {' '.join(arguments)}: {done.returncode}, {last}"


def _until(done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not done():
        if time.monotonic() > deadline:
            sys.exit(f"waited {_SECONDS} s for {what}")
        time.sleep(0.1)


def main() -> None:
    failed = 0
    parts = (rows, threads, orphans, extras)
    for part in [each for each in parts if each.__name__ in sys.argv[1:] or not sys.argv[1:]]:
        began = time.monotonic()
        click.echo(f"{part.__name__}: {part.__doc__}")
        with tempfile.TemporaryDirectory() as place:
            for wrong in part(Path(place)):
                failed += 1
                click.echo(f"  WRONG {wrong}")
        click.echo(f"  {time.monotonic() - began:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
