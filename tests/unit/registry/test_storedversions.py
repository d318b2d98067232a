"""A server never starts on objects that it cannot convert: behaviour J3."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi import Object
from extapi.api.definition import Kind, Version
from extapi.registry.served import ServedKind
from extapi.registry.storedversions import (
    PAGE,
    TOGETHER,
    UnknownStoredVersion,
    check_all_stored_versions,
    check_stored_versions,
)
from extapi.storage.memory import MemoryBackend

RECORD = b"/extapi/storedversions/g.example.com/things"
T = TypeVar("T")


class Thing(Object):
    pass


def kind(storage: str, *versions: str) -> ServedKind:
    return ServedKind(
        Kind("Thing", storage=storage, versions={name: Version(Thing) for name in versions}), "g.example.com"
    )


def now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine on a store in memory, which never waits."""
    results: list[Any] = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    (result,) = results
    if hasattr(result, "raiseException"):
        result.raiseException()
    found: T = result
    return found


@pytest.fixture
def store() -> MemoryBackend:
    return MemoryBackend(Clock())


def recorded(store: MemoryBackend) -> list[str]:
    entry = now(store.get(RECORD))
    assert entry is not None
    found: list[str] = msgspec.json.decode(entry.value)
    return found


def add(store: MemoryBackend, name: str, version: str) -> None:
    value = msgspec.json.encode({"apiVersion": f"g.example.com/{version}", "kind": "Thing", "metadata": {"name": name}})
    now(store.commit(f"/registry/g.example.com/things/default/{name}".encode(), value, expected=0))


def test_the_storage_version_is_recorded(store: MemoryBackend) -> None:
    now(check_stored_versions(store, kind("v1", "v1", "v2")))
    assert recorded(store) == ["v1"]


def test_versions_are_added(store: MemoryBackend) -> None:
    now(check_stored_versions(store, kind("v1", "v1", "v2")))
    now(check_stored_versions(store, kind("v2", "v1", "v2")))
    assert recorded(store) == ["v1", "v2"]


def test_nothing_is_written_where_nothing_changed(store: MemoryBackend) -> None:
    now(check_stored_versions(store, kind("v1", "v1")))
    before = now(store.revision())
    now(check_stored_versions(store, kind("v1", "v1")))
    assert now(store.revision()) == before


def test_a_version_that_objects_are_in_cannot_be_dropped(store: MemoryBackend) -> None:
    now(check_stored_versions(store, kind("v1", "v1")))
    for number in range(3):
        add(store, f"old-{number}", "v1")
    add(store, "new", "v2")
    with pytest.raises(UnknownStoredVersion, match=r"Thing\.g\.example\.com .*: 3 in v1; declare these versions again"):
        now(check_stored_versions(store, kind("v2", "v2")))
    assert recorded(store) == ["v1"]


def test_all_objects_are_counted(store: MemoryBackend) -> None:
    now(check_stored_versions(store, kind("v1", "v1")))
    for number in range(PAGE + 1):
        add(store, f"{number:05}", "v1" if number == PAGE else "v2")
    with pytest.raises(UnknownStoredVersion, match="1 in v1"):
        now(check_stored_versions(store, kind("v2", "v2")))


def test_a_version_that_no_object_is_in_is_taken_off(store: MemoryBackend) -> None:
    now(check_stored_versions(store, kind("v1", "v1")))
    add(store, "new", "v2")
    now(check_stored_versions(store, kind("v2", "v2")))
    assert recorded(store) == ["v2"]


class Contended(MemoryBackend):
    """Another process on the same store writes the record first."""

    beaten = False

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        if not self.beaten:
            self.beaten = True
            await super().commit(key, b'["v1"]', expected=expected)
        return await super().commit(key, value, expected=expected)


def test_another_process_may_be_faster() -> None:
    store = Contended(Clock())
    now(check_stored_versions(store, kind("v2", "v1", "v2")))
    assert recorded(store) == ["v1", "v2"]


def test_the_core_group_has_a_place_of_its_own(store: MemoryBackend) -> None:
    core = ServedKind(Kind("Thing", storage="v1", versions={"v1": Version(Thing)}), "")
    assert core.layout.prefix == b"/registry/core/things/"
    now(store.commit(b"/extapi/storedversions/core/things", b'["v0"]', expected=0))
    value = msgspec.json.encode({"apiVersion": "v0", "kind": "Thing", "metadata": {"name": "a"}})
    now(store.commit(b"/registry/core/things/default/a", value, expected=0))
    with pytest.raises(UnknownStoredVersion, match=r"the store holds objects of Thing in versions .*: 1 in v0;"):
        now(check_stored_versions(store, core))


class SlowStore(MemoryBackend):
    """A store that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__(Clock())
        self.asked: list[Deferred[None]] = []

    async def get(self, key: bytes) -> Any:
        self.asked.append(Deferred())
        await self.asked[-1]
        return await super().get(key)


def test_many_kinds_are_checked_together_but_not_all() -> None:
    """The writes of some hundred records, one after the other, are as many waits for the disk."""
    store = SlowStore()
    end: list[Any] = []
    kinds = [kind("v1", "v1")] * (TOGETHER - 1) + [kind("v2", "v2")] + [kind("v1", "v1")]
    now(store.commit(RECORD, b'["v1"]', expected=0))
    add(store, "old", "v1")
    checking = Deferred.fromCoroutine(check_all_stored_versions(store, kinds))
    checking.addErrback(lambda failure: end.append(failure.type))
    assert len(store.asked) == TOGETHER
    for each in store.asked[:]:
        each.callback(None)
    assert end == [UnknownStoredVersion]
    assert len(store.asked) == TOGETHER
