"""Stopping a process, as ``kill -STOP`` does, and waiting until it has stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.waiting import until


def stop(pid: int) -> None:
    """Stop a process; returns when none of its threads runs, which on a busy machine is long after the signal was sent.

    Meanwhile they run on, and a signal with a lower number that comes is handled first (signal(7)).
    """
    os.kill(pid, signal.SIGSTOP)
    until(lambda: _states(pid) == {"T"}, 30)


def _states(pid: int) -> set[str]:
    """Those of its threads; the state comes after the name, which is in parentheses (proc_pid_stat(5))."""
    return {task.read_text().rpartition(")")[2].split()[0] for task in Path(f"/proc/{pid}/task").glob("*/stat")}
