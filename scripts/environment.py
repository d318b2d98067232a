"""Makes ``.venv`` from ``requirements.lock``, or brings it up to date. Standard library only; run by ``environment``.

The virtual environment cannot be made elsewhere and moved, because its scripts name its path. So it is made in place,
under a lock, with a mark that says "unfinished" until all is installed: an interrupted run is done again from the
start, and a second run waits for the first.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
UNFINISHED = VENV / "extapi-unfinished"
STAMP = VENV / "extapi-stamp"


def main() -> None:
    """One run at a time."""
    # The lock is on the checkout's directory itself, which leaves no file behind.
    directory = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another run that makes .venv")
            fcntl.flock(directory, fcntl.LOCK_EX)
        make()
    finally:
        os.close(directory)


def make() -> None:
    """Make or update the environment, alone, unless it is as it should be by now."""
    wanted = fingerprint()
    if STAMP.exists() and STAMP.read_text() == wanted and works():
        return
    if UNFINISHED.exists() or not works():
        say("making .venv (once; about a minute)")
        shutil.rmtree(VENV, ignore_errors=True)
        VENV.mkdir()
        UNFINISHED.touch()
        venv.create(VENV, with_pip=True)
    else:
        # Others may be running from it: it is changed in place.
        say("bringing .venv up to date")
        UNFINISHED.touch()
    pip("install", "--require-hashes", "-r", "requirements.lock")
    pip("install", "--no-deps", "--no-build-isolation", "--editable", ".")
    STAMP.write_text(wanted)
    UNFINISHED.unlink()


def fingerprint() -> str:
    """What the environment is made of, in the words of the shell's check: POSIX cksum over both files."""
    content = b"".join((ROOT / name).read_bytes() for name in ("requirements.lock", "pyproject.toml"))
    return subprocess.run(["cksum"], input=content, capture_output=True, check=True).stdout.decode()


def works() -> bool:
    """Whether the environment's interpreter is there and has pip."""
    command = [str(VENV / "bin" / "python"), "-c", "import pip"]
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def pip(*arguments: str) -> None:
    """Run the environment's pip; its failure is ours."""
    command = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments[:1], "--quiet"]
    status = subprocess.run([*command, *arguments[1:]], cwd=ROOT, check=False).returncode
    if status != 0:
        sys.exit(f"error: pip could not install what .venv needs (status {status}); the next run starts anew")


def say(line: str) -> None:
    """A line for whoever waits."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
