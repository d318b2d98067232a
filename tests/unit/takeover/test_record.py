"""What a store remembers of an import, read with and without its lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.record import (
    ImportRecord,
    changed_since,
    peek,
    peek_record,
    read_record,
    record_key,
    store_path,
    write_record,
)
from tests.unit.takeover.world import World


def test_a_record_is_read_while_another_process_has_the_store(world: World) -> None:
    assert peek_record(world.path, world.kind) is None  # there is no file yet
    world.run(world.store.revision())
    assert peek_record(world.path, world.kind) is None
    for record in (ImportRecord("u", 5), ImportRecord("u", 5, "freeze", 2, 9)):
        world.run(write_record(world.store, world.kind, record))
        assert world.run(read_record(world.store, world.kind)) == record
        assert peek_record(world.path, world.kind) == record
    world.close_store()
    assert peek_record(world.path, world.kind) == record
    world.run(world.store.commit(record_key(world.kind), None, expected=world.run(world.store.revision())))
    assert peek(world.path, record_key(world.kind)) is None


def test_later_writes_of_the_kind_are_counted(world: World) -> None:
    key = world.kind.served.layout.key("default", "one")
    first = world.run(world.store.commit(key, b"1", expected=0))
    second = world.run(world.store.commit(key, b"2", expected=first))
    world.run(world.store.commit(b"/registry/moving.example.com/others/x", b"3", expected=0))
    assert [changed_since(world.path, world.kind, each) for each in (0, first, second)] == [2, 1, 0]
    world.run(world.store.commit(key, None, expected=second))
    assert changed_since(world.path, world.kind, second) == 1


def test_a_file_that_is_no_store_is_told(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no database, but long enough to be read as the header of one" * 20)
    with pytest.raises(TakeoverFailure, match="cannot be read: file is not a database"):
        peek(path, b"k")


def test_a_store_has_to_outlive_the_command() -> None:
    assert store_path("sqlite:///a.db") == Path("a.db")
    with pytest.raises(TakeoverFailure, match="memory: ends with its process"):
        store_path("memory:")
    with pytest.raises(TakeoverFailure, match="expected memory: or sqlite"):
        store_path("etcd://x")
