"""One watcher: its sink, the chunks it must take later, and its end.

While the initial events are written, which may take long, live ones wait here: shared chunks, bounded in bytes. Knows
nothing of selections and revisions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from twisted.internet.defer import CancelledError, Deferred

from extapi.client.clock import Clock, sleep
from extapi.errors import ApiError
from extapi.listener.call import PIECE, Chunk, Sink

if TYPE_CHECKING:
    from extapi.watch.group import Group

_ROOM = 4 * PIECE
"""So many bytes may wait in a sink before the next initial piece is made."""
_PIECES_A_TURN = 16
"""So many pieces are made before others get their turn: some 10 ms."""


@dataclass(frozen=True, slots=True)
class WatchLimits:
    """When a watcher is too slow (spec F17), and how long it may then take for what it has been sent already."""

    pending: int = 4 * 1024 * 1024
    """Bytes in the sink, or waiting for the initial events to be through."""
    grace: float = 5.0
    """Seconds until the connection of a watcher that was ended as too slow is aborted."""


class Watcher:
    """The receiving end of a watch. ``group`` is where its live events come from."""

    __slots__ = ("_clock", "_held", "_held_bytes", "_limit", "_sink", "_waiting", "ended", "failure", "group", "slow")

    def __init__(self, sink: Sink, clock: Clock, limit: int) -> None:
        self._sink = sink
        self._clock = clock
        self._limit = limit
        self._held: deque[Chunk] | None = deque()
        self._held_bytes = 0
        self._waiting: Deferred[None] | None = None
        self.group: Group | None = None
        self.ended = False
        self.slow = False
        self.failure: ApiError | None = None

    def deliver(self, chunks: Sequence[Chunk]) -> None:
        """Give it live events. One that has not taken enough of the earlier ones is ended."""
        if self.ended:
            return
        if self._held is None:
            sink = self._sink
            if sink.pending > self._limit:
                self.slow = True
                self.end()
                return
            for chunk in chunks:
                sink.write(chunk)
        else:
            self._held.extend(chunks)
            self._held_bytes += sum(len(chunk.data) for chunk in chunks)
            if self._held_bytes > self._limit:
                self.slow = True
                self.end()

    def fail(self, error: ApiError) -> None:
        """End with an ERROR event."""
        self.failure = error
        self.end()

    def end(self) -> None:
        """End cleanly, after what has been written."""
        self.ended = True
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()

    async def wait(self, waiting: Deferred[None]) -> None:
        """Wait until ``waiting`` fires, or until the end, which cancels it."""
        self._waiting = waiting
        if self.ended:
            waiting.cancel()
        try:
            await waiting
        except CancelledError:
            if not self.ended:
                raise
        finally:
            self._waiting = None

    async def catch_up(self, initial: Iterable[Chunk]) -> None:
        """Write the initial events as fast as they are taken, then what came meanwhile; from then on it is live."""
        for count, chunk in enumerate(chain(initial, self._take_held()), 1):
            if self.ended:
                return
            self._sink.write(chunk)
            await self._breathe(count)
        self._held = None

    def _take_held(self) -> Iterator[Chunk]:
        while self._held:
            chunk = self._held.popleft()
            self._held_bytes -= len(chunk.data)
            yield chunk

    async def _breathe(self, count: int) -> None:
        """Wait for a sink that has enough, and let others have their turn."""
        if self._sink.pending > _ROOM:
            await self.wait(Deferred.fromCoroutine(self._drained()))
        elif count % _PIECES_A_TURN == _PIECES_A_TURN - 1:
            await self.wait(Deferred.fromCoroutine(sleep(self._clock, 0)))

    async def _drained(self) -> None:
        await self._sink.drained()
