"""The SQL of an SQLite store: reads the log as of a revision, and appends to it. Knows no threads and no waiting.

The caller bounds every read by a revision, since the file may already have rows that are not published.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict

from extapi.storage.base import Batch, KeyValue, LogEvent, Page, RevisionConflict
from extapi.storage.keys import successor
from extapi.storage.tail import Past

PART_ROWS = 500
PART_BYTES = 8 * 1024 * 1024
"""How many changes of the past a tail reads at a time, and after how many bytes it stops earlier."""
CLEAN_ROWS = 250
CLEAN_BYTES = 1024 * 1024
"""How many rows of the log one step of cleaning covers, and after how many bytes of deleted values it stops earlier."""
VACUUM_PAGES = 64
"""How many pages one step returns to the file system."""
SPARE_PAGES = 256
"""How many free pages stay in the file, as they are needed again soon."""
COUNTS = 64
"""For how many lists in progress the count of remaining keys is remembered."""


class Reader:
    """Reads what is committed, on its own connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._counts: OrderedDict[tuple[bytes, int, bytes], int] = OrderedDict()
        """The keys that remain after a page, by prefix, revision and last key of the page. The past never changes."""

    def get(self, key: bytes, at: int) -> KeyValue | None:
        """The value of a key as of a revision."""
        row = self._connection.execute(
            "SELECT value, revision FROM log WHERE key = ? AND revision <= ? ORDER BY revision DESC LIMIT 1", (key, at)
        ).fetchone()
        return None if row is None or row[0] is None else KeyValue(key, *row)

    def page(self, prefix: bytes, at: int, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`."""
        where = "key >= ? AND revision <= ?" if after < prefix else "key > ? AND revision <= ?"
        bounds: list[bytes | int] = [max(prefix, after), at]
        end = successor(prefix)
        if end is not None:
            where += " AND key < ?"
            bounds.append(end)
        # With max() alone, SQLite takes `dead` from the row that has the maximum. The index has all three columns.
        live = f"SELECT key, max(revision) AS revision, dead FROM log WHERE {where} GROUP BY key HAVING NOT dead"  # noqa: S608 - made of constants
        rows = self._connection.execute(
            f"SELECT log.key, log.value, log.revision FROM ({live} ORDER BY key LIMIT ?) AS live "  # noqa: S608 - made of constants
            "JOIN log USING (revision) ORDER BY log.key",
            (*bounds, limit or -1),
        ).fetchall()
        entries = [KeyValue(*row) for row in rows]
        remaining = 0
        if limit and len(entries) == limit:
            remaining = self._remaining(prefix, at, after, entries, (live, bounds))
        return Page(entries, at, remaining > 0, remaining)

    def _remaining(
        self, prefix: bytes, at: int, after: bytes, entries: list[KeyValue], live: tuple[str, list[bytes | int]]
    ) -> int:
        """How many keys remain: counted for the first page, then reduced from page to page."""
        before = self._counts.pop((prefix, at, after), None)
        if before is None:
            query, bounds = live
            (before,) = self._connection.execute(f"SELECT count(*) FROM ({query})", bounds).fetchone()  # noqa: S608 - made of constants
        remaining = int(before) - len(entries)
        if remaining:
            self._counts[prefix, at, entries[-1].key] = remaining
            if len(self._counts) > COUNTS:
                self._counts.popitem(last=False)
        return remaining

    def past(self, after: int, until: int) -> Past:
        """The changes after one revision and up to another, inclusive, as far as they fit into one part."""
        changes: list[LogEvent] = []
        size = 0
        cursor = self._connection.execute(
            "SELECT log.revision, log.key, log.value, old.value FROM log LEFT JOIN log AS old ON old.revision = log.previous "
            "WHERE log.revision > ? AND log.revision <= ? ORDER BY log.revision",
            (after, until),
        )
        for row in cursor:
            change = LogEvent(*row)
            changes.append(change)
            size += len(change.value or b"") + len(change.previous or b"")
            if len(changes) >= PART_ROWS or size >= PART_BYTES:
                cursor.close()
                return Past(Batch(changes, change.revision), more=change.revision < until)
        return Past(Batch(changes, until), more=False)


class Writer:
    """Appends to the log, in transactions that the caller opens, commits and rolls back."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.revision, self.compacted = read_state(self._connection)
        """The last revision that was assigned, committed or not, and the revision of the compaction in force."""
        self.changes: list[LogEvent] = []
        """The commits of the open transaction."""
        self.dirty = False
        """Whether the open transaction changed anything."""
        self.written = 0
        """The bytes of all values that were appended, committed or not."""
        self._stale = False

    def _set_mark(self, name: str, revision: int) -> None:
        self._connection.execute("UPDATE mark SET revision = ? WHERE name = ?", (revision, name))
        self.dirty = True

    def begin(self) -> None:
        """Open a transaction. It takes the write lock at once, so that nothing can refuse it later."""
        self._undo()
        self._connection.execute("BEGIN IMMEDIATE")
        if self._stale:
            self.revision, self.compacted = read_state(self._connection)
            self._stale = False

    def commit(self) -> None:
        """Commit the transaction; return when it is on the disk. Call :meth:`committed` or :meth:`rollback` afterwards."""
        self._connection.execute("COMMIT")

    def committed(self) -> None:
        """Note that the commit succeeded."""
        self.changes = []
        self.dirty = False

    def rollback(self) -> None:
        """Undo the transaction, if one is open; the next one starts from the content of the file."""
        self._stale = self._stale or self.dirty
        self.committed()
        self._undo()

    def discard(self, after: int) -> None:
        """Delete what was committed after a revision, in a transaction of its own; the next one starts from the file."""
        self._undo()
        self._connection.execute("DELETE FROM log WHERE revision > ?", (after,))
        self._stale = True

    def _undo(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def append(self, key: bytes, value: bytes | None, expected: int) -> int:
        """Append a commit.

        Raises:
            RevisionConflict: The key is at another revision.
        """
        row = self._connection.execute(
            "SELECT value, revision FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1", (key,)
        ).fetchone()
        live = None if row is None or row[0] is None else KeyValue(key, *row)
        if (live.revision if live else 0) != expected:
            raise RevisionConflict(live)
        self.dirty = True
        self.revision = revision = self.revision + 1
        self._connection.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?)", (revision, key, value, expected, int(value is None))
        )
        self.written += len(value or b"")
        self.changes.append(LogEvent(revision, key, value, live.value if live else None))
        return revision

    def compact(self, revision: int, expected: int) -> int:
        """Put a compaction in force if ``expected`` is in force now; :meth:`clean` deletes the rows.

        Returns:
            The revision of the compaction that is in force now.
        """
        if expected == self.compacted and revision > self.compacted:
            self._set_mark("compacted", revision)
            self.compacted = revision
        return self.compacted

    def skip(self, revision: int) -> int:
        """Leave out all revisions up to ``revision``, as far as none of them has been assigned, and forget the past.

        Returns:
            The current revision, which is the oldest that can be read, too.
        """
        self.revision = self.compacted = max(self.revision, revision)
        self._set_mark("compacted", self.compacted)
        return self.compacted

    def clean(self) -> int:
        """Delete some rows that can no longer be read.

        For each row of the log up to the compaction, the row that it replaced is deleted, and the row itself if it is a
        delete. So the work is proportional to the writes, whatever the number of live keys, and can stop and resume anywhere.

        Returns:
            1 if there may be more such rows, else 0.
        """
        cleaned = _mark(self._connection, "cleaned")
        rows = self._connection.execute(
            "SELECT log.revision, log.previous, log.dead, coalesce(length(old.value), 0) "
            "FROM log LEFT JOIN log AS old ON old.revision = log.previous "
            "WHERE log.revision > ? AND log.revision <= ? ORDER BY log.revision LIMIT ?",
            (cleaned, self.compacted, CLEAN_ROWS),
        ).fetchall()
        dropped: list[tuple[int]] = []
        size = 0
        for revision, previous, dead, length in rows:
            if previous:
                dropped.append((previous,))
            if dead:
                dropped.append((revision,))
            cleaned = revision
            size += length
            if size >= CLEAN_BYTES:
                break
        else:
            if len(rows) < CLEAN_ROWS:
                cleaned = self.compacted
        self._connection.executemany("DELETE FROM log WHERE revision = ?", dropped)
        self._set_mark("cleaned", cleaned)
        return int(cleaned < self.compacted)

    def vacuum(self) -> int:
        """Return some free pages to the file system.

        Returns:
            1 if there are more, else 0.
        """
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        if free > SPARE_PAGES:
            # Each fetched row is one page.
            self._connection.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
            self.dirty = True
        return int(free > SPARE_PAGES + VACUUM_PAGES)


def read_state(connection: sqlite3.Connection) -> tuple[int, int]:
    """The last revision, and the oldest that can be read: that of the compaction in force."""
    (last,) = connection.execute("SELECT coalesce(max(revision), 0) FROM log").fetchone()
    compacted = _mark(connection, "compacted")
    # The newest row may have been a delete that is compacted, so the log alone is not enough.
    return max(last, compacted), compacted


def _mark(connection: sqlite3.Connection, name: str) -> int:
    (revision,) = connection.execute("SELECT revision FROM mark WHERE name = ?", (name,)).fetchone()
    return int(revision)
