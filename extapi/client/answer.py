"""An answer of a server while it arrives, parsed by llhttp: its head whole, its body in pieces as they come.

For who passes answers on; bodies are neither joined nor decoded. Bounds the head's lines. Knows no sockets: its
connection (:mod:`extapi.client.wire`) feeds it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import httptools
from twisted.internet.defer import Deferred

from extapi.client.base import TransportError

if TYPE_CHECKING:
    from extapi.client.wire import Wire

FIELDS = 1000
"""Header lines of one answer."""
HIGH = 256 * 1024
"""Bytes of a body that wait for a slow reader before the server has to wait."""


class Answer:
    """An answer whose body is still arriving. Read it by :meth:`more` to the end, or :meth:`close` it.

    ``headers``: names as the server wrote them. ``length``: of the body, None if the server did not say.
    """

    def __init__(self, wire: Wire, method: str, *, alone: bool) -> None:
        self._wire: Wire | None = wire
        self._method = method
        self._alone = alone
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._fields: list[tuple[bytes, bytes]] = []
        self._failure: TransportError | None = None
        self.waiting: Deferred[None] | None = None
        self.parser: Any = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.length: int | None = None
        self.started = False
        """The head is there."""
        self.complete = False
        """All of the body has arrived; with :meth:`taken` it is there at once."""
        self.reusable = False
        self.until_close = False

    # -- for the reader

    def taken(self) -> bytes:
        """What has arrived and was not read yet."""
        pieces, self._size = b"".join(self._pieces), 0
        self._pieces.clear()
        return pieces

    async def more(self) -> bytes:
        """The next piece; empty at the proper end. Raises :class:`TransportError` if the body broke off."""
        while not self._pieces:
            if self._failure is not None:
                raise self._failure
            if self.complete:
                return b""
            self.waiting = Deferred()
            await self.waiting
        piece = self._pieces.popleft()
        self._size -= len(piece)
        if self._wire is not None and self._size < HIGH // 2:
            self._wire.resume()
        return piece

    async def read(self, limit: int) -> bytes:
        """The whole body. Raises :class:`TransportError`, also if it is larger than ``limit`` bytes."""
        pieces, size = [], 0
        while piece := await self.more():
            pieces.append(piece)
            if (size := size + len(piece)) > limit:
                self.close()
                raise TransportError(f"the answer has more than {limit} bytes")
        return b"".join(pieces)

    def header(self, name: str) -> str:
        """The first value of a header, ``name`` in lower case; empty if there is none."""
        return next((value for each, value in self.headers if each.lower() == name), "")

    def close(self) -> None:
        """Nobody reads on: the connection ends, if it is not free already."""
        self.fail(TransportError("closed"))
        if self._wire is not None:
            self._wire.abort()

    def upgraded(self) -> Wire:
        """The connection, after 101: the caller gives it a ``receiver`` and owns it from now on."""
        if self._wire is None:
            raise TransportError("EOF")
        return self._wire

    # -- for the connection

    def fail(self, error: TransportError) -> None:
        """The rest will never come."""
        if not self.complete and self._failure is None:
            self._failure = error
        self.wake()

    def finish(self) -> None:
        """The connection serves somebody else now, or is gone."""
        self._wire = self.parser = None

    def wake(self) -> None:
        """Have the reader look again."""
        waiting, self.waiting = self.waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(None)

    @property
    def full(self) -> bool:
        """The reader is behind."""
        return self._size >= HIGH

    def check(self) -> None:
        """Raises why there is no head and will be none."""
        if self._failure is not None and not self.started:
            raise self._failure

    # -- httptools' callbacks

    def on_header(self, name: bytes, value: bytes) -> None:
        """A whole header, or trailer; trailers are dropped."""
        if not self.started:
            self._fields.append((name, value))
            if len(self._fields) > FIELDS:
                raise TransportError("too many header fields")

    def on_headers_complete(self) -> None:
        """The head is there, or an interim one, which is skipped."""
        if self.started:
            self.reusable = False  # something follows the answer that nobody asked for
            return
        status = self.parser.get_status_code()
        fields, self._fields = self._fields, []
        if 100 <= status < 200 and status != 101:
            return
        if status == 101 and not self._alone:
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
            # The parser does not know that no body follows: it is not asked again.
            self.complete = True
            return
        bodiless = status in (101, 204, 304)
        self.until_close = not (bodiless or coding or length)
        self.reusable = self.parser.should_keep_alive() and not (self.until_close or self._alone)

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        if not self.complete:
            self._pieces.append(data)
            self._size += len(data)

    def on_message_complete(self) -> None:
        """All of the answer has arrived, or of an interim one."""
        if self.started and self.status != 101:
            self.complete = True
