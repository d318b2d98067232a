"""Has the kernel write a file to the disk and say when it is done, without a thread. Knows nothing of what is in the file.

A thread that waits for the disk competes with the reactor for the interpreter's lock three times for each wait, which costs
as much as a third of a write. Linux can wait itself (``IOCB_CMD_FDSYNC``, from 4.18 on), and tells an eventfd.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

Done = Callable[[Exception | None], None]


@implementer(IReadDescriptor)
class KernelSync:
    """Syncs one file, one request at a time. All methods are called in the reactor's thread.

    Args:
        reactor: An ``IReactorFDSet``.
        path: The file, which exists.

    Raises:
        OSError: The file cannot be opened, or the kernel or a sandbox refuses asynchronous I/O.
    """

    def __init__(self, reactor: Any, path: str) -> None:
        try:
            from caio.linux_aio import Context, Operation  # noqa: PLC0415 - where the kernel refuses, its import fails
        except ImportError as error:
            raise OSError(f"no asynchronous I/O: {error}") from error
        try:
            self._context = Context(max_requests=1)
        except SystemError as error:  # what caio makes of an error number
            raise OSError(f"no asynchronous I/O: {error}") from error
        self._operation = Operation
        self._reactor = reactor
        self._event: int = self._context.fileno
        os.set_inheritable(self._event, False)
        self.file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        """A descriptor of the file, for whoever syncs it in another way."""
        self._waiting: tuple[Any, Done] | None = None
        reactor.addReader(self)

    def run(self, done: Done) -> None:
        """Write what the file has now to the disk, as ``fdatasync`` does.

        Args:
            done: Called with None once it is there, or with the error; perhaps before this returns, if it fails.

        Raises:
            RuntimeError: The last request is not done.
        """
        if self.busy:
            raise RuntimeError("the file is being synced")
        operation = self._operation.fdsync(self.file)
        self._waiting = (operation, done)
        try:
            self._context.submit(operation)
        except Exception as error:  # noqa: BLE001 - caio raises many types; each means that nothing was written
            self._waiting = None
            done(error)

    @property
    def busy(self) -> bool:
        """Whether a request is on its way, or its result was not collected."""
        return self._waiting is not None

    def stop(self) -> None:
        """Forget the file, with no request on its way."""
        self._reactor.removeReader(self)
        os.close(self.file)

    def fileno(self) -> int:
        """The eventfd. Called by the reactor."""
        return self._event

    def doRead(self) -> None:  # noqa: N802 - Twisted's name
        """Collect the result. Called by the reactor."""
        self._context.poll()
        self._context.process_events(1, 0, 0)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            operation, done = waiting
            done(_error(operation))

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802 - Twisted's name
        """Do nothing: the reactor calls this for sockets only."""

    def logPrefix(self) -> str:  # noqa: N802 - Twisted's name
        """The name in the reactor's log."""
        return "storage"


def _error(operation: Any) -> Exception | None:
    try:
        operation.get_value()
    except Exception as error:  # noqa: BLE001 - see run
        return error
    return None
