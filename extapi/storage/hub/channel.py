"""One end of the stream between the hub and a worker: a connected Unix socket in the reactor. Knows frames, not messages."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from twisted.internet.abstract import FileDescriptor
from twisted.internet.main import CONNECTION_DONE, CONNECTION_LOST
from twisted.logger import Logger

from extapi.storage.hub.messages import Frames, MalformedFrame

_READ = 256 * 1024
"""Bytes that are read at a time."""
BEHIND = 64 * 1024 * 1024
"""Bytes that may wait for the other side. One write always fits; another one ends the connection."""


class HubChannel(FileDescriptor):
    """Sends and receives frames. What is sent in one turn of the reactor goes out together.

    Args:
        reactor: An ``IReactorFDSet``.
        sock: The socket, which belongs to the channel from now on.
        received: Called with the body of each frame; may raise MalformedFrame.
        lost: Called once at the end, unless it was :meth:`close` that ended it.
    """

    _log = Logger()

    def __init__(
        self, reactor: Any, sock: socket.socket, *, received: Callable[[bytes], None], lost: Callable[[], None]
    ) -> None:
        super().__init__(reactor)
        self._untyped: Any = self
        sock.setblocking(False)
        self._socket = sock
        self._received = received
        self._lost: Callable[[], None] | None = lost
        self._frames = Frames()
        self._size = 0
        self.connected = 1
        start: Any = self.startReading
        start()

    def send(self, data: bytes) -> None:
        """Send a frame; if the other side takes none, that ends the connection."""
        if self._size > BEHIND:
            self._log.warn("the other process is {size} bytes behind; its connection is ended", size=self._size)
            self.abort()
            return
        self._size += len(data)
        self.write(data)

    def close(self) -> None:
        """End it, after what was sent."""
        self._lost = None
        if self._size:
            self._untyped.loseConnection()
        else:
            self.abort()

    def abort(self) -> None:
        """End it now."""
        if not self.disconnected:
            self.connectionLost(None)  # which takes it out of the reactor

    def fileno(self) -> int:
        """See ``IFileDescriptor``."""
        return self._socket.fileno()

    def doRead(self) -> Any:  # noqa: N802 - named by Twisted
        """Receive what is there."""
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return None
        except OSError:
            return CONNECTION_LOST
        if not data:
            return CONNECTION_DONE
        try:
            for body in self._frames.feed(data):
                self._received(body)
        except MalformedFrame as error:
            self._log.error("what the other process sends makes no sense: {error}", error=error)
            return CONNECTION_LOST
        return None

    def writeSomeData(self, data: bytes) -> Any:  # noqa: N802 - named by Twisted
        """Send as much as the kernel takes."""
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return CONNECTION_LOST
        self._size -= sent
        return sent

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - named by Twisted
        """It is over."""
        inherited: Any = super().connectionLost
        inherited(reason)
        self._untyped = None
        self._socket.close()
        lost, self._lost = self._lost, None
        if lost is not None:
            lost()
