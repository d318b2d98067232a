"""What the store remembers of an import: of which definition, above which revision, and whether the frozen state is in it.

The record is a value in the store itself, so that both are as old as each other after a crash. It is read without the
store's lock as well: by then the server has it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import msgspec

from extapi.storage.base import Backend
from extapi.storage.keys import CORE
from extapi.storage.url import ETCD, lasting_path
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.moved import MovedKind

_PATIENCE = 5.0
"""Seconds that a read waits while the server writes."""


class ImportRecord(msgspec.Struct, frozen=True):
    """The state of an import."""

    definition: str
    """The uid of the CustomResourceDefinition."""
    floor: int
    """All revisions of the store's objects are greater; all resourceVersions of the cluster were less."""
    freeze: str = ""
    """The freeze under which the whole state was copied; empty until then."""
    count: int = 0
    """How many objects that were."""
    revision: int = 0
    """The store's revision then."""


def record_key(kind: MovedKind) -> bytes:
    """The key of the record."""
    return f"/extapi/import/{kind.definition.group or CORE}/{kind.definition.plural}".encode()


async def read_record(backend: Backend, kind: MovedKind) -> ImportRecord | None:
    """The record of a kind; None if nothing of it was imported."""
    entry = await backend.get(record_key(kind))
    return None if entry is None else msgspec.json.decode(entry.value, type=ImportRecord)


async def write_record(backend: Backend, kind: MovedKind, record: ImportRecord) -> None:
    """Replace the record of a kind."""
    key = record_key(kind)
    entry = await backend.get(key)
    await backend.commit(key, msgspec.json.encode(record), expected=entry.revision if entry else 0)


def store_path(url: str) -> Path:
    """The file of a store.

    Raises:
        TakeoverFailure: The URL names none that outlives the process, or one that no import works on.
    """
    if url == ETCD:
        raise TakeoverFailure(
            "import and export work on a store in a file: import into sqlite:///PATH and move that with "
            "'extapi storage copy --from sqlite:///PATH --to etcd:', or copy the other way before an export"
        )
    try:
        return Path(lasting_path(url))
    except ValueError as error:
        raise TakeoverFailure(str(error)) from error


def peek(path: Path, key: bytes) -> tuple[bytes, int] | None:
    """The value and the revision of a key, read without the store's lock; None if there is no store or no key.

    Raises:
        TakeoverFailure: The file cannot be read.
    """
    rows = _read(path, "SELECT value, revision FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1", (key,))
    return (bytes(rows[0][0]), int(rows[0][1])) if rows and rows[0][0] is not None else None


def peek_record(path: Path, kind: MovedKind) -> ImportRecord | None:
    """As :func:`read_record`, without the store's lock."""
    found = peek(path, record_key(kind))
    return None if found is None else msgspec.json.decode(found[0], type=ImportRecord)


def changed_since(path: Path, kind: MovedKind, revision: int) -> int:
    """How many writes of the kind's objects came after a revision; read without the store's lock."""
    prefix = kind.served.layout.prefix
    rows = _read(
        path,
        "SELECT count(*) FROM log WHERE key >= ? AND key < ? AND revision > ?",
        (prefix, prefix[:-1] + b"0", revision),
    )
    return int(rows[0][0]) if rows else 0


def _read(path: Path, statement: str, values: tuple[bytes | int, ...]) -> list[tuple[bytes, int]]:
    if not path.is_file():
        return []
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'log'").fetchone()
            return connection.execute(statement, values).fetchall() if tables else []
    except sqlite3.Error as error:
        raise TakeoverFailure(f"{path} cannot be read: {error}") from error
