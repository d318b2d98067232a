"""A response from an upstream server while it arrives: parsed by llhttp, the head whole, the body in pieces.

Made for passing responses on: bodies are neither joined nor decoded. The number of header lines is bounded. This module
knows no sockets: the connection feeds the response, and the response sees of it only :class:`ResponseConnection`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import httptools
from twisted.internet.defer import Deferred

from extapi.client.transport import TransportError

FIELDS = 1000
"""Header lines per response, those of interim responses and trailers among them."""
HIGH = 256 * 1024
"""Bytes of a body that may wait for a slow reader; beyond that, the server has to wait."""


class ResponseConnection(Protocol):
    """The connection that a response arrives on; after 101 the two-way stream that the caller owns."""

    receiver: Callable[[bytes | None], None] | None
    """Of an upgraded connection: called with what arrives, and with None at the end."""

    def write(self, data: bytes) -> None:
        """Send data; only on an upgraded connection."""
        ...

    def pause(self) -> None:
        """Stop reading, so that the server has to wait."""
        ...

    def resume(self) -> None:
        """Continue reading."""
        ...

    def register_producer(self, producer: Any) -> None:
        """Pause and resume ``producer`` (IPushProducer) as the server takes what was written."""
        ...

    def end(self) -> None:
        """End an upgraded connection after what was written."""
        ...

    def abort(self) -> None:
        """End the connection now."""
        ...


class UpstreamResponse:
    """A response whose body is still arriving. Read it to the end with :meth:`more`, or :meth:`close` it.

    Attributes:
        headers: Names as the server wrote them, with their values.
        length: Length of the body; None if the server did not announce one.
        started: The head has arrived.
        complete: The whole body has arrived; :meth:`taken` returns it without waiting.
        reusable: The connection can take another request after this response.
        until_close: The body ends when the server closes the connection.
    """

    def __init__(self, connection: ResponseConnection, method: str, *, dedicated: bool) -> None:
        self._connection: ResponseConnection | None = connection
        self._method = method
        self._dedicated = dedicated
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._fields: list[tuple[bytes, bytes]] = []
        self._lines = 0
        self._failure: TransportError | None = None
        self.waiting: Deferred[None] | None = None
        self.parser: Any = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.length: int | None = None
        self.started = False
        self.complete = False
        self.reusable = False
        self.until_close = False

    # -- for the reader

    def taken(self) -> bytes:
        """Take what has arrived and was not read yet."""
        pieces, self._size = b"".join(self._pieces), 0
        self._pieces.clear()
        return pieces

    async def more(self) -> bytes:
        """The next piece of the body; empty at its proper end.

        Raises:
            TransportError: The body broke off.
        """
        while not self._pieces:
            if self._failure is not None:
                raise self._failure
            if self.complete:
                return b""
            self.waiting = Deferred()
            await self.waiting
        piece = self._pieces.popleft()
        self._size -= len(piece)
        if self._connection is not None and self._size < HIGH // 2:
            self._connection.resume()
        return piece

    async def read(self, limit: int) -> bytes:
        """The whole body.

        Raises:
            TransportError: The body broke off, or has more than ``limit`` bytes.
        """
        body = bytearray()
        while piece := await self.more():
            body += piece
            body += self.taken()  # all at once: a chunk may have one byte
            if self._connection is not None:
                self._connection.resume()
            if len(body) > limit:
                self.close()
                raise TransportError(f"the answer has more than {limit} bytes")
        return bytes(body)

    def header(self, name: str) -> str:
        """The first value of a header (``name`` in lower case); empty if there is none."""
        return next((value for each, value in self.headers if each.lower() == name), "")

    def close(self) -> None:
        """Read no further: the connection ends, unless it is free already."""
        self.fail(TransportError("closed"))
        if self._connection is not None:
            self._connection.abort()

    def upgraded(self) -> ResponseConnection:
        """The connection after 101; the caller sets its ``receiver`` and owns it from now on.

        Raises:
            TransportError: The connection has ended.
        """
        if self._connection is None:
            raise TransportError("EOF")
        return self._connection

    # -- for the connection

    def fail(self, error: TransportError) -> None:
        """The rest will never arrive."""
        if not self.complete and self._failure is None:
            self._failure = error
        self.wake()

    def finish(self) -> None:
        """The connection serves another request now, or has ended."""
        self._connection = self.parser = None

    def wake(self) -> None:
        """Let the reader look again."""
        waiting, self.waiting = self.waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(None)

    @property
    def full(self) -> bool:
        """Whether the reader is behind."""
        return self._size >= HIGH

    def check(self) -> None:
        """Fail if the head will never arrive.

        Raises:
            TransportError: Why there will be no head.
        """
        if self._failure is not None and not self.started:
            raise self._failure

    # -- httptools' callbacks

    def on_header(self, name: bytes, value: bytes) -> None:
        """A whole header line, or a trailer; trailers are dropped."""
        self._lines += 1
        if self._lines > FIELDS:
            raise TransportError("too many header fields")
        if not self.started:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        """The head is complete; an interim response (1xx) is skipped."""
        if self.started:
            self.reusable = False  # something follows the response that nobody asked for
            return
        status = self.parser.get_status_code()
        fields, self._fields = self._fields, []
        if 100 <= status < 200 and status != 101:
            return
        if status == 101 and not self._dedicated:
            raise TransportError("unsolicited response: status code 101")
        self.headers = [
            (name.decode("latin-1"), value.decode("utf-8", "replace").strip(" \t")) for name, value in fields
        ]
        length, coding = self.header("content-length"), self.header("transfer-encoding")
        if coding and coding.lower() != "chunked":
            raise TransportError(f'unsupported transfer encoding: "{coding}"')
        self.length = int(length.lstrip("0") or "0") if length else None
        self.started = True
        self.status = status
        if self._method == "HEAD":
            # The parser does not know that no body follows. It is not fed again.
            self.complete = True
            return
        bodiless = status in (101, 204, 304)
        self.until_close = not (bodiless or coding or length)
        self.reusable = self.parser.should_keep_alive() and not (self.until_close or self._dedicated)

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        if not self.complete:
            self._pieces.append(data)
            self._size += len(data)

    def on_message_complete(self) -> None:
        """The response is complete, or an interim one is."""
        if self.started and self.status != 101:
            self.complete = True
