"""The copy has what the server would have stored, byte for byte, at revisions that no client of the cluster can have."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.registry.storedversions import record_key as versions_key
from extapi.storage.base import Compacted
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.moved import moved
from extapi.takeover.record import read_record
from extapi.takeover.replica import MARGIN, Replica, together
from tests.kubernetes.moving import GROUP, PLURAL
from tests.unit.takeover.world import CRATES, LIVE, World


def prepared(world: World, version: int = 1000) -> Replica:
    replica = Replica(world.store, world.kind)
    world.run(replica.prepare(version))
    return replica


def listed(world: World) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = world.run(world.client.list(CRATES))["items"]
    return items


def test_objects_are_stored_as_the_server_stores_them(world: World) -> None:
    world.create("one", labels={"a": "b"}, annotations={"a": "<ü&>"}, finalizers=["example.com/keep"])
    world.patch("one", {"status": {"weighed": 3}}, subresource="status")
    world.create("two", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}])
    world.delete("one")  # it stays, with a deletionTimestamp
    replica = prepared(world)
    world.run(together(replica.put(obj) for obj in listed(world)))
    assert world.copied_bytes() == world.live_bytes()
    assert all(b"managedFields" in value for value in world.copied_bytes().values())
    assert world.run(replica.count()) == 2


def test_what_is_there_is_not_written_again(world: World) -> None:
    world.create("one")
    replica = prepared(world)
    (obj,) = listed(world)
    world.run(replica.put(obj))
    world.run(replica.put(obj))
    again = prepared(world)  # another run, which remembers nothing
    world.run(again.put(obj))
    assert (replica.written, again.written) == (1, 0)
    world.patch("one", {"spec": {"step": 2}})
    world.run(again.put(listed(world)[0]))
    assert again.written == 1
    assert world.copied_bytes() == world.live_bytes()


def test_objects_that_are_gone_are_deleted(world: World) -> None:
    for name in ("a", "b", "c"):
        world.create(name)
    replica = prepared(world)
    objects = listed(world)
    world.run(together(replica.put(obj) for obj in objects))
    world.run(replica.keep_only({world.kind.key(objects[1])}))
    assert set(world.copied_bytes()) == {world.kind.key(objects[1])}
    world.run(replica.remove(world.kind.key(objects[1])))
    world.run(replica.remove(world.kind.key(objects[1])))
    assert world.run(replica.count()) == 0
    world.run(replica.put(objects[1]))  # it came back as it was
    assert world.run(replica.count()) == 1


def test_no_resource_version_of_the_cluster_is_one_of_the_store(world: World) -> None:
    world.create("one")
    replica = prepared(world, 1000)
    world.run(replica.put(listed(world)[0]))
    entry = world.run(world.store.get(world.kind.key(listed(world)[0])))
    assert entry is not None
    assert entry.revision > 1000 + MARGIN
    assert world.run(world.store.oldest()) == 1000 + MARGIN
    with pytest.raises(Compacted):
        world.run(world.store.page(b"", at=1000, after=b"", limit=1))
    world.close_store()  # a store that is opened again has forgotten none of this
    assert world.run(world.store.oldest()) == 1000 + MARGIN
    assert world.run(world.store.revision()) == entry.revision


def test_a_cluster_that_has_caught_up_is_refused(world: World) -> None:
    prepared(world, 1000)
    with pytest.raises(TakeoverFailure, match=r"an old one could be taken for a current one. Import into a new store"):
        prepared(world, 1000 + MARGIN)


def test_another_run_goes_on(world: World) -> None:
    first = world.run(Replica(world.store, world.kind).prepare(1000))
    world.close_store()
    assert world.run(Replica(world.store, world.kind).prepare(2000)) == first
    assert world.run(read_record(world.store, world.kind)) == first


def test_an_import_of_another_definition_is_not_overwritten(world: World) -> None:
    prepared(world)
    world.kind = moved({**LIVE, "metadata": {**LIVE["metadata"], "uid": "definition-2"}})
    with pytest.raises(TakeoverFailure, match=r"uid definition-1, now definition-2.*Import into a new store"):
        prepared(world)


def test_objects_from_somewhere_else_are_not_overwritten(world: World) -> None:
    key = world.kind.served.layout.key("default", "mine")
    world.run(world.store.commit(key, b'{"apiVersion":"moving.example.com/v1"}', expected=0))
    with pytest.raises(TakeoverFailure, match=r"the store has 1 objects of crates.moving.example.com already"):
        prepared(world)


def test_the_stored_version_is_recorded(world: World) -> None:
    prepared(world)
    entry = world.run(world.store.get(versions_key(GROUP, PLURAL)))
    assert entry is not None
    assert entry.value == b'["v1"]'
