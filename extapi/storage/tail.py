"""Tails: the past of a log in parts, then live commits, without gaps or repetition.

For backends that keep their log in this process. Must not know where: the past comes from a :class:`Log`, live commits from
calls of :meth:`Tails.publish` in the reactor's thread.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

from twisted.internet.defer import Deferred

from extapi.storage.base import Batch, LogEvent, Unavailable

BEHIND_CHANGES = 10_000
"""How many changes may wait for a reader; one more ends its tail with :class:`Unavailable`."""
BEHIND_BYTES = 64 * 1024 * 1024
"""How many bytes of values may wait for a reader. Readers share values, but one may be the last that holds them."""


class Past(NamedTuple):
    """A part of the log that was written before a tail went live."""

    batch: Batch
    more: bool
    """Whether the log continues; if not, ``batch.progress`` is the current revision."""


class Log(Protocol):
    """The log of a backend, from which tails read the past."""

    def past(self, after: int) -> Past:
        """The next part of the log after a revision, without changes that are not published yet: those follow live.

        Raises:
            Compacted: The revision is older than the oldest that is kept.
            Future: The revision is newer than the current one.
            Unavailable: The log cannot be read now.
        """
        ...


class Tails:
    """The live tails of one backend."""

    def __init__(self, log: Log, *, changes: int = BEHIND_CHANGES, size: int = BEHIND_BYTES) -> None:
        self._log = log
        self._changes = changes
        self._size = size
        self._live: list[LogReader] = []

    def tail(self, after: int) -> LogReader:
        """A new tail, which costs nothing until it is iterated."""
        return LogReader(self, self._log, after)

    def publish(self, changes: list[LogEvent], progress: int) -> None:
        """Give a batch to every live tail; when this returns, readers that were waiting have processed it.

        All tails get it before any reader resumes, so that a reader that commits in turn cannot make another reader see the
        second change before the first.
        """
        batch = Batch(changes, progress)
        size = sum(len(change.value or b"") for change in changes)
        live = self._live.copy()
        for tail in live:
            tail.push(batch, size, changes=self._changes, limit=self._size)
        for tail in live:
            tail.wake()

    def end(self, error: Exception | None = None) -> None:
        """End every live tail, with ``error`` or normally, after its reader has taken what is queued."""
        live, self._live = self._live, []
        for tail in live:
            tail.end(error)

    def join(self, tail: LogReader) -> None:
        """Give the tail what is published from now on."""
        self._live.append(tail)

    def leave(self, tail: LogReader) -> None:
        """Give the tail nothing more; does nothing if it is not live."""
        if tail in self._live:
            self._live.remove(tail)


class LogReader:
    """A tail (see :class:`extapi.storage.base.Tail`), for one reader at a time.

    The past is read without waiting, one part per step of the iteration; the reader of a long past has to pause by itself.
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

    def __aiter__(self) -> LogReader:
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
        """The next part of the past. After the last one the tail goes live in the same turn, so that nothing is missed."""
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
        """The reader was cancelled while it waited; there may be another one."""
        self._waiting = None

    def push(self, batch: Batch, size: int, *, changes: int, limit: int) -> None:
        """Queue a batch without resuming the reader. One batch always fits; further ones only within the bounds."""
        if self._queue and not batch.changes:
            # Progress alone is merged into the last batch, so that it does not pile up before a slow reader.
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
        """Resume a waiting reader, which runs before this returns."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def end(self, error: Exception | None) -> None:
        """End with ``error``, or normally, after the reader has taken what is queued."""
        if not self._ended:
            self._ended = True
            self._error = error
            self.wake()

    def close(self) -> None:
        """End the iteration now, and drop what is queued."""
        self._queue.clear()
        self._error = None
        self._tails.leave(self)
        self.end(None)
