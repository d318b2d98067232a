"""Forks of this process: what it has imported is there at once, in memory that both share.

Safe only from a process with one thread and without a reactor. Must not know what the process does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable, Collection

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
"""Looked up now: in a fork, another thread may have held the lock of the dynamic linker."""


def fork(
    work: Callable[[], int],
    signals: Collection[signal.Signals],
    *,
    begin: Callable[[], None] = lambda: None,
    held: Collection[signal.Signals] = (),
) -> int:
    """Run ``work`` in a fork, which ends with what it returns.

    Args:
        work: Its exit status. Errors and SystemExit end it as they do a program.
        signals: Those that this process handles. In the fork they have the handlers of a new program.
        begin: Called in the fork first, before it gets any of ``signals``.
        held: Those of ``signals`` that the fork never gets.

    Returns:
        The id of the process.

    Raises:
        OSError: No further process can be started.
    """
    _flush()
    parent = os.getpid()
    # A signal that arrives in between is for our handlers, which in the fork would run, or raise, in our code.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        pid = os.fork()
    finally:
        if os.getpid() == parent:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if pid:
        return pid
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in signals:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        begin()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number for number in signals if number not in held])
        status = work()
    except SystemExit as end:
        status = _status(end)
    except BaseException:  # noqa: BLE001 - no exception may reach the parent's code below us
        traceback.print_exc()
    finally:
        _flush()
        os._exit(status)


def detach() -> None:
    """Have a process group of its own, which Ctrl-C at our terminal does not reach, and no input."""
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def set_name(name: str) -> None:
    """Set the name in ``ps`` and ``top``; Linux keeps 15 bytes (prctl(2)). Does nothing elsewhere."""
    if _prctl is not None:
        _prctl(_PR_SET_NAME, name.encode())


def die_with(parent: int) -> None:
    """Be killed when ``parent`` dies, however that happens; at once if it has. Does nothing except on Linux."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _status(end: SystemExit) -> int:
    """What the interpreter makes of it."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)  # noqa: T201 - as the interpreter does
    return 1
