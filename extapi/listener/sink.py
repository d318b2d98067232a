"""Where a streaming answer goes: :class:`extapi.listener.call.Sink` on a TLS stream.

One write a chunk, of bytes that many connections share; knows nothing of what they mean.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.listener.call import Chunk
from extapi.listener.stream import TLSStream


class StreamSink:
    """``chunked``: frame the chunks; an HTTP/1.0 client gets them as they are."""

    __slots__ = ("_callbacks", "_chunked", "_stream", "_told", "_waiting", "aborted", "closed", "sent", "watched")

    _log = Logger()

    def __init__(self, stream: TLSStream, *, chunked: bool) -> None:
        self._stream = stream
        self._chunked = chunked
        self._callbacks: list[Callable[[], None]] = []
        self._waiting: list[Deferred[None]] = []
        self.closed = False
        """What is written now is dropped."""
        self.aborted = False
        """The producer gave the connection up."""
        self.sent = 0
        """Bytes accepted, without framing."""
        self.watched = False
        """The producer asked to be told of the end."""
        self._told = False

    @property
    def pending(self) -> int:
        """Bytes accepted but not yet taken by the socket."""
        return self._stream.pending

    def write(self, chunk: Chunk) -> None:
        """Queue a chunk. An empty one would end the body, and is dropped."""
        data = chunk.data
        if data and not self.closed:
            self.sent += len(data)
            self._stream.write(chunk.framed if self._chunked else data)

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called once when the sink closes from outside; at once if it is closed already."""
        self.watched = True
        if self.closed:
            callback()
        else:
            self._callbacks.append(callback)

    async def drained(self) -> None:
        """Wait until nothing is pending, or the sink is closed."""
        if self._stream.pending and not self.closed:
            waiting: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiting)
            await waiting

    def abort(self) -> None:
        """End the connection now, without a proper end of the body."""
        self.aborted = True
        self.closed = True
        self._stream.abort()
        self._wake()

    # -- for the exchange

    def taken(self) -> None:
        """The socket took all that was queued."""
        if self._waiting:
            self._wake()

    def close(self) -> None:
        """From outside: the peer is gone, or the server is about to end and wants the producer to return."""
        if self._told:
            return
        self._told = self.closed = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:  # noqa: BLE001 - one producer's fault must not keep the others from their end
                self._log.failure("a stream's on_closed callback failed")
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(None)


class DuplexSink(StreamSink):
    """:class:`extapi.listener.call.Duplex`; ``divert`` has the connection hand over what the peer sends."""

    __slots__ = ("_divert",)

    def __init__(self, stream: TLSStream, divert: Callable[[Callable[[bytes], None]], None]) -> None:
        super().__init__(stream, chunked=False)
        self._divert = divert

    def receive(self, receiver: Callable[[bytes], None]) -> None:
        """Have ``receiver`` called with what the peer sends from now on; at once with what came already."""
        self._divert(receiver)

    def pause(self) -> None:
        """Have the peer wait."""
        self._stream.pause()

    def resume(self) -> None:
        """Go on reading."""
        self._stream.resume()
