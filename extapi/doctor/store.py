"""The stored versions of an SQLite store, read without its lock, so also while a server has it open. Writes nothing.

The file format is that of :mod:`extapi.storage.file`, the record that of :mod:`extapi.registry.storedversions`.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import msgspec

from extapi.doctor.facts import StoredVersions
from extapi.storage.file import APPLICATION, VERSION
from extapi.storage.keys import CORE, resource_prefix
from extapi.storage.url import parse_url

RECORDS = "/extapi/storedversions/"
_LIVE = """
SELECT key, value FROM log AS row WHERE key >= ? AND key < ? AND dead = 0
AND revision = (SELECT max(revision) FROM log WHERE key = row.key) ORDER BY key
"""
"""The live keys below a prefix."""


def read_store(url: str, *, seconds: float, timer: Callable[[], float] = time.monotonic) -> StoredVersions:
    """What the store at ``url`` holds, read within ``seconds``.

    Raises:
        ValueError: ``url`` is not the URL of a store.
    """
    path = parse_url(url)
    if not path:
        return StoredVersions(url, failure="memory: is a store that only its server can read")
    if not Path(path).is_file():
        return StoredVersions(url, failure=f"there is no file {path}; name the one of the server's --storage")
    uri = f"file:{quote(str(Path(path).resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=seconds)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            if _pragma(connection, "application_id") != APPLICATION or _pragma(connection, "user_version") != VERSION:
                return StoredVersions(url, failure=f"{path} is not a store of this version of extapi")
            return _read(connection, url, timer() + seconds, timer)
    except (sqlite3.Error, msgspec.DecodeError) as error:
        return StoredVersions(url, failure=f"{path} cannot be read: {error}")


def _read(connection: sqlite3.Connection, url: str, deadline: float, timer: Callable[[], float]) -> StoredVersions:
    recorded: dict[tuple[str, str], list[str]] = {}
    for key, value in connection.execute(_LIVE, _range(RECORDS.encode())):
        group, _, plural = bytes(key).decode().removeprefix(RECORDS).rpartition("/")
        recorded["" if group == CORE else group, plural] = msgspec.json.decode(value, type=list[str])
    counts: dict[tuple[str, str], Counter[str]] = {kind: Counter() for kind in recorded}
    complete = True
    for kind, counted in counts.items():
        for _, value in connection.execute(_LIVE, _range(resource_prefix(*kind))):
            counted[msgspec.json.decode(value, type=VersionedValue).api_version.rpartition("/")[2]] += 1
            if timer() > deadline:
                complete = False
                break
    return StoredVersions(url, recorded, counts, complete)


def _range(prefix: bytes) -> tuple[bytes, bytes]:
    """All keys with a prefix that ends in a slash: ``0`` comes after it."""
    return prefix, prefix[:-1] + b"0"


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


class VersionedValue(msgspec.Struct):
    """The apiVersion of an object, and nothing else."""

    api_version: str = msgspec.field(name="apiVersion")
