"""Readers of the log: the past in parts, then live, without a gap and without a repeat.

Shared by the backends that keep their log in this process. It must not know where the log is kept: the past comes from
a :class:`Log`, the live part from whoever calls :meth:`Tails.publish` in the reactor's thread.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

from twisted.internet.defer import Deferred

from extapi.storage.base import Batch, Change, Unavailable

BEHIND_CHANGES = 10_000
"""How many changes may wait for a reader; one more ends it with :class:`Unavailable`."""
BEHIND_BYTES = 64 * 1024 * 1024
"""How many bytes of values may wait for a reader; the values are shared between readers, but one may hold them alone."""


class Past(NamedTuple):
    """A part of the log that has been written already."""

    batch: Batch
    more: bool
    """Whether the log goes on after it; if not, ``batch.progress`` is the current revision."""


class Log(Protocol):
    """What a tail reads the past from."""

    def past(self, after: int) -> Past:
        """The next part of the log after a revision; raises ``Compacted``, ``Future`` or ``Unavailable``.

        It may hold no change that is not published yet: those come live.
        """
        ...


class Tails:
    """The live tails of one backend."""

    def __init__(self, log: Log, *, changes: int = BEHIND_CHANGES, size: int = BEHIND_BYTES) -> None:
        self._log = log
        self._changes = changes
        self._size = size
        self._live: list[LogTail] = []

    def tail(self, after: int) -> LogTail:
        """A new tail; it costs nothing until it is iterated."""
        return LogTail(self, self._log, after)

    def publish(self, changes: list[Change], progress: int) -> None:
        """Give a batch to every live tail; those that wait have read it when this returns.

        First everybody has it, then readers are woken: a reader that commits in turn cannot make another one see the
        second change before the first.
        """
        batch = Batch(changes, progress)
        size = sum(len(change.value or b"") for change in changes)
        live = self._live.copy()
        for tail in live:
            tail.push(batch, size, changes=self._changes, limit=self._size)
        for tail in live:
            tail.wake()

    def end(self) -> None:
        """End every live tail once its reader has had what waits for it."""
        live, self._live = self._live, []
        for tail in live:
            tail.end(None)

    def join(self, tail: LogTail) -> None:
        """From now on the tail gets what is published."""
        self._live.append(tail)

    def leave(self, tail: LogTail) -> None:
        """The tail gets nothing any more; fine if it was not live."""
        if tail in self._live:
            self._live.remove(tail)


class LogTail:
    """A tail (see :class:`extapi.storage.base.Tail`). One reader at a time.

    The past is read at once, in parts, on the reader's turn; a reader of a long past lets the reactor breathe itself.
    """

    def __init__(self, tails: Tails, log: Log, after: int) -> None:
        self._tails = tails
        self._log = log
        self._position = after
        self._live = False
        self._ended = False
        self._error: Exception | None = None
        self._queue: deque[tuple[Batch, int]] = deque()
        self._queued_changes = 0
        self._queued_bytes = 0
        self._waiting: Deferred[None] | None = None

    def __aiter__(self) -> LogTail:
        return self

    async def __anext__(self) -> Batch:
        if self._waiting is not None:
            raise RuntimeError("a tail has one reader at a time")
        while True:
            if self._queue:
                batch, size = self._queue.popleft()
                self._queued_changes -= len(batch.changes)
                self._queued_bytes -= size
                return batch
            if self._ended:
                error, self._error = self._error, None
                raise error or StopAsyncIteration
            if self._live:
                self._waiting = Deferred(self._forget)
                await self._waiting
            else:
                past = self._advance()
                if past is not None:
                    return past

    def _advance(self) -> Batch | None:
        """The next part of the past; at its end the tail becomes live in the same turn, so nothing falls between."""
        try:
            batch, more = self._log.past(self._position)
        except Exception:
            self._ended = True
            raise
        moved = batch.progress > self._position
        self._position = batch.progress
        if not more:
            self._live = True
            self._tails.join(self)
        return batch if moved else None

    def _forget(self, _: Deferred[None]) -> None:
        """The reader was cancelled while it waited; another may come."""
        self._waiting = None

    def push(self, batch: Batch, size: int, *, changes: int, limit: int) -> None:
        """Queue a batch without waking the reader. A single batch always fits; a second one only within the bounds."""
        if self._queue and not batch.changes:
            # A mark alone is folded into what waits already: marks must not pile up before a slow reader.
            last, last_size = self._queue.pop()
            self._queue.append((Batch(last.changes, batch.progress), last_size))
            return
        self._queued_changes += len(batch.changes)
        self._queued_bytes += size
        if self._queue and (self._queued_changes > changes or self._queued_bytes > limit):
            self._queue.clear()
            self._tails.leave(self)
            self.end(Unavailable(f"the reader is more than {changes} changes or {limit} bytes behind"))
        else:
            self._queue.append((batch, size))

    def wake(self) -> None:
        """Let a waiting reader take what is queued; it runs before this returns."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def end(self, error: Exception | None) -> None:
        """End with ``error``, or normally, after what is queued has been read."""
        if not self._ended:
            self._ended = True
            self._error = error
            self.wake()

    def close(self) -> None:
        """End the iteration now; what is queued is dropped."""
        self._queue.clear()
        self._error = None
        self._tails.leave(self)
        self.end(None)
