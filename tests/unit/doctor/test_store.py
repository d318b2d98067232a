"""The store is one of ours, and open in another place at the same time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import msgspec
import pytest

from extapi.api.definition import Kind, Version
from extapi.api.types import Object
from extapi.doctor.facts import StoredVersions
from extapi.doctor.store import read_store
from extapi.privatereactor import drive, private_reactor
from extapi.registry.served import ServedKind
from extapi.registry.storedversions import check_stored_versions
from extapi.storage.base import Backend
from extapi.storage.sqlite import SqliteBackend

GROUP = "g.example.com"


class Thing(Object):
    pass


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """With 2 things in v1, 1 in v2, one that was deleted and one that was written twice; and a kind of the core group."""
    path = tmp_path / "a store%20.db"
    with private_reactor() as reactor:
        store = SqliteBackend(reactor, path)
        drive(reactor, _fill(store))
        yield path
        drive(reactor, store.close())


async def _fill(store: Backend) -> None:
    for group in (GROUP, ""):
        kind = Kind("Thing", storage="v1", versions={"v1": Version(Thing)})
        await check_stored_versions(store, ServedKind(kind, group))
    both = Kind("Thing", storage="v2", versions={"v1": Version(Thing), "v2": Version(Thing)})
    await check_stored_versions(store, ServedKind(both, GROUP))
    revisions = {}
    for name, version in (("a", "v1"), ("b", "v1"), ("c", "v2"), ("gone", "v1")):
        revisions[name] = await store.commit(_key(name), _thing(version), expected=0)
    await store.commit(_key("gone"), None, expected=revisions["gone"])
    await store.commit(_key("a"), _thing("v1"), expected=revisions["a"])
    await store.commit(b"/registry/g.example.com/thingsome/x/y", _thing("v7"), expected=0)


def _key(name: str) -> bytes:
    return f"/registry/{GROUP}/things/default/{name}".encode()


def _thing(version: str) -> bytes:
    return msgspec.json.encode({"apiVersion": f"{GROUP}/{version}", "kind": "Thing"})


def read(path: Path) -> StoredVersions:
    return read_store(f"sqlite:///{path}", seconds=30)


def test_what_is_on_record_and_what_is_there(path: Path) -> None:
    found = read(path)
    assert found.failure == ""
    assert found.recorded == {(GROUP, "things"): ["v1", "v2"], ("", "things"): ["v1"]}
    assert found.counts == {(GROUP, "things"): {"v1": 2, "v2": 1}, ("", "things"): {}}
    assert found.complete


def test_counting_ends_when_the_time_is_over(path: Path) -> None:
    ticks = count(0.0)
    found = read_store(f"sqlite:///{path}", seconds=0.5, timer=lambda: next(ticks))
    assert not found.complete
    assert sum(found.counts[GROUP, "things"].values()) == 1


def test_nothing_is_written_and_nobody_is_locked_out(path: Path) -> None:
    before = {each.name for each in path.parent.iterdir()}
    read(path)
    assert {each.name for each in path.parent.iterdir()} == before


def test_what_cannot_be_read(tmp_path: Path) -> None:
    assert "only its server can read" in read_store("memory:", seconds=1).failure
    assert f"there is no file {tmp_path / 'x'}" in read(tmp_path / "x").failure
    text = tmp_path / "text"
    text.write_text("no database" * 200)
    assert "cannot be read" in read(text).failure
    other = tmp_path / "other"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    assert "is not a store of this version of extapi" in read(other).failure
