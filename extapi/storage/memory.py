"""A store in memory, for development and tests: nothing survives the process.

Must not know files or threads. Nothing here ever waits: each call returns in the same turn of the reactor.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

from sortedcontainers import SortedDict

from extapi.storage.base import Batch, Compacted, Future, KeyValue, LogEvent, Page, RevisionConflict, Unavailable
from extapi.storage.keys import check_write, successor
from extapi.storage.tail import LogReader, Past, Tails

PART = 500
"""How many changes of the past a tail reads at a time."""


class Seconds(Protocol):
    """The time; Twisted's reactors and ``task.Clock`` are examples."""

    def seconds(self) -> float:
        """Seconds since the epoch."""
        ...


class _History:
    """The versions of one key, oldest first."""

    __slots__ = ("revisions", "values")

    def __init__(self) -> None:
        self.revisions: list[int] = []
        self.values: list[bytes | None] = []

    def add(self, revision: int, value: bytes | None) -> None:
        self.revisions.append(revision)
        self.values.append(value)

    def at(self, revision: int) -> tuple[bytes, int] | None:
        """Value and revision as of a revision; None if the key did not exist then."""
        index = bisect_right(self.revisions, revision) - 1
        if index < 0:
            return None
        value = self.values[index]
        return None if value is None else (value, self.revisions[index])

    def forget(self, revision: int) -> bool:
        """Drop what cannot be read at ``revision`` or later, and return whether anything is left."""
        index = bisect_right(self.revisions, revision) - 1
        if index >= 0 and self.values[index] is None:
            index += 1
        if index > 0:
            del self.revisions[:index]
            del self.values[:index]
        return bool(self.revisions)


class MemoryBackend:
    """A :class:`~extapi.storage.base.Backend` in memory.

    Revisions start at the clock's microseconds, so those of a new process are above those of the last one, however fast it
    wrote: one commit per microsecond is out of reach. A client that resumes from before the restart therefore gets
    ``Compacted`` instead of silence. Revisions stay below 2**53, where JSON numbers are exact, until the year 2255.
    """

    def __init__(self, clock: Seconds) -> None:
        self._oldest = self._current = max(1, int(clock.seconds() * 1_000_000))
        self._keys: SortedDict[bytes, _History] = SortedDict()
        self._log: list[LogEvent] = []
        """The change of revision R has the index ``R - oldest - 1``, since revisions have no gaps."""
        self._closed = False
        self._tails = Tails(self)

    @property
    def current(self) -> int:
        """The current revision; the next commit is one above it."""
        return self._current

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the store is closed")

    def _live(self, key: bytes) -> KeyValue | None:
        history = self._keys.get(key)
        found = history.at(self._current) if history else None
        return KeyValue(key, *found) if found else None

    async def get(self, key: bytes) -> KeyValue | None:
        """See :meth:`extapi.storage.base.Backend.get`."""
        self._check_open()
        return self._live(key)

    async def revision(self) -> int:
        """See :meth:`extapi.storage.base.Backend.revision`."""
        self._check_open()
        return self._current

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`."""
        self._check_open()
        at = self._current if at is None else at
        if at > self._current:
            raise Future(self._current)
        if at < self._oldest:
            raise Compacted(self._oldest)
        entries: list[KeyValue] = []
        remaining = 0
        first, inclusive = (prefix, True) if after < prefix else (after, False)
        for key in self._keys.irange(first, successor(prefix), inclusive=(inclusive, False)):
            found = self._keys[key].at(at)
            if found is None:
                continue
            if limit and len(entries) >= limit:
                remaining += 1
            else:
                entries.append(KeyValue(key, *found))
        return Page(entries, at, remaining > 0, remaining)

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.commit`; durable as long as the process lives."""
        self._check_open()
        check_write(key, value, expected)
        live = self._live(key)
        if (live.revision if live else 0) != expected:
            raise RevisionConflict(live)
        self._current = revision = self._current + 1
        self._keys.setdefault(key, _History()).add(revision, value)
        change = LogEvent(revision, key, value, live.value if live else None)
        self._log.append(change)
        self._tails.publish([change], revision)
        return revision

    def tail(self, after: int) -> LogReader:
        """See :meth:`extapi.storage.base.Backend.tail`."""
        return self._tails.tail(after)

    def past(self, after: int) -> Past:
        """See :class:`extapi.storage.tail.Log`."""
        self._check_open()
        if after < self._oldest:
            raise Compacted(self._oldest)
        if after > self._current:
            raise Future(self._current)
        start = after - self._oldest
        changes = self._log[start : start + PART]
        progress = after + len(changes)
        return Past(Batch(changes, progress), more=progress < self._current)

    async def progress(self) -> None:
        """See :meth:`extapi.storage.base.Backend.progress`."""
        self._check_open()
        self._tails.publish([], self._current)

    async def compact(self, revision: int, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.compact`; done at once, since it only drops references."""
        self._check_open()
        if expected != self._oldest or revision <= self._oldest:
            return self._oldest
        if revision > self._current:
            raise Future(self._current)
        forgotten = revision - self._oldest
        for key in {change.key for change in self._log[:forgotten]}:
            if not self._keys[key].forget(revision):
                del self._keys[key]
        del self._log[:forgotten]
        self._oldest = revision
        return revision

    async def oldest(self) -> int:
        """See :meth:`extapi.storage.base.Backend.oldest`."""
        self._check_open()
        return self._oldest

    async def close(self) -> None:
        """See :meth:`extapi.storage.base.Backend.close`."""
        self._closed = True
        self._tails.end()
