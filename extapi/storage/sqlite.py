"""A store in one SQLite file, owned by one process: durable, and safe against a crash at any moment.

Writes go through :mod:`extapi.storage.group`. Reads run at once, on their own connection, at the last revision that was
published. Must not know API types, or readers.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.storage.base import Compacted, Future, KeyValue, LogEvent, Page, Unavailable
from extapi.storage.disk import DiskThread
from extapi.storage.durable import DurableCommits
from extapi.storage.file import StoreFile
from extapi.storage.group import WAITING, GroupCommit, Work
from extapi.storage.kernelsync import KernelSync
from extapi.storage.keys import check_write
from extapi.storage.records import Reader, Writer
from extapi.storage.tail import BEHIND_BYTES, BEHIND_CHANGES, LogReader, Past, Tails

Observer = Callable[[list[LogEvent], int, int], None]
"""Is called with changes that are on the disk, the current revision and the oldest one that can be read, before any writer is
answered; and once at the beginning, without changes: if it raises then, the store is not opened."""


class SqliteBackend:
    """A :class:`~extapi.storage.base.Backend` in a file.

    A commit that fails (disk full, file read-only or removed, I/O error) is ``Unavailable`` to its caller, and is rolled back
    with all writes of its transaction. Reads go on, and writes succeed again as soon as the file permits. Only if the disk
    reports an error *after* it has stored the data can a refused write be there after a crash; no store can prevent that.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        path: str | os.PathLike[str],
        *,
        waiting: int = WAITING,
        behind_changes: int = BEHIND_CHANGES,
        behind_bytes: int = BEHIND_BYTES,
        observer: Observer | None = None,
    ) -> None:
        """Open the file.

        Args:
            reactor: An ``IReactorFDSet``; all calls must come from its thread.
            path: The file, created if it does not exist.
            waiting: How many writes may wait for the disk.
            behind_changes: How many changes may wait for the reader of a tail.
            behind_bytes: How many bytes of values may wait for it.
            observer: For one that tells other processes.

        Raises:
            UnusableFile: The file cannot be used as a store.
        """
        self._file = StoreFile(path)
        try:
            writer = Writer(self._file.writer)
        except sqlite3.Error as error:
            self._file.close()
            raise self._file.unusable(error) from error
        self._current, self._oldest = writer.revision, writer.compacted
        self._reader = Reader(self._file.reader)
        self._tails = Tails(self, changes=behind_changes, size=behind_bytes)
        self._thread = DiskThread(reactor)
        self._durable = self._without_thread(reactor, writer)
        disk = self._durable or self._thread
        self._group = GroupCommit(writer, disk, publish=self._publish, refusal=self._refusal, waiting=waiting)
        self._saved = False
        """Whether a log that is gone has been copied to the file."""
        self._closing = False
        self._closed = False
        self._closers: list[Deferred[None]] = []
        self._observer = observer
        if observer is not None:
            try:
                observer([], self._current, self._oldest)
            except BaseException:
                self._shut(None)
                self._file.close()
                raise

    def _without_thread(self, reactor: Any, writer: Writer) -> DurableCommits | None:
        """What makes commits durable without a thread; None where asynchronous I/O is refused, and a thread has to do it."""
        try:
            sync = KernelSync(reactor, self._file.log_path)
        except OSError as error:
            self._log.debug("{path}: commits run in a thread: {error}", path=self._file.path, error=error)
            return None
        return DurableCommits(self._file, writer, self._thread, sync, published=lambda: self._current)

    def _refusal(self) -> str:
        gone = self._file.gone()
        if not gone:
            self._saved = False
            return self._durable.refusal() if self._durable is not None else ""
        if gone == str(self._file.path):
            return f"{gone} was moved or removed"
        self._save()
        return f"{gone} was moved or removed; bring it back, or restart the server"

    def _save(self) -> None:
        """Copy what was acknowledged from a log that is gone, but open, to the file: a crash would lose it."""
        if self._saved or self._thread.busy:
            return
        try:
            self._saved = self._file.checkpoint()
        except sqlite3.Error as error:
            self._log.error("{path}: not saved: {error}", path=self._file.path, error=error)

    def _publish(self, changes: list[LogEvent], compacted: int) -> None:
        """A group is on the disk: let readers see it. Tails get it before the writers go on."""
        self._oldest = compacted
        self._current = max(self._current, compacted)  # see skip
        if changes:
            self._current = changes[-1].revision
        if self._observer is not None:
            self._observer(changes, self._current, compacted)
        if changes:
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

    async def get(self, key: bytes) -> KeyValue | None:
        """See :meth:`extapi.storage.base.Backend.get`."""
        with self._reading():
            return self._reader.get(key, self._current)

    async def revision(self) -> int:
        """See :meth:`extapi.storage.base.Backend.revision`."""
        if self._closing:
            raise Unavailable("the store is closed")
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
        """See :meth:`extapi.storage.base.Backend.commit`; if the caller is cancelled, the write may still happen."""
        check_write(key, value, expected)
        return await self._submit(lambda writer: writer.append(key, value, expected), len(key) + len(value or b""))

    def tail(self, after: int) -> LogReader:
        """See :meth:`extapi.storage.base.Backend.tail`."""
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

        First the compaction takes effect. Then the rows that can no longer be read are deleted, and pages are returned to the
        file system, in small steps between other writes. After a crash, the next compaction does the rest.
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

    async def skip(self, revision: int) -> int:
        """Let all later commits have revisions greater than ``revision``, and forget the past.

        For a store that takes over what another one has served: no revision of that one, up to ``revision``, is then one of
        this store. Readers that come with one of them are told that it is compacted.

        Returns:
            The current revision, which is the oldest that can be read, too.

        Raises:
            Unavailable: The store cannot be written now.
        """
        return await self._submit(lambda writer: writer.skip(revision))

    async def oldest(self) -> int:
        """See :meth:`extapi.storage.base.Backend.oldest`."""
        with self._reading():
            return self._oldest

    async def close(self) -> None:
        """See :meth:`extapi.storage.base.Backend.close`; needs a running reactor. Later calls wait for the first."""
        if self._closed:
            return
        done: Deferred[None] = Deferred()
        self._closers.append(done)
        if not self._closing:
            self._closing = True
            await self._group.drained()
            if self._durable is not None:
                await self._durable.drained()
            self._tails.end()
            self._thread.run(self._file.close, self._shut)
        await done

    def _shut(self, error: Exception | None) -> None:
        if self._durable is not None:
            self._durable.stop()
        self._thread.stop()
        self._closed = True
        closers, self._closers = self._closers, []
        for done in closers:
            if error is None:
                done.callback(None)
            else:
                done.errback(Unavailable(str(error)))
