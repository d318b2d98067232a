"""Ends a process that got SIGTERM but whose reactor is stuck, and logs its stacks.

Signal handlers in Python run only when the interpreter gets to them, and threads only with the interpreter's lock. Neither
helps against a call in C that holds the lock, such as a match of ``re`` that backtracks for hours. So the kernel and
handlers in C do everything (``signal(7)``, ``fcntl(2)``):

1. SIGTERM arrives. The interpreter's C handler writes a byte to the wakeup descriptor (:func:`signal.set_wakeup_fd`).
2. That is a socket. Its other end raises the signal :data:`PATIENCE` when bytes arrive (``O_ASYNC`` and ``F_SETSIG``).
3. The handler of that signal is ``alarm`` of the C library. It is called with the signal's number, which it takes for
   seconds: 16.
4. A live reactor reads the byte, and postpones the alarm again and again until the process has ended.
5. Otherwise SIGALRM arrives: ``faulthandler`` writes the stacks of all threads, then ``_exit`` of the C library is called
   with the signal's number, so that the exit status is 14.

A child process that sends SIGKILL would not help: the first process of a container, which we are in a pod, ignores it
(``pid_namespaces(7)``). Without ``F_SETSIG``, which only Linux has, the watchdog does nothing.
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
"""The signal whose number is how many seconds the reactor has; nothing else uses SIGSTKFLT (16) on Linux."""
ENDS = frozenset({signal.SIGTERM, signal.SIGINT})
"""Signals after which the process has to end."""
STATUS = int(signal.SIGALRM)
"""The exit status of a process that the watchdog ended."""


@implementer(IReadDescriptor)
class Watchdog:
    """Watches the reactor from now on. Made once per process, in the main thread.

    After any signal with a handler in Python, the reactor has to respond in time, not only after SIGTERM and SIGINT.

    Args:
        reactor: An ``IReactorFDSet`` with a clock.
        log: The file descriptor for the stacks.
    """

    def __init__(self, reactor: Any, log: int) -> None:
        patience = PATIENCE
        self._reactor = reactor
        self._seconds = int(patience)
        self._ending = False
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
        """The descriptor from which the reactor reads the numbers of signals."""
        return self._read.fileno()

    def doRead(self) -> None:  # noqa: N802 - Twisted's name
        """The reactor is alive; stop the alarm."""
        came = self._read.recv(4096)
        if self._ending:
            return
        signal.alarm(0)
        if not ENDS.isdisjoint(came):
            self._ending = True
            self._postpone()

    def _postpone(self) -> None:
        """Postpone the alarm, again and again: the reactor may get stuck while the process ends."""
        signal.alarm(self._seconds)
        self._reactor.callLater(self._seconds / 4, self._postpone)

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802 - Twisted's name
        """Required by the reactor, which calls it only for closed sockets."""

    def logPrefix(self) -> str:  # noqa: N802 - Twisted's name
        """The name in the reactor's log."""
        return "watchdog"
