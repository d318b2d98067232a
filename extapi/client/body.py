"""The body of an HTTP response as it arrives: collected as a whole, or split into lines with back-pressure.

Knows how Twisted delivers bodies, not what is in them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss

from extapi.client.tls import sentence

LINE_LIMIT = 16 * 1024 * 1024
"""Bytes per line of a stream."""

HIGH_WATER = 1024 * 1024
"""Bytes that may wait for a slow reader before the connection is paused."""


class BodyError(Exception):
    """The body is too large, or broke off; the text says which."""


class BodyTooLong(BodyError):
    """It has too many bytes, or takes too much time."""


class ResponseBody(Protocol):
    """Receives a body for one reader, which calls :meth:`more`, :meth:`whole` or :meth:`lines`."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self.arrived = 0
        """Bytes that have arrived."""
        self._paused = False
        self._waiting: Deferred[None] | None = None
        self._ended = False
        self._failure: BodyError | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will arrive."""
        return self._ended

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """A piece has arrived."""
        if self._ended:
            return
        self._pieces.append(data)
        self._size += len(data)
        self.arrived += len(data)
        if self._size >= HIGH_WATER and not self._paused:
            self._paused = True
            self._producer().pauseProducing()
        self._wake()

    def connectionLost(self, reason: Failure | None = None) -> None:  # noqa: N802 - Twisted's name
        """The body is complete, or broke off."""
        if self._ended:
            return
        self._ended = True
        # A response without a length ends with its connection (PotentialDataLoss): that is its proper end.
        error = None if reason is None else reason.value
        if error is not None and not isinstance(error, ResponseDone | PotentialDataLoss):
            self._failure = BodyError(
                f"the answer broke off: {', '.join(dict.fromkeys(map(sentence, innermost(error))))}"
            )
        self._wake()

    def close(self, error: BodyError | None = None) -> None:
        """Drop the connection and what was not read; a waiting reader gets ``error``."""
        if self._ended:
            return
        self._ended = True
        self._pieces.clear()
        self._failure = error or BodyError("closed")
        self._producer().stopProducing()
        self._wake()

    async def more(self) -> bytes:
        """The next piece; empty at the end.

        Raises:
            BodyError: The body broke off, or was closed.
        """
        while not self._pieces:
            if self._failure is not None:
                raise self._failure
            if self._ended:
                return b""
            waiting: Deferred[None] = Deferred()
            self._waiting = waiting
            try:
                await waiting
            finally:
                self._waiting = None
        piece = self._pieces.popleft()
        self._size -= len(piece)
        if self._paused and self._size < HIGH_WATER // 2 and not self._ended:
            self._paused = False
            self._producer().resumeProducing()
        return piece

    async def whole(self, limit: int) -> bytes:
        """The whole body.

        Raises:
            BodyError: The body has more than ``limit`` bytes, broke off, or was closed.
        """
        pieces: list[bytes] = []
        size = 0
        while piece := await self.more():
            size += len(piece)
            if size > limit:
                error = BodyTooLong(f"the answer has more than {limit} bytes")
                self.close(error)
                raise error
            pieces.append(piece)
        return b"".join(pieces)

    async def lines(self) -> AsyncIterator[bytes]:
        """Iterate over the lines, without their ends. What follows the last line break counts as a line.

        Raises:
            BodyError: A line has more than :data:`LINE_LIMIT` bytes, or the body broke off or was closed.
        """
        begun: list[bytes] = []
        size = 0
        while piece := await self.more():
            first, *others = piece.split(b"\n")
            begun.append(first)
            size += len(first)
            if others:
                *middle, last = others
                for line in (b"".join(begun), *middle):
                    yield line
                begun, size = [last], len(last)
            if size > LINE_LIMIT:
                error = BodyError(f"a line of the answer has more than {LINE_LIMIT} bytes")
                self.close(error)
                raise error
        if size:
            yield b"".join(begun)

    def _producer(self) -> Any:
        return self.transport

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.called:
            self._waiting.callback(None)


def innermost(error: BaseException) -> list[BaseException]:
    """The errors that Twisted's HTTP client and its endpoints have wrapped."""
    # A connection that is lost before its protocol has it: ConnectError(string=Failure).
    inner = getattr(error, "reasons", None) or [each for each in error.args if isinstance(each, Failure)]
    if not inner:
        return [error]
    found: list[BaseException] = []
    for each in inner:
        found += innermost(each.value if isinstance(each, Failure) and each.value is not None else each)
    return found
