"""Bodies of requests while they arrive: kept until the handler wants them, within bounds of size, time and memory.

Knows nothing of connections: the connection that feeds a body asks :attr:`RequestBody.full` whether to continue, and
:attr:`RequestBody.due` whether the body is too slow.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred

from extapi.errors import ApiError, RequestTooLarge, TooManyRequests

AHEAD = 64 * 1024
"""Bytes to keep before the handler asks for them; beyond that, the peer has to wait."""

GRACE = 10.0
RATE = 1024
"""A body that a handler waits for has ``GRACE`` seconds to arrive, and one more per ``RATE`` bytes received.

Precedents: Apache's ``RequestReadTimeout body=20,MinRate=500`` (mod_reqtimeout) counts in the same way; Kestrel wants 240
bytes per second after 5 s (``MinRequestBodyDataRate``), IIS 240 (``minBytesPerSecond``). Go has no such bound.
"""


FREED = 8
"""One in so many bytes of the room is freed at a time, so that the search for bodies to refuse is rare."""

_NEVER = float("inf")


class RequestBody:
    """A body with content, read at most once.

    Args:
        length: The declared length; 0 if it is not known.
        wanted: Called when a reader has to wait: more may be fed now, and a client that waits for 100 is told to continue.

    Attributes:
        complete: The whole body has arrived.
        held: Bytes that :class:`BodyMemory` counts for this body.
    """

    __slots__ = (
        "_error",
        "_in_pieces",
        "_length",
        "_limit",
        "_pieces",
        "_since",
        "_size",
        "_waiting",
        "_wanted",
        "complete",
        "held",
    )

    def __init__(self, length: int, wanted: Callable[[], None]) -> None:
        self._length = length
        self._wanted = wanted
        self._pieces: list[bytes] = []
        self._size = 0
        self._limit: int | None = AHEAD
        self._waiting: Deferred[None] | None = None
        self._error: ApiError | None = None
        self._since = _NEVER
        self._in_pieces = False
        self.complete = False
        self.held = 0

    @property
    def full(self) -> bool:
        """Whether to feed no more for now."""
        return self._limit is not None and self._waiting is None and self._size >= self._limit

    @property
    def empty(self) -> bool:
        """Whether nothing has arrived yet."""
        return self._size == 0 and not self.complete

    @property
    def kept(self) -> int:
        """Bytes in memory."""
        return 0 if self._limit is None or self._error is not None else self._size

    @property
    def due(self) -> float:
        """The time at which the body is too slow, as far as known now; infinite while no reader waits for all of it."""
        waited_for = self._waiting is not None and not self._in_pieces
        return self._since + GRACE + self._size / RATE if waited_for else _NEVER

    def expect(self, now: float) -> None:
        """A reader waits from ``now`` on."""
        self._since = min(self._since, now)

    async def read(self, limit: int) -> bytes:
        """Wait for the whole body.

        Raises:
            RequestTooLarge: It has more than ``limit`` bytes.
            ApiError: Why the rest will never arrive.
        """
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

    async def more(self) -> bytes:
        """Wait for the next piece; empty at the end. It may take any time: somebody types it, or waits for something else.

        Raises:
            ApiError: Why the rest will never arrive.
        """
        self._in_pieces = True
        while not self._pieces and not self.complete and self._error is None:
            self._waiting = Deferred()
            self._wanted()
            await self._waiting
        if self._error is not None:
            raise self._error
        pieces, self._pieces, self._size = self._pieces, [], 0
        if not self.complete:
            self._wanted()  # there is room for more now
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
        """The rest will never arrive: a reader gets ``error``."""
        if not self.complete and self._error is None:
            self._error = error
            self._pieces.clear()

    def poke(self) -> None:
        """Wake the reader if it need not wait any longer; :meth:`feed`, :meth:`finish` and :meth:`fail` do not wake it."""
        if self._waiting is None:
            return
        enough = self._limit is not None and self._size > (0 if self._in_pieces else self._limit)
        if self.complete or self._error is not None or enough:
            waiting, self._waiting = self._waiting, None
            waiting.callback(None)

    def discard(self) -> None:
        """The body will not be read any more: drop what is there and what arrives."""
        self._limit = None
        self._pieces.clear()

    def _check(self, size: int) -> None:
        if self._limit is not None and size > self._limit:
            limit, self._limit = self._limit, None
            self._pieces.clear()
            raise RequestTooLarge(f"limit is {limit}")


class BodyMemory:
    """The memory of all bodies that are still arriving, and which of them to refuse when it is too much.

    Counts bytes received, not lengths declared: otherwise a peer could take all the room by declaring much and sending
    nothing. Bodies that are complete when their head is read are not counted.

    Args:
        limit: Bytes that all bodies may keep together.

    Attributes:
        total: Bytes kept now.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bodies: dict[RequestBody, float] = {}
        self.total = 0

    def hold(self, body: RequestBody, now: float) -> None:
        """Count what is kept for an incomplete body. May refuse it, or others."""
        kept = body.kept
        self.total += kept - body.held
        body.held = kept
        self._bodies.setdefault(body, now)
        if self.total > self._limit:
            self._refuse(now)

    def release(self, body: RequestBody) -> None:
        """Stop counting a body: it is complete, or not wanted any more."""
        if self._bodies.pop(body, None) is not None:
            self.total -= body.held
            body.held = 0

    def _refuse(self, now: float) -> None:
        """Refuse those that took the most room for the longest time; a large body that arrives quickly is not among them."""
        wanted = self._limit - self._limit // FREED
        costly = sorted(self._bodies, key=lambda body: body.held * (1 + now - self._bodies[body]), reverse=True)
        for body in costly:
            if self.total <= wanted:
                return
            self.release(body)
            body.fail(TooManyRequests("too many request bodies are arriving, please try again later", retry_after=1))
            body.poke()
