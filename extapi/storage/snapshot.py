"""What an SQLite store holds at one moment, read without its lock: also while a server has it open. Writes nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from extapi.storage.base import KeyValue, Page
from extapi.storage.file import UnusableFile, check_readable
from extapi.storage.records import Reader, read_state

PATIENCE = 5.0
"""Seconds that a read waits for a writer that is in its way."""


class FileSnapshot:
    """One transaction that reads; close it. While it is open, the server's write-ahead log grows.

    Args:
        path: The file.

    Raises:
        UnusableFile: There is no store of this version of extapi in it, or it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_file():
            raise UnusableFile(f"{path}: there is no such file; name the one of the server's --storage")
        try:
            self._connection = sqlite3.connect(
                f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, timeout=PATIENCE, isolation_level=None
            )
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        try:
            self._connection.execute("PRAGMA trusted_schema = OFF")
            check_readable(self._connection, path)
            self._connection.execute("BEGIN")
            self.revision, self.oldest = read_state(self._connection)
        except BaseException as error:
            self._connection.close()
            if isinstance(error, sqlite3.Error):
                raise self._unusable(error) from error
            raise
        self._reader = Reader(self._connection)

    def get(self, key: bytes) -> KeyValue | None:
        """The value of a key.

        Raises:
            UnusableFile: The file cannot be read.
        """
        try:
            return self._reader.get(key, self.revision)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def page(self, prefix: bytes, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`.

        Raises:
            UnusableFile: The file cannot be read.
        """
        try:
            return self._reader.page(prefix, self.revision, after, limit)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        """Let the server have its log back."""
        self._connection.close()

    def _unusable(self, error: Exception) -> UnusableFile:
        return UnusableFile(f"{self._path}: cannot be read: {error}; check the file and its permissions")
