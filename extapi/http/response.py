"""The response to a request: whole, in pieces, or a stream; and what a stream writes to.

Knows no sockets: the listener and the in-process transport have their own sinks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

import msgspec

from extapi.http.request import Request

PIECE = 64 * 1024
"""The most bytes in a piece of a body: larger bodies are never joined in memory."""


class Chunk:
    """A piece of a stream, shared by many connections: the bytes, and the same bytes framed for chunked encoding."""

    __slots__ = ("data", "framed")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.framed = b"%x\r\n%b\r\n" % (len(data), data)


class Sink(Protocol):
    """Where a streaming response goes. Lives until the producer returns or the peer leaves."""

    @property
    def pending(self) -> int:
        """Bytes accepted that the socket has not taken yet."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the peer has left or the connection was ended: what is written now is dropped."""
        ...

    def write(self, chunk: Chunk) -> None:
        """Queue a chunk. Never blocks, never raises. The caller bounds the queue by :attr:`pending`."""
        ...

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when the sink is closed from outside; at once if it is closed already."""
        ...

    async def drained(self) -> None:
        """Wait until nothing is pending or the sink is closed."""
        ...

    def close(self) -> None:
        """Have the producer return: nothing more is accepted, what was written is sent, and the body ends properly."""
        ...

    def abort(self) -> None:
        """End the connection now, without ending the body properly: the client sees that something is missing."""
        ...


class Duplex(Sink, Protocol):
    """A connection after 101: a sink that can also receive."""

    parting: bytes
    """What the peer is sent if the connection is closed from outside, such as a WebSocket's Close frame."""

    def receive(self, receiver: Callable[[bytes], None]) -> None:
        """Call ``receiver`` with what the peer sends from now on; at once with what has arrived already."""
        ...

    def on_left(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when nothing can come from the peer any more; at once if that is so already.

        Unlike ``on_closed``, not when the connection is closed from this side: the peer may still have something to say.
        """
        ...

    def pause(self) -> None:
        """Stop reading, so that the peer has to wait."""
        ...

    def resume(self) -> None:
        """Continue reading."""
        ...


Streaming = Callable[[Sink], Awaitable[None]]
"""Produces a body. The body ends properly when the producer returns; if it raises, the connection is aborted."""


class Upgraded:
    """The body of a 101: ``run`` owns the connection until it returns. Only for requests that asked for an upgrade."""

    __slots__ = ("_run",)

    def __init__(self, run: Callable[[Duplex], Awaitable[None]]) -> None:
        self._run = run

    async def __call__(self, sink: Any) -> None:
        """Run with ``sink``, for which the listener gives a :class:`Duplex`. See :data:`Streaming`."""
        await self._run(sink)


class Response(msgspec.Struct, eq=False):
    """A response. ``body`` is bytes, pieces of at most :data:`PIECE` bytes, or the producer of a stream.

    The listener adds Content-Length or Transfer-Encoding, Date and Connection. Everything else is in ``headers``, with
    names spelled as on the wire.
    """

    status: int
    headers: list[tuple[str, str]] = msgspec.field(default_factory=list)
    body: bytes | Iterable[bytes] | Streaming = b""
    length: int | None = None
    """The size in bytes of a body in pieces, if it is known."""
    close: bool = False
    """End the connection after this response."""


NOSNIFF = ("X-Content-Type-Options", "nosniff")
"""Keeps browsers from guessing another type than the Content-Type."""


def plain_text(status: int, text: str, *headers: tuple[str, str], close: bool = False) -> Response:
    """A plain-text response; ``headers`` come after Content-Type and nosniff."""
    return Response(
        status,
        [("Content-Type", "text/plain; charset=utf-8"), NOSNIFF, *headers],
        text.encode("utf-8", "replace"),
        close=close,
    )


def http_error(status: int, text: str, *headers: tuple[str, str], close: bool = False) -> Response:
    """An error that is not a Status, as Go's ``http.Error`` writes it: plain text with a line break at the end."""
    return plain_text(status, text + "\n", *headers, close=close)


Handler = Callable[[Request], Awaitable[Response]]
"""A stage, together with all stages after it. Raises nothing but what ends the process."""
