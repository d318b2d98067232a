"""What is read: at one revision, whatever a server writes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.console.failure import CommandFailure
from extapi.privatereactor import drive, private_reactor
from extapi.registry import replicarecord
from extapi.storage import filling, probe
from extapi.storage.file import UnusableFile
from extapi.storage.sqlite import SqliteBackend
from extapi.storetool.source import PAGE, BackupSource, Source, StoreSource, store_path
from extapi.storetool.writing import write_backup


@pytest.fixture
def reactor() -> Iterator[Any]:
    with private_reactor() as made:
        yield made


@pytest.fixture
def store(reactor: Any, tmp_path: Path) -> Iterator[SqliteBackend]:
    """One that stays open, as in a server."""
    made = SqliteBackend(reactor, tmp_path / "store.db")
    for number in range(PAGE + 3):
        drive(reactor, made.commit(b"/k/%04d" % number, b"%d" % number, expected=0))
    drive(reactor, made.commit(probe.KEY, b"", expected=0))
    yield made
    drive(reactor, made.close())


async def read(source: Source) -> dict[bytes, bytes]:
    return {key: value async for key, value, _ in source.entries()}


def test_one_revision_is_read_while_the_store_is_open_and_written(
    reactor: Any, store: SqliteBackend, tmp_path: Path
) -> None:
    source = StoreSource(f"sqlite:///{tmp_path / 'store.db'}")
    assert source.revision == drive(reactor, store.revision())
    entry = drive(reactor, store.get(b"/k/0000"))
    assert entry is not None
    drive(reactor, store.commit(b"/k/0000", None, expected=entry.revision))
    now = drive(reactor, store.commit(b"/zzz", b"new", expected=0))
    drive(reactor, store.compact(now, expected=drive(reactor, store.oldest())))
    assert drive(reactor, read(source)) == {b"/k/%04d" % number: b"%d" % number for number in range(PAGE + 3)}
    source.close()


def test_records_of_servers_stay_where_they_are(reactor: Any, store: SqliteBackend, tmp_path: Path) -> None:
    """Elsewhere they would be those of servers that nobody sees again."""
    drive(reactor, store.commit(replicarecord.PREFIX + b"pod-1_00", b"{}", expected=0))
    source = StoreSource(f"sqlite:///{tmp_path / 'store.db'}")
    assert set(drive(reactor, read(source))) == {b"/k/%04d" % number for number in range(PAGE + 3)}
    source.close()


def test_a_backup_has_what_the_store_has(reactor: Any, store: SqliteBackend, tmp_path: Path) -> None:
    del store
    source, path = StoreSource(f"sqlite:///{tmp_path / 'store.db'}"), tmp_path / "backup"
    seen: list[int] = []
    written = drive(reactor, write_backup(source, path, 1767323045.0, lambda done, _: seen.append(done), replace=False))
    assert (written, seen[-1], path.stat().st_mode & 0o777) == (PAGE + 3, PAGE + 3, 0o600)
    backup = BackupSource(path)
    assert drive(reactor, read(backup)) == drive(reactor, read(source))
    assert (backup.revision, backup.name) == (
        source.revision,
        f"{path}, a backup of {source.name} at 2026-01-02T03:04:05Z",
    )
    with pytest.raises(CommandFailure, match="exists; name another file, or give --replace"):
        drive(reactor, write_backup(source, path, 0, lambda *_: None, replace=False))
    assert drive(reactor, write_backup(source, path, 0, lambda *_: None, replace=True)) == PAGE + 3
    assert sorted(each.name for each in tmp_path.iterdir() if "backup" in each.name) == ["backup"]
    with pytest.raises(CommandFailure, match="cannot be written: No such file or directory"):
        drive(reactor, write_backup(source, tmp_path / "none" / "x", 0, lambda *_: None, replace=False))
    source.close()


def test_what_is_being_filled_is_no_source(reactor: Any, store: SqliteBackend, tmp_path: Path) -> None:
    drive(reactor, store.commit(filling.KEY, b"elsewhere", expected=0))
    with pytest.raises(CommandFailure, match="has only a part of what it is being filled with from elsewhere"):
        StoreSource(f"sqlite:///{tmp_path / 'store.db'}")


def test_what_is_no_store(tmp_path: Path) -> None:
    text, empty = tmp_path / "text", tmp_path / "empty"
    text.write_text("no database, but long enough to be read as the header of one" * 20)
    empty.touch()
    for url, why in (
        (f"sqlite:///{tmp_path / 'none'}", "there is no such file"),
        (f"sqlite:///{text}", "cannot be read: file is not a database"),
        (f"sqlite:///{empty}", "another application's SQLite file"),
    ):
        with pytest.raises(UnusableFile, match=why):
            StoreSource(url)
    for url, why in (("memory:", "memory: ends with its process"), ("etcd://x", "expected memory: or sqlite")):
        with pytest.raises(CommandFailure, match=why):
            store_path(url)
