"""A process forked from this one: what it has imported is there at once, in memory that both share.

Safe only from a process with one thread and without a reactor. Must not know what the process does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


def fork(name: str, work: Callable[[], int]) -> int:
    """Run ``work`` in a fork, which ends with what it returns, and is killed when this process dies, however that happens.

    It has its own process group, so that Ctrl-C reaches only this process, no input, and its own signals.

    Args:
        name: What ``ps`` and ``top`` call it; 15 characters.
        work: Its exit status.

    Returns:
        The id of the process.

    Raises:
        OSError: No further process can be started.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    parent = os.getpid()
    # A signal that arrives in between is for the parent's handlers; the child's are set before it can get one.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        pid = os.fork()
    finally:
        if os.getpid() == parent:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if pid:
        return pid
    status = 1
    try:
        _detach(name, parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        status = work()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - no exception may reach the parent's code below us
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def _detach(name: str, parent: int) -> None:
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_NAME, name.encode()[:15])
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)
