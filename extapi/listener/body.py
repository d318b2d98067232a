"""The body of a request while it arrives: kept until the handler wants it, within bounds of size and time.

Knows nothing of connections: who feeds it asks :attr:`RequestBody.full` whether to go on, and :attr:`RequestBody.due`
whether it is too slow.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred

from extapi.errors import ApiError, RequestTooLarge

AHEAD = 64 * 1024
"""Bytes kept before anybody asked for them: beyond, the peer has to wait."""

GRACE = 10.0
RATE = 1024
"""A body that somebody waits for has this many seconds, and one more for each so many bytes that came.

Precedents: Apache's ``RequestReadTimeout body=20,MinRate=500`` (mod_reqtimeout) counts in the same way; Kestrel wants 240
bytes per second after 5 s (``MinRequestBodyDataRate``), IIS 240 (``minBytesPerSecond``). Go has no such bound.
"""


_NEVER = float("inf")


class NoBody:
    """The body of a request that has none."""

    complete = True

    async def read(self, limit: int) -> bytes:  # noqa: ARG002 - the protocol's signature
        """Nothing, at once."""
        return b""


class RequestBody:
    """A body with content, read at most once. ``length`` is the declared one, 0 where it is not known.

    ``wanted`` is called when a reader has to wait: more may be fed now, and a client that waits for 100 is told to go on.
    """

    __slots__ = ("_error", "_length", "_limit", "_pieces", "_since", "_size", "_waiting", "_wanted", "complete", "held")

    def __init__(self, length: int, wanted: Callable[[], None]) -> None:
        self._length = length
        self._wanted = wanted
        self._pieces: list[bytes] = []
        self._size = 0
        self._limit: int | None = AHEAD
        self._waiting: Deferred[None] | None = None
        self._error: ApiError | None = None
        self._since = _NEVER
        self.complete = False
        """All of it has arrived."""
        self.held = 0
        """Bytes that somebody counts as kept for this body (:class:`BodyMemory`)."""

    @property
    def full(self) -> bool:
        """Feed no more for now."""
        return self._limit is not None and self._waiting is None and self._size >= self._limit

    @property
    def empty(self) -> bool:
        """Nothing has arrived yet."""
        return self._size == 0 and not self.complete

    @property
    def kept(self) -> int:
        """Bytes that are in memory."""
        return 0 if self._limit is None or self._error is not None else self._size

    @property
    def due(self) -> float:
        """When it has been too slow, as far as is known now; never while nobody waits for it."""
        return self._since + GRACE + self._size / RATE if self._waiting is not None else _NEVER

    def expect(self, now: float) -> None:
        """Somebody waits for it from ``now`` on."""
        self._since = min(self._since, now)

    async def read(self, limit: int) -> bytes:
        """All of it. Raises :class:`RequestTooLarge` beyond ``limit`` bytes, or why the rest will never come."""
        self._limit = limit
        self._check(self._length)
        while not self.complete and self._error is None:
            self._check(self._size)
            self._waiting = Deferred()
            self._wanted()
            await self._waiting
        if self._error is not None:
            raise self._error
        self._check(self._size)
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def feed(self, data: bytes) -> None:
        """A piece has arrived."""
        self._size += len(data)
        if self._limit is None or self._error is not None:
            return
        self._pieces.append(data)

    def finish(self) -> None:
        """The last piece has arrived."""
        self.complete = True

    def fail(self, error: ApiError) -> None:
        """The rest will never come: whoever reads gets ``error``."""
        if not self.complete and self._error is None:
            self._error = error
            self._pieces.clear()

    def poke(self) -> None:
        """Wake the reader if what it waits for is there; :meth:`feed`, :meth:`finish` and :meth:`fail` do not."""
        if self._waiting is None:
            return
        if self.complete or self._error is not None or (self._limit is not None and self._size > self._limit):
            waiting, self._waiting = self._waiting, None
            waiting.callback(None)

    def discard(self) -> None:
        """Nobody will read it any more: forget what is there and what comes."""
        self._limit = None
        self._pieces.clear()

    def _check(self, size: int) -> None:
        if self._limit is not None and size > self._limit:
            limit, self._limit = self._limit, None
            self._pieces.clear()
            raise RequestTooLarge(f"limit is {limit}")
