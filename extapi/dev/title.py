"""The command line of a process in ``ps`` and ``top``; a fork would show the command line of its parent."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

_STAT = Path("/proc/self/stat")
_ARG_START, _ARG_END = 48, 49
"""The columns with the addresses of the command line (proc_pid_stat(5))."""


def set_command_line(text: str) -> None:
    """Write ``text`` over this process's command line, cut to its length; on Linux, for forks.

    The memory is on the stack and writable, and nobody else reads it: Python has copied its arguments. setproctitle does the
    same, and moves the environment to make room for longer titles; that is not worth a dependency in C.
    """
    with contextlib.suppress(OSError, IndexError, ValueError):
        # The second column, the name, may have spaces and parentheses in it.
        columns = _STAT.read_text().rpartition(")")[2].split()
        start, end = (int(columns[number - 3]) for number in (_ARG_START, _ARG_END))
        if 0 < start < end:
            # With a NUL at the end: without it the kernel reads on into the environment.
            ctypes.memmove(start, text.encode()[: end - start - 1].ljust(end - start, b"\0"), end - start)
