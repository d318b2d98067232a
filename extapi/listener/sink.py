"""Where a streaming response goes: :class:`extapi.http.response.Sink` on a TLS stream.

One write per chunk, of bytes that many connections share; knows nothing of their meaning.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.http.response import Chunk
from extapi.listener.stream import TLSStream


class StreamSink:
    """A sink on a TLS stream.

    Args:
        stream: The connection.
        chunked: Frame the chunks; an HTTP/1.0 client gets them as they are.

    Attributes:
        closed: What is written from now on is dropped.
        aborted: The producer has aborted the connection.
        sent: Bytes accepted, without framing.
        watched: The producer has an ``on_closed`` callback.
    """

    __slots__ = ("_callbacks", "_chunked", "_stream", "_told", "_waiting", "aborted", "closed", "sent", "watched")

    _log = Logger()

    def __init__(self, stream: TLSStream, *, chunked: bool) -> None:
        self._stream = stream
        self._chunked = chunked
        self._callbacks: list[Callable[[], None]] = []
        self._waiting: list[Deferred[None]] = []
        self.closed = False
        self.aborted = False
        self.sent = 0
        self.watched = False
        self._told = False

    @property
    def pending(self) -> int:
        """Bytes accepted that the socket has not taken yet."""
        return self._stream.pending

    def write(self, chunk: Chunk) -> None:
        """Queue a chunk. An empty one is dropped, because it would end the body."""
        data = chunk.data
        if data and not self.closed:
            self.sent += len(data)
            self._stream.write(chunk.framed if self._chunked else data)

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when the sink is closed from outside; at once if it is closed already."""
        self.watched = True
        if self.closed:
            callback()
        else:
            self._callbacks.append(callback)

    async def drained(self) -> None:
        """Wait until nothing is pending or the sink is closed."""
        if self._stream.pending and not self.closed:
            waiting: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiting)
            await waiting

    def abort(self) -> None:
        """End the connection now, without ending the body properly."""
        self.aborted = True
        self.closed = True
        self._stream.abort()
        self._wake()

    # -- for the exchange

    def taken(self) -> None:
        """The socket has taken everything that was queued."""
        if self._waiting:
            self._wake()

    def close(self) -> None:
        """Close from outside: the peer has left, or the server is shutting down and wants the producer to return."""
        if self._told:
            return
        self._told = self.closed = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:  # noqa: BLE001 - a failing callback must not keep the others from being called
                self._log.failure("a stream's on_closed callback failed")
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(None)


class DuplexSink(StreamSink):
    """:class:`extapi.http.response.Duplex` on a TLS stream; ``divert`` makes the connection pass on what the peer sends."""

    __slots__ = ("_divert", "_left", "_on_left", "parting")

    def __init__(self, stream: TLSStream, divert: Callable[[Callable[[bytes], None]], None]) -> None:
        super().__init__(stream, chunked=False)
        self._divert = divert
        self._left = False
        self._on_left: list[Callable[[], None]] = []
        self.parting = b""

    def close(self) -> None:
        """Close from outside, after the parting words."""
        if not self.closed:
            self._stream.write(self.parting)
        super().close()

    def receive(self, receiver: Callable[[bytes], None]) -> None:
        """Call ``receiver`` with what the peer sends from now on; at once with what has arrived already."""
        self._divert(receiver)

    def on_left(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when nothing can come from the peer any more; at once if that is so already."""
        if self._left:
            callback()
        else:
            self._on_left.append(callback)

    def left(self) -> None:
        """The peer has ended the connection, or it was broken off."""
        self._left = True
        callbacks, self._on_left = self._on_left, []
        for callback in callbacks:
            callback()

    def pause(self) -> None:
        """Stop reading, so that the peer has to wait."""
        self._stream.pause()

    def resume(self) -> None:
        """Continue reading."""
        self._stream.resume()
