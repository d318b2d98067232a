"""A store in one SQLite file, owned by one process: durable, and safe against a crash at any moment.

Writes go through :mod:`extapi.storage.group`; reads run at once, on a connection of their own, pinned to the last
revision that was published. It must not know API types, or who reads.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from twisted.internet.defer import Deferred

from extapi.storage.base import Change, Compacted, Entry, Future, Page, Unavailable
from extapi.storage.disk import DiskThread
from extapi.storage.file import StoreFile
from extapi.storage.group import WAITING, GroupCommit, Work
from extapi.storage.keys import check_write
from extapi.storage.records import Reader, Writer
from extapi.storage.tail import BEHIND_BYTES, BEHIND_CHANGES, LogTail, Past, Tails


class SqliteBackend:
    """A :class:`~extapi.storage.base.Backend` in a file.

    Opens the file at once and raises :class:`~extapi.storage.file.UnusableFile`. ``reactor`` is an
    ``IReactorFDSet``; its thread is the only one that may call.

    A commit that fails (disk full, file read-only or removed, an I/O error) raises ``Unavailable`` and is rolled back
    with all writes of its transaction; reads go on, and writes work again as soon as the file lets them. Only when the
    disk reports an error *after* taking the data may a refused write be there after a crash: no store can tell.
    """

    def __init__(
        self,
        reactor: Any,
        path: str | os.PathLike[str],
        *,
        waiting: int = WAITING,
        behind_changes: int = BEHIND_CHANGES,
        behind_bytes: int = BEHIND_BYTES,
    ) -> None:
        self._file = StoreFile(path)
        try:
            writer = Writer(self._file.writer)
        except sqlite3.Error as error:
            self._file.close()
            raise self._file.unusable(error) from error
        self._current, self._oldest = writer.revision, writer.compacted
        self._reader = Reader(self._file.reader)
        self._tails = Tails(self, changes=behind_changes, size=behind_bytes)
        self._disk = DiskThread(reactor)
        self._group = GroupCommit(writer, self._disk, publish=self._publish, refusal=self._refusal, waiting=waiting)
        self._closing = False
        self._closed = False
        self._closers: list[Deferred[None]] = []

    def _refusal(self) -> str:
        return f"{self._file.path} was moved or removed" if self._file.gone() else ""

    def _publish(self, changes: list[Change], compacted: int) -> None:
        """A group is on the disk: from here on it is what readers see. Tails have it before the writers go on."""
        self._oldest = compacted
        if changes:
            self._current = changes[-1].revision
            self._tails.publish(changes, self._current)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        if self._closing:
            raise Unavailable("the store is closed")
        try:
            yield
        except sqlite3.Error as error:
            raise Unavailable(str(error)) from error

    def _submit(self, work: Work, size: int = 0) -> Deferred[int]:
        if self._closing:
            raise Unavailable("the store is closed")
        return self._group.submit(work, size)

    async def get(self, key: bytes) -> Entry | None:
        """See :meth:`extapi.storage.base.Backend.get`."""
        with self._reading():
            return self._reader.get(key, self._current)

    async def revision(self) -> int:
        """See :meth:`extapi.storage.base.Backend.revision`."""
        with self._reading():
            return self._current

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`."""
        with self._reading():
            at = self._current if at is None else at
            self._check_kept(at)
            return self._reader.page(prefix, at, after, limit)

    def _check_kept(self, revision: int) -> None:
        if revision < self._oldest:
            raise Compacted(self._oldest)
        if revision > self._current:
            raise Future(self._current)

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.commit`; if the caller is cancelled, it may still be written."""
        check_write(key, value, expected)
        return await self._submit(lambda writer: writer.append(key, value, expected), len(key) + len(value or b""))

    def tail(self, after: int) -> LogTail:
        """See :meth:`extapi.storage.base.Backend.tail`; ``Future`` where ``after`` has not been reached."""
        return self._tails.tail(after)

    def past(self, after: int) -> Past:
        """See :class:`extapi.storage.tail.Log`."""
        with self._reading():
            self._check_kept(after)
            return self._reader.past(after, self._current)

    async def progress(self) -> None:
        """See :meth:`extapi.storage.base.Backend.progress`."""
        with self._reading():
            self._tails.publish([], self._current)

    async def compact(self, revision: int, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.compact`.

        The compaction is in force first; then what it makes unreadable is deleted in small steps, between which other
        writes go on, and pages are given back. What a crash leaves undone the next compaction does.
        """
        with self._reading():
            if revision > self._current:
                raise Future(self._current)
        in_force = await self._submit(lambda writer: writer.compact(revision, expected))
        while await self._submit(Writer.clean):
            pass
        while await self._submit(Writer.vacuum):
            pass
        return in_force

    async def oldest(self) -> int:
        """See :meth:`extapi.storage.base.Backend.oldest`."""
        with self._reading():
            return self._oldest

    async def close(self) -> None:
        """See :meth:`extapi.storage.base.Backend.close`; needs the reactor to run. Later calls wait for the first."""
        if self._closed:
            return
        done: Deferred[None] = Deferred()
        self._closers.append(done)
        if not self._closing:
            self._closing = True
            await self._group.drained()
            self._tails.end()
            self._disk.run(self._file.close, self._shut)
        await done

    def _shut(self, error: Exception | None) -> None:
        self._disk.stop()
        self._closed = True
        closers, self._closers = self._closers, []
        for done in closers:
            if error is None:
                done.callback(None)
            else:
                done.errback(Unavailable(str(error)))
