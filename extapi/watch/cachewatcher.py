"""One watcher: its sink, the chunks that wait for it, and its end.

Live events that arrive while the initial events are being written, which may take long, wait here: as shared chunks,
bounded in bytes. Must not know selections or revisions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from twisted.internet.defer import CancelledError, Deferred

from extapi.clock import Clock, sleep
from extapi.errors import ApiError
from extapi.http.response import PIECE, Chunk, Sink

_ROOM = 4 * PIECE
"""Bytes that may wait in a sink before the next chunk of initial events is made."""
_CHUNKS_PER_TURN = 16
"""Chunks of initial events that are made before other watchers get their turn: some 10 ms."""


@dataclass(frozen=True, slots=True)
class WatchLimits:
    """When a watcher is too slow (behaviour F17), and how long it may then take to read what it was sent."""

    pending: int = 4 * 1024 * 1024
    """Bytes that may wait in the sink, or until the initial events are written."""
    grace: float = 5.0
    """Seconds after which the connection of a watcher that was too slow is aborted."""


class CacheWatcher:
    """The receiving end of a watch."""

    __slots__ = ("_buffer", "_buffered_bytes", "_clock", "_limit", "_sink", "_waiting", "ended", "failure", "slow")

    def __init__(self, sink: Sink, clock: Clock, limit: int) -> None:
        self._sink = sink
        self._clock = clock
        self._limit = limit
        self._buffer: deque[Chunk] | None = deque()
        """Live events that wait for the initial events; None once these are written."""
        self._buffered_bytes = 0
        self._waiting: Deferred[None] | None = None
        self.ended = False
        self.slow = False
        self.failure: ApiError | None = None

    def deliver(self, chunks: Sequence[Chunk]) -> None:
        """Send live events. A watcher with too many unread bytes is ended."""
        if self.ended:
            return
        if self._buffer is None:
            sink = self._sink
            if sink.pending > self._limit:
                self.slow = True
                self.end()
                return
            for chunk in chunks:
                sink.write(chunk)
        else:
            self._buffer.extend(chunks)
            self._buffered_bytes += sum(len(chunk.data) for chunk in chunks)
            if self._buffered_bytes > self._limit:
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
        """Wait until ``waiting`` fires, or until the watcher ends, which cancels it."""
        self._waiting = waiting
        if self.ended:
            waiting.cancel()
        try:
            await waiting
        except CancelledError as cancelled:
            if not self.ended:
                raise
            # Twisted's Failure and its error refer to each other: its frames, and so the cache, would wait for the collector.
            cancelled.__traceback__ = None
        finally:
            self._waiting = None

    async def send_initial(self, initial: Iterable[Chunk]) -> None:
        """Write the initial events as fast as the client reads them, then what has arrived meanwhile; then go live."""
        await self.send(chain(initial, self._take_buffered()))
        if not self.ended:
            self._buffer = None

    async def send(self, chunks: Iterable[Chunk]) -> None:
        """Write a part of the initial events as fast as the client reads it; live events go on waiting."""
        for count, chunk in enumerate(chunks, 1):
            if self.ended:
                return
            self._sink.write(chunk)
            await self._pause(count)

    def _take_buffered(self) -> Iterator[Chunk]:
        while self._buffer:
            chunk = self._buffer.popleft()
            self._buffered_bytes -= len(chunk.data)
            yield chunk

    async def _pause(self, count: int) -> None:
        """Wait for a full sink to drain, and let others have their turn from time to time."""
        if self._sink.pending > _ROOM:
            await self.wait(Deferred.fromCoroutine(self._drained()))
        elif count % _CHUNKS_PER_TURN == _CHUNKS_PER_TURN - 1:
            await self.wait(Deferred.fromCoroutine(sleep(self._clock, 0)))

    async def _drained(self) -> None:
        await self._sink.drained()
