"""A Python program as a fork of this process: it starts with everything imported, in memory that both share.

This way two servers of one library cost little more than one, and neither waits for imports. It works only if this process
has one thread and no reactor, since neither survives a fork. A fork also has in memory what this process has read, so it
must not run as a user who may not read that. Knows modules by name only.
"""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import TimeoutExpired

from extapi import forks

_POLL = 0.01
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OF_TERMINAL = (signal.SIGINT, signal.SIGHUP)
"""Signals that a terminal sends to all processes in the foreground; we handle them and end the children in order."""
_TASKS = Path("/proc/self/task")


class Fork:
    """A forked child with the needed part of ``subprocess.Popen``: ``returncode`` is negative for a signal."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit status; None as long as it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status.

        Raises:
            subprocess.TimeoutExpired: It still runs after ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(_POLL)
        return status

    def terminate(self) -> None:
        """Ask it to end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


def prepare(modules: Sequence[str]) -> bool:
    """Import what the children need and freeze it for the garbage collector. Returns whether a fork is safe afterwards.

    It is not if an import started a thread or installed Twisted's reactor, or if that cannot be found out.
    """
    for name in modules:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # otherwise the first collection in each child would write to every page with an object
    try:
        threads = len(list(_TASKS.iterdir()))
    except OSError:
        return False  # not Linux
    return threads == 1 and "twisted.internet.reactor" not in sys.modules


def fork(
    module: str, arguments: Sequence[str], *, output: int, begin: Callable[[], None], foreground: bool = False
) -> Fork:
    """Run ``python -m module arguments`` in a fork.

    Args:
        output: The file descriptor that it prints to.
        begin: Called in the child first.
        foreground: Whether it shares our standard input, output and process group; then only errors go to ``output``.

    Raises:
        OSError: No further process can be started.
    """

    def first() -> None:
        if not foreground:
            forks.detach()
            os.dup2(output, 1)
        os.dup2(output, 2)
        _open_streams()

    def work() -> int:
        begin()
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return 0

    return Fork(forks.fork(work, _SIGNALS, begin=first, held=OF_TERMINAL if foreground else ()))


def _open_streams() -> None:
    """Make the standard streams anew: those of the parent may be for a terminal."""
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - the same; somebody reads each line as it comes
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115 - the same
