"""A thread that waits for the disk, so that the reactor need not. Knows nothing of what it runs.

The result comes back through an eventfd that the reactor reads: two system calls, where a thread pool's
``callFromThread`` costs several times as much.
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
    """Runs one thing at a time. All methods belong to the thread of ``reactor``, an ``IReactorFDSet``.

    The thread is a daemon: a process that ends without :meth:`stop` ends as by a crash, which the store survives.
    """

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._error: Exception | None = None
        self._done: Done | None = None
        self._event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = Thread(target=self._serve, name="extapi-storage", daemon=True)
        self._thread.start()
        reactor.addReader(self)

    def _serve(self) -> None:
        """Run what comes, in the thread."""
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - handed to whoever asked for the work
                self._error = error
            os.eventfd_write(self._event, 1)

    def run(self, work: Callable[[], None], done: Done) -> None:
        """Run ``work`` in the thread, then ``done`` in the reactor's thread with what it raised."""
        if self._done is not None:
            raise RuntimeError("the thread is busy")
        self._done = done
        self._work.put(work)

    def stop(self) -> None:
        """End the thread, which must have nothing left to do."""
        self._reactor.removeReader(self)
        self._work.put(None)
        self._thread.join()
        os.close(self._event)

    def fileno(self) -> int:
        """The eventfd; for the reactor."""
        return self._event

    def doRead(self) -> None:  # noqa: N802 - Twisted's name
        """The thread has finished something; for the reactor."""
        os.eventfd_read(self._event)
        done, self._done = self._done, None
        error, self._error = self._error, None
        if done is not None:
            done(error)

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802 - Twisted's name
        """The reactor gives up the descriptor; for the reactor, which calls it for sockets only."""

    def logPrefix(self) -> str:  # noqa: N802 - Twisted's name
        """For the reactor's log."""
        return "storage"
