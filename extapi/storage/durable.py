"""Makes commits durable: writes the COMMIT at once, and lets the kernel wait for the disk. Knows no readers.

SQLite itself can only wait in the COMMIT, which then has to run in a thread. So it is told not to wait
(``synchronous=NORMAL``): it writes to the log, and syncs it only before a checkpoint and after a restart of the log. Here the
log is synced after each commit, before anybody learns of it: as durable as ``synchronous=FULL``, without the thread. Only
now and then, when the log is to be checkpointed or begins again, SQLite has to wait, and a thread does all of it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from functools import partial

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.storage.disk import DiskThread, Done
from extapi.storage.file import StoreFile
from extapi.storage.kernelsync import KernelSync
from extapi.storage.records import Writer

CHECKPOINT_ROWS = 250
CHECKPOINT_BYTES = 4 * 1024 * 1024
"""After how many rows, or bytes of values, the log is copied to the file: some 1,000 pages, as by SQLite's default."""


class DurableCommits:
    """Runs commits, one at a time; a :class:`~extapi.storage.group.Disk`. All methods are called in the reactor's thread."""

    _log = Logger()

    def __init__(
        self,
        file: StoreFile,
        writer: Writer,
        thread: DiskThread,
        sync: KernelSync,
        *,
        published: Callable[[], int],
    ) -> None:
        """Prepare for commits.

        Args:
            file: The open store.
            writer: Appends to it.
            thread: Runs what has to wait; free whenever no commit is running.
            sync: Syncs the file's write-ahead log.
            published: Returns the last revision that a writer was told of.
        """
        self._file = file
        self._writer = writer
        self._thread = thread
        self._sync = sync
        self._published = published
        self._broken = ""
        """Why nothing can be written now; empty while it can."""
        self._mending = False
        self._image: bytes | None = None
        """The log as it should be on the disk, after the disk has failed to store it."""
        self._idle: list[Deferred[None]] = []
        self._begins = True
        """Whether the next commit begins the log again, and SQLite waits for the disk in it."""
        self._sync_error: OSError | None = None
        self._checkpoint_error: sqlite3.Error | None = None
        """What went wrong in the thread; told by the reactor's."""
        self._checkpointed = self._progress()
        file.wait_elsewhere()

    def run(self, work: Callable[[], None], done: Done) -> None:
        """Commit, and wait for the disk.

        Args:
            work: Runs the COMMIT, in either thread. If it raises, the transaction can be rolled back.
            done: Called with None once the commit is on the disk, or with the error.
        """
        if self._begins or self._is_due():
            self._thread.run(partial(self._run_waiting, work), partial(self._waited, done))
            return
        try:
            work()
        except Exception as error:  # noqa: BLE001 - passed on
            done(error)
            return
        self._sync.run(partial(self._synced, done))

    def _synced(self, done: Done, error: Exception | None) -> None:
        """The commit is on the disk, or nobody knows what is."""
        if error is not None:
            self._break(error)
            error = OSError(self._broken)
        done(error)

    def _break(self, error: Exception) -> None:
        """Refuse writes until the log is mended.

        The kernel may drop what it could not write, and says so only once. What SQLite appends next could follow a hole, and be
        lost in a crash, although it is synced. So the log is read now, while the kernel still has it.
        """
        self._broken = f"the disk of {self._file.path} failed: {error}"
        with contextlib.suppress(OSError):
            self._image = self._read()

    def refusal(self) -> str:
        """Why nothing can be written now, or nothing; then the next attempt to mend the log is under way."""
        if self._broken and not self._mending:
            self._mending = True
            self._thread.run(self._mend, self._mended)
        return self._broken

    def _mend(self) -> None:
        """Write the log again, and take back the commits that were refused. In the thread."""
        if self._image is None:
            self._image = self._read()
        written = 0
        while written < len(self._image):
            written += os.pwrite(self._sync.file, self._image[written:], written)
        os.fdatasync(self._sync.file)
        self._image = None
        self._writer.discard(self._published())
        try:
            os.fdatasync(self._sync.file)
        except OSError:
            self._image = self._read()
            raise

    def _mended(self, error: Exception | None) -> None:
        self._mending = False
        self._broken = "" if error is None else f"the disk of {self._file.path} failed: {error}"
        idle, self._idle = self._idle, []
        for done in idle:
            done.callback(None)

    async def drained(self) -> None:
        """Wait until the thread is free, with no commit on its way; after one last attempt to take back what was refused."""
        if self.refusal():
            done: Deferred[None] = Deferred()
            self._idle.append(done)
            await done

    def _read(self) -> bytes:
        return os.pread(self._sync.file, os.fstat(self._sync.file).st_size, 0)

    def _run_waiting(self, work: Callable[[], None]) -> None:
        """The commit, and what SQLite waits for. In the thread."""
        due = self._is_due()
        work()
        try:
            os.fdatasync(self._sync.file)
        except OSError as error:
            self._sync_error = error
            return
        self._begins = False
        if due:
            try:
                self._begins = self._file.checkpoint()
                self._checkpointed = self._progress()
            except sqlite3.Error as error:
                self._checkpoint_error = error

    def _waited(self, done: Done, error: Exception | None) -> None:
        """The thread has ended; ``error``: of the COMMIT."""
        if self._checkpoint_error is not None:  # the commit is safe, and the next one tries again
            self._log.warn("{path}: not checkpointed: {error}", path=self._file.path, error=self._checkpoint_error)
            self._checkpoint_error = None
        not_synced, self._sync_error = self._sync_error, None
        if error is not None:
            done(error)
        else:
            self._synced(done, not_synced)

    def _is_due(self) -> bool:
        now = self._progress()
        rows, written, grown = (after - before for before, after in zip(self._checkpointed, now, strict=True))
        return rows >= CHECKPOINT_ROWS or written >= CHECKPOINT_BYTES or grown >= CHECKPOINT_BYTES

    def _progress(self) -> tuple[int, int, int]:
        """Rows, bytes of values, and the size of the log, which grows by whatever is neither."""
        return self._file.writer.total_changes, self._writer.written, os.fstat(self._sync.file).st_size

    def stop(self) -> None:
        """End, after :meth:`drained`."""
        self._sync.stop()
