"""The body of a request that is passed on while it arrives, as fast as the backend takes it.

Knows neither how it arrives nor where it goes: a client's body and an upstream connection, by their protocols.
"""

from __future__ import annotations

from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from extapi import ApiError
from extapi.http.request import Request


class UploadConnection(Protocol):
    """What an upload needs of the connection that it goes to."""

    def write(self, data: bytes) -> None:
        """Send data."""
        ...

    def register_producer(self, producer: Any) -> None:
        """Pause and resume ``producer`` (IPushProducer) as the server takes what was written."""
        ...

    def unregister_producer(self) -> None:
        """Do so no more."""
        ...

    def abort(self) -> None:
        """End the connection now."""
        ...


class Upload:
    """The body of ``request`` on its way to a backend.

    Attributes:
        framing: The header that says how the body ends.
    """

    def __init__(self, request: Request) -> None:
        self._body = request.body
        length = request.header("content-length")
        self._chunked = not length
        self.framing = ("Content-Length", length) if length else ("Transfer-Encoding", "chunked")
        self._copying: Deferred[None] | None = None
        self._paused: Deferred[None] | None = None

    def start(self, connection: UploadConnection) -> None:
        """Begin to pass on what arrives, after the head of the request."""
        connection.register_producer(self)
        self._copying = copying = Deferred.fromCoroutine(self._copy(connection))

        def over(result: Any) -> Any:
            self._copying = None
            connection.unregister_producer()
            if isinstance(result, Failure) and isinstance(result.value, CancelledError):
                return None
            return result

        copying.addBoth(over)

    def stop(self) -> None:
        """Pass on nothing more."""
        if self._copying is not None:
            self._copying.cancel()

    async def _copy(self, connection: UploadConnection) -> None:
        try:
            while piece := await self._body.more():
                connection.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece)
                if self._paused is not None:
                    await self._paused
        except ApiError:
            connection.abort()  # the client has broken off, so the backend must not take it for the end
            return
        if self._chunked:
            connection.write(b"0\r\n\r\n")

    # -- IPushProducer

    def pauseProducing(self) -> None:  # noqa: N802 - named by Twisted
        """The backend is behind."""
        if self._paused is None:
            self._paused = Deferred()

    def resumeProducing(self) -> None:  # noqa: N802 - named by Twisted
        """The backend has taken what it was sent."""
        paused, self._paused = self._paused, None
        if paused is not None and not paused.called:
            paused.callback(None)

    def stopProducing(self) -> None:  # noqa: N802 - named by Twisted
        """The connection has ended."""
        self.stop()
