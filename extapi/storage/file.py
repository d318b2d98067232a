"""The file of an SQLite store: its identity, its format, and its lock. Knows no reads and writes.

``PRAGMA application_id`` marks the file as ours, ``PRAGMA user_version`` is the version of its format. A ``flock`` on
``<file>.lock`` makes sure that only one process uses it. The lock file is never removed: a lock on a name that is removed
excludes nobody. The database file itself cannot carry the lock, since closing any descriptor of it would drop the POSIX
locks that SQLite holds there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
from pathlib import Path

from extapi.storage.base import UnusableStore
from extapi.storage.room import full, lacking

APPLICATION = 0x65787461
"""``exta``, at offset 68 of the file; ``file(1)`` and SQLite's own tools show it."""
VERSION = 1
"""The version of the format that this module writes; later versions are refused."""
FIRST_REVISION = 1
"""The revision of an empty store, as in etcd; 0 means "any" in the API."""

_SCHEMA = """
CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    value BLOB,
    previous INTEGER NOT NULL,
    dead INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_key ON log (key, revision, dead);
CREATE TABLE mark (
    name TEXT PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""
"""The log has one row per commit. A delete has a NULL ``value`` and ``dead`` 1, so that the index alone tells which keys are
live. ``previous`` is the revision that the row replaces, or 0 if the key did not exist.

There are two marks: ``compacted``, the oldest revision that can be read, and ``cleaned``, the revision up to which replaced
rows have been deleted from the file."""

LONGEST = 504
"""Bytes of a path that SQLite opens: ``MAX_PATHNAME`` of its ``os_unix.c``, less what it appends for its journal."""
OPENING = 5.0
"""Seconds to wait for a program that reads the file, or recovers its log after a crash, while it is opened."""
_LEAST = 64 * 1024
"""Bytes that an empty store needs at least: its log, and 32 KiB of index for that."""
WAL_LIMIT = 16 * 1024 * 1024
"""The size in bytes to which the write-ahead log is truncated after a burst."""


class UnusableFile(UnusableStore):
    """The file cannot be used as a store. The message names it and says what to do."""


class StoreFile:
    """The open file: one connection that writes, one that reads what is committed, and the lock.

    The connections are in autocommit mode. Each may be used in any thread, but in only one at a time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Lock and open the file, and create it if it does not exist.

        Raises:
            UnusableFile: The file cannot be used as a store.
        """
        # Absolute, because names such as ":memory:" and "" are special to SQLite.
        # Resolved, so that two names of one file share one lock.
        self.path = Path(os.path.realpath(path))
        self._check_path()
        self._lock = self._take_lock()
        try:
            identity = self._create_or_find()
            self.writer = self._open_writer()
            self.reader = self._connect()
            for connection in (self.writer, self.reader):
                connection.execute("PRAGMA busy_timeout = 0")  # from now on others would wait, too
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, sqlite3.Error | OSError):
                raise self.unusable(error) from error
            raise
        self._identities = {str(self.path): identity} | {
            side: _identity(side) for side in (self.log_path, self._index_path)
        }
        """Device and inode of each file that is open, by its path."""

    def unusable(self, error: Exception) -> UnusableFile:
        """The exception for an error of SQLite or of the operating system."""
        code = getattr(error, "sqlite_errorcode", 0)
        if code & 0xFF == sqlite3.SQLITE_BUSY:  # the lower byte: extended codes have more
            return UnusableFile(
                f"{self.path}: another program, such as sqlite3, has it locked for more than {OPENING:g} s; end that program"
            )
        # SQLite says "disk I/O error" and "unable to open database file" where its log or the index of that has no room.
        reason = lacking(self.path.parent, _LEAST)
        if reason:
            return UnusableFile(
                f"{self.path}: cannot be used as a store: {reason}; make room in {self.path.parent}, or name another file"
            )
        return UnusableFile(f"{self.path}: cannot be used as a store: {error}; check the file and its permissions")

    def _check_path(self) -> None:
        size = len(os.fsencode(self.path))
        if size > LONGEST:
            raise UnusableFile(
                f"{self.path}: the path has {size} bytes, and SQLite opens none of more than {LONGEST}; name a shorter one"
            )
        # os.path returns False for an impossible name, where pathlib raises.
        if not os.path.isdir(self.path.parent):  # noqa: PTH112 - see above
            raise UnusableFile(
                f"{self.path}: there is no directory {self.path.parent}; create it, or name another file"
            )
        if os.path.exists(self.path) and not os.path.isfile(self.path):  # noqa: PTH110, PTH113 - see above
            raise UnusableFile(f"{self.path}: this is not a regular file; name another one")

    def _take_lock(self) -> int:
        name = f"{self.path}.lock"
        try:
            lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            reason = full(self.path.parent, error)
            what = f"make room in {self.path.parent}" if reason else "give this user write permission for the directory"
            if error.errno == errno.EROFS:
                what = "name a file where this process may write"
            raise UnusableFile(
                f"{self.path}: the lock file {name} cannot be opened: {reason or error.strerror}; {what}"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
            os.close(lock)
            raise UnusableFile(
                f"{self.path}: another process has it open (pid {owner or 'unknown'}); "
                "stop that process, or name another file"
            ) from error
        # The pid is only for people; a full disk is no reason not to start.
        with contextlib.suppress(OSError):
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode("ascii"), 0)
        return lock

    def _create_or_find(self) -> tuple[int, int]:
        """Create the file if it is missing, readable only by its owner; SQLite gives its side files the same mode.

        Returns:
            Device and inode of the file.
        """
        opened = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            found = os.fstat(opened)
        finally:
            os.close(opened)
        return found.st_dev, found.st_ino

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=OPENING, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    def _open_writer(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            self._check_format(connection)
            # Both are kept in the header, so they come before the first table; later they have no effect.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            self._check_mode(mode)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}")
            connection.execute("BEGIN IMMEDIATE")
            if _pragma(connection, "application_id") == 0:
                self._create(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_mode(self, mode: str) -> None:
        if mode != "wal":
            raise UnusableFile(
                f"{self.path}: the file system does not support a write-ahead log ({mode}); use a local disk"
            )

    def _create(self, connection: sqlite3.Connection) -> None:
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        marks = [("compacted", FIRST_REVISION), ("cleaned", FIRST_REVISION)]
        connection.executemany("INSERT INTO mark VALUES (?, ?)", marks)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")

    def _check_format(self, connection: sqlite3.Connection) -> None:
        if not is_empty(connection, self.path):
            check_readable(connection, self.path)

    @property
    def log_path(self) -> str:
        """The write-ahead log, which exists while the file is open."""
        return f"{self.path}-wal"

    @property
    def _index_path(self) -> str:
        """The index of the log, by which other processes find what is in it."""
        return f"{self.path}-shm"

    def wait_elsewhere(self) -> None:
        """Let commits on ``writer`` return before they are on the disk, and make checkpoints only when asked to."""
        self.writer.execute("PRAGMA synchronous = NORMAL")
        self.writer.execute("PRAGMA wal_autocheckpoint = 0")

    def checkpoint(self) -> bool:
        """Copy the write-ahead log to the file, as far as no reader needs it; waits for the disk.

        Returns:
            Whether all of it was copied, so that the next commit begins the log again.
        """
        busy, pages, copied = self.writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return not busy and pages == copied

    def gone(self) -> str:
        """The path that no longer leads to the open file, so that everything written would be lost; empty: all of them do.

        Source: https://www.sqlite.org/howtocorrupt.html sections 1.4 and 2.4.
        """
        for path, identity in self._identities.items():
            try:
                if _identity(path) != identity:
                    return path
            except OSError:
                return path
        return ""

    def close(self) -> None:
        """Close both connections, then release the lock. This waits for the disk, as it empties the write-ahead log."""
        try:
            self.reader.close()
            self.writer.close()
        finally:
            os.close(self._lock)


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - runs before every group of writes; Path.stat costs twice as much
    return found.st_dev, found.st_ino


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def is_empty(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether nobody has written anything to a file.

    Raises:
        UnusableFile: It is no SQLite file.
    """
    try:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return bool(_pragma(connection, "application_id") == _pragma(connection, "user_version") == tables == 0)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        raise UnusableFile(f"{path}: this is not an SQLite file; name another one") from error


def check_readable(connection: sqlite3.Connection, path: Path) -> None:
    """Check that a file is a store that this version of extapi reads.

    Raises:
        UnusableFile: It is not.
    """
    if _pragma(connection, "application_id") != APPLICATION:
        raise UnusableFile(f"{path}: this is another application's SQLite file; name another one")
    version = _pragma(connection, "user_version")
    if version > VERSION:
        raise UnusableFile(
            f"{path}: written by a newer extapi (format {version}, this one reads {VERSION}); "
            "upgrade extapi, or name another file"
        )
