"""Ends a process that was asked to end and whose reactor is stuck, with its stacks in the log.

A signal handler in Python runs when the interpreter comes to it, and a thread when it is given the interpreter's lock:
neither helps against a call in C that keeps the lock, such as a match of ``re`` that backtracks for hours. So all that
has to happen then is done by the kernel and by handlers in C (``signal(7)``, ``fcntl(2)``):

1. SIGTERM comes. The interpreter's own handler writes a byte to the wakeup descriptor (:func:`signal.set_wakeup_fd`).
2. That is a socket whose other end raises :data:`PATIENCE` where bytes come (``O_ASYNC`` and ``F_SETSIG``).
3. The handler of that signal is ``alarm`` of the C library itself. A handler is called with the signal's number, which
   ``alarm`` takes for seconds: 16.
4. A reactor that lives reads the byte, and puts off the alarm again and again until the process has ended.
5. Otherwise SIGALRM comes: ``faulthandler`` writes the stacks of all threads, then ``_exit`` of the C library is
   called with the signal's number, so that the exit status is 14.

SIGKILL out of a child would not do: as the first process of a container, which we are in a pod, it is ignored (``pid_namespaces(7)``).
Of no use on a system without ``F_SETSIG``, which is Linux's: there SIGTERM is as patient as the reactor.
"""

from __future__ import annotations

import ctypes
import faulthandler
import fcntl
import os
import signal
import socket
from typing import Any

from twisted.internet.interfaces import IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

PATIENCE = getattr(signal, "SIGSTKFLT", signal.SIGUSR1)
"""The signal whose number is the seconds that the reactor has to answer; SIGSTKFLT (16) is used by nothing on Linux."""
ENDS = frozenset({signal.SIGTERM, signal.SIGINT})
"""What asks the process to end."""
STATUS = int(signal.SIGALRM)
"""The exit status of a process that had to be ended."""


@implementer(IReadDescriptor)
class Watchdog:
    """Watches ``reactor``, an ``IReactorFDSet`` with a clock, from now on; the main thread makes it, once a process.

    ``log``: the file descriptor for the stacks. Signals with a handler in Python other than SIGTERM and SIGINT are
    watched as well: the reactor has to come round within the same time.
    """

    def __init__(self, reactor: Any, log: int) -> None:
        patience = PATIENCE
        self._reactor = reactor
        self._seconds = int(patience)
        self._asked = False
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)
        if not hasattr(fcntl, "F_SETSIG"):
            return
        library = ctypes.CDLL(None)
        # With the types of signal(2), as the default would cut pointers to 32 bits.
        library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        library.signal.restype = ctypes.c_void_p
        library.signal(patience, ctypes.cast(library.alarm, ctypes.c_void_p))
        library.signal(signal.SIGALRM, ctypes.cast(library._exit, ctypes.c_void_p))  # noqa: SLF001 - its name in C
        faulthandler.register(signal.SIGALRM, file=log, all_threads=True, chain=True)
        fcntl.fcntl(self._read, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(self._read, fcntl.F_SETSIG, patience)
        fcntl.fcntl(self._read, fcntl.F_SETFL, fcntl.fcntl(self._read, fcntl.F_GETFL) | os.O_ASYNC)
        signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        reactor.addReader(self)

    def fileno(self) -> int:
        """Where the reactor reads which signals have come."""
        return self._read.fileno()

    def doRead(self) -> None:  # noqa: N802 - Twisted's name
        """The reactor lives."""
        came = self._read.recv(4096)
        if self._asked:
            return
        signal.alarm(0)
        if not ENDS.isdisjoint(came):
            self._asked = True
            self._put_off()

    def _put_off(self) -> None:
        """From now on the reactor has to come round again and again: it may get stuck on the last meters."""
        signal.alarm(self._seconds)
        self._reactor.callLater(self._seconds / 4, self._put_off)

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802 - Twisted's name
        """For the reactor, which calls it for sockets that were closed only."""

    def logPrefix(self) -> str:  # noqa: N802 - Twisted's name
        """For the reactor's log."""
        return "watchdog"
