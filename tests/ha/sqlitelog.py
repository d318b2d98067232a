"""The word of an SQLite file: the rows of its log that are committed, read by SQLite itself."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

from tests.ha.judging.history import Version
from tests.ha.log import Log, content_of


class SqliteLog(Log):
    """That of a prefix.

    Args:
        path: The file; it may not be there yet.
        prefix: The prefix of the objects' keys, of which the name is the rest.
    """

    def __init__(self, path: Path, prefix: str) -> None:
        super().__init__()
        self._path = path
        self._prefix = prefix

    def pull(self) -> bool:
        with self._lock, contextlib.suppress(sqlite3.OperationalError):  # it is not there yet, or locked by a start
            # Read-only: the last connection to close would otherwise empty the write-ahead log that a killed server has left.
            with contextlib.closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as connection:
                connection.execute("BEGIN")
                ((cleaned,),) = connection.execute("SELECT revision FROM mark WHERE name = 'cleaned'").fetchall()
                assert cleaned <= max(self.position, 1), "the log has been cleaned of what was not read"
                query = "SELECT revision, key, value FROM log WHERE revision > ? ORDER BY revision"
                for revision, key, value in connection.execute(query, (self.position,)).fetchall():
                    self._take(revision, key.decode(errors="replace"), value)
            return True
        return False

    def _take(self, revision: int, key: str, value: bytes | None) -> None:
        if key.startswith(self._prefix):
            content = None if value is None else content_of(json.loads(value))
            self.versions.append(Version(revision, key.removeprefix(self._prefix), content))
        self.position = revision

    def compact(self) -> None:
        """Nothing: nobody shares the file."""
