"""The first process of a process namespace that waits for no child, as some containers have: what has ended stays as a zombie.

``python -m tests.environments.orphans DIRECTORY READY COMMAND...``: starts the command and kills it once its output has READY,
starts it again, ends it by SIGTERM, and prints how many seconds that took and how many zombies there are.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

SECONDS = 60.0


def main(directory: Path, ready: str, command: list[str]) -> None:
    first = _started(directory / "first", ready, command)
    os.kill(first, signal.SIGKILL)
    _ended(first)
    second = _started(directory / "second", ready, command)
    began = time.monotonic()
    os.kill(second, signal.SIGTERM)
    _ended(second)
    zombies = sum(_state(int(each.name)) == "Z" for each in Path("/proc").iterdir() if each.name.isdigit())
    click.echo(f"ended after {time.monotonic() - began:.1f} s beside {zombies} zombies")


def _started(log: Path, ready: str, command: list[str]) -> int:
    pid = os.fork()
    if pid == 0:
        output = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.execv(command[0], command)  # noqa: S606 - what the test names
    _until(lambda: log.exists() and ready in log.read_text(), f"{ready!r} in {log}")
    return pid


def _ended(pid: int) -> None:
    _until(lambda: _state(pid) == "Z", f"the end of {pid}")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _until(done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        if time.monotonic() > deadline:
            sys.exit(f"waited {SECONDS:g} s for {what}")
        time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
