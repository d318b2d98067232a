"""A thread that waits for the disk, so that the reactor need not. Knows nothing about the work it runs.

The result returns through an eventfd that the reactor reads. That takes two system calls; ``callFromThread`` of a thread
pool costs several times as much.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

from twisted.internet.interfaces import IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

Done = Callable[[Exception | None], None]


@implementer(IReadDescriptor)
class DiskThread:
    """Runs one function at a time in a thread. All methods are called in the reactor's thread.

    The thread is a daemon: a process that ends without :meth:`stop` ends as in a crash, which the store survives.
    """

    def __init__(self, reactor: Any) -> None:
        """Start the thread; ``reactor`` is an ``IReactorFDSet``."""
        self._reactor = reactor
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._error: Exception | None = None
        self._done: Done | None = None
        self._event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = Thread(target=self._serve, name="extapi-storage", daemon=True)
        self._thread.start()
        reactor.addReader(self)

    def _serve(self) -> None:
        """The thread: run what is queued."""
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - passed on to the caller of run
                self._error = error
            os.eventfd_write(self._event, 1)

    def run(self, work: Callable[[], None], done: Done) -> None:
        """Run a function in the thread.

        Args:
            work: Runs in the thread.
            done: Called in the reactor's thread with the exception that ``work`` raised, or None.

        Raises:
            RuntimeError: The thread is busy.
        """
        if self.busy:
            raise RuntimeError("the thread is busy")
        self._done = done
        self._work.put(work)

    @property
    def busy(self) -> bool:
        """Whether a function runs whose result was not collected."""
        return self._done is not None

    def stop(self) -> None:
        """End the thread, which must be idle."""
        self._reactor.removeReader(self)
        self._work.put(None)
        self._thread.join()
        os.close(self._event)

    def fileno(self) -> int:
        """The eventfd. Called by the reactor."""
        return self._event

    def doRead(self) -> None:  # noqa: N802 - Twisted's name
        """Collect a result. Called by the reactor."""
        os.eventfd_read(self._event)
        done, self._done = self._done, None
        error, self._error = self._error, None
        if done is not None:
            done(error)

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802 - Twisted's name
        """Do nothing: the reactor calls this for sockets only."""

    def logPrefix(self) -> str:  # noqa: N802 - Twisted's name
        """The name in the reactor's log."""
        return "storage"
