"""The way back: the definition's objects become what the store has, as far as the API allows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from extapi.client.kube import Obj
from extapi.takeover.replica import Replica, together
from extapi.takeover.restoring import FORMER, Restoration
from tests.unit.takeover.world import CRATES, World

Change = Callable[[Obj], None]


def copied(world: World) -> None:
    """The store has what the live server has, as on the day of the switch."""
    replica = Replica(world.store, world.kind)
    world.run(replica.prepare(1000))
    items = world.run(world.client.list(CRATES))["items"]
    world.run(together(replica.put(obj) for obj in items))


def change(world: World, name: str, changes: Change) -> None:
    """The extension server writes an object."""
    key = world.kind.served.layout.key("default", name)
    entry = world.run(world.store.get(key))
    obj = json.loads(entry.value) if entry is not None else fresh(name)
    changes(obj)
    world.run(world.store.commit(key, json.dumps(obj).encode(), expected=entry.revision if entry else 0))


def fresh(name: str) -> Obj:
    """An object that the extension server has created."""
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-of-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "generation": 4,
        "labels": {"made": "there"},
    }
    return {
        "apiVersion": "moving.example.com/v1",
        "kind": "Crate",
        "metadata": metadata,
        "spec": {"step": 7, "note": "new"},
    }


def delete(world: World, name: str) -> None:
    """The extension server deletes an object."""
    key = world.kind.served.layout.key("default", name)
    entry = world.run(world.store.get(key))
    assert entry is not None
    world.run(world.store.commit(key, None, expected=entry.revision))


def restored(world: World) -> Restoration:
    restoration = Restoration(world.cluster, world.kind, world.store)
    world.run(restoration.run())
    assert restoration.outcome.failures == []
    assert world.run(restoration.differing()) == []
    return restoration


def counts(restoration: Restoration) -> tuple[int, int, int, int]:
    outcome = restoration.outcome
    return outcome.created, outcome.updated, outcome.deleted, outcome.unchanged


def test_nothing_is_written_where_nothing_differs(world: World) -> None:
    world.create("one")
    copied(world)
    before = world.get("one")
    assert counts(restored(world)) == (0, 0, 0, 1)
    assert world.get("one") == before


def test_what_was_changed_is_updated_in_place(world: World) -> None:
    before = world.create("one", finalizers=["example.com/a"])
    copied(world)

    def changes(obj: Obj) -> None:
        obj["spec"]["step"] = 5
        obj["status"] = {"weighed": 9}
        obj["metadata"]["labels"] = {"new": "label"}
        obj["metadata"]["finalizers"] = ["example.com/b"]
        obj["metadata"]["managedFields"][0]["manager"] = "somebody"

    change(world, "one", changes)
    assert counts(restored(world)) == (0, 1, 0, 0)
    after = world.get("one")
    assert (after["spec"]["step"], after["status"]) == (5, {"weighed": 9})
    assert after["metadata"]["labels"] == {"new": "label"}
    assert after["metadata"]["finalizers"] == ["example.com/b"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["creationTimestamp"] == before["metadata"]["creationTimestamp"]
    # Not the exporter: who wrote it there.
    assert [each["manager"] for each in after["metadata"]["managedFields"]] == ["somebody"]
    assert counts(restored(world)) == (0, 0, 0, 1)


def test_what_is_new_is_created_and_says_who_it_was(world: World) -> None:
    copied(world)
    change(world, "new", lambda obj: obj.update(status={"weighed": 1}))
    restoration = restored(world)
    assert counts(restoration) == (1, 0, 0, 0)
    assert restoration.outcome.new_uids == ["default/new"]
    made = world.get("new")
    assert (made["spec"], made["status"]) == ({"step": 7, "note": "new"}, {"weighed": 1})
    assert made["metadata"]["uid"] != "uid-of-new"
    assert made["metadata"]["annotations"] == {FORMER: "uid-of-new"}
    # Another run knows it, also where the server has changed it since.
    assert counts(restored(world))[0] == 0
    change(world, "new", lambda obj: obj["spec"].update(step=8))
    assert counts(restored(world)) == (0, 1, 0, 0)
    assert world.get("new")["metadata"]["annotations"] == {FORMER: "uid-of-new"}
    assert world.get("new")["metadata"]["uid"] == made["metadata"]["uid"]


def test_what_is_gone_is_deleted_with_its_finalizers(world: World) -> None:
    for name in ("one", "two", "three"):
        world.create(name, finalizers=["example.com/keep"] if name != "three" else [])
    world.delete("two")  # it was being deleted when the switch was made
    copied(world)
    for name in ("one", "two", "three"):
        delete(world, name)
    assert counts(restored(world)) == (0, 0, 3, 0)
    assert world.live_bytes() == {}


def test_another_object_of_the_same_name_is_another_object(world: World) -> None:
    world.create("one", finalizers=["example.com/keep"])
    copied(world)
    change(world, "one", lambda obj: obj["metadata"].update(uid="uid-of-another"))
    restoration = restored(world)
    assert counts(restoration) == (1, 0, 0, 0)
    assert world.get("one")["metadata"]["annotations"] == {FORMER: "uid-of-another"}


def test_what_is_being_deleted_is_being_deleted_again(world: World) -> None:
    world.create("one", finalizers=["example.com/keep"])
    copied(world)
    change(world, "one", lambda obj: obj["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"))
    assert counts(restored(world)) == (0, 1, 0, 0)
    assert "deletionTimestamp" in world.get("one")["metadata"]
    assert counts(restored(world)) == (0, 0, 0, 1)


def test_what_is_refused_is_told_and_the_rest_goes_on(world: World) -> None:
    world.create("good")
    world.create("wrong")
    copied(world)
    change(world, "good", lambda obj: obj["spec"].update(step=2))
    change(world, "wrong", lambda obj: obj["spec"].update(step="no number"))
    restoration = Restoration(world.cluster, world.kind, world.store)
    reported: list[tuple[int, int]] = []
    world.run(restoration.run(lambda done, total: reported.append((done, total))))
    (failure,) = restoration.outcome.failures
    assert failure.startswith("default/wrong: 422 ")
    assert world.get("good")["spec"]["step"] == 2
    assert world.run(restoration.differing()) == ["default/wrong"]
    assert reported == [(2, 2)]
    assert restoration.outcome.total == 2


@pytest.mark.parametrize("version", ["v1beta1"])
def test_an_object_is_written_in_the_version_in_which_it_is_stored(world: World, version: str) -> None:
    world.create("one")
    copied(world)

    def changes(obj: Any) -> None:
        obj["apiVersion"] = f"moving.example.com/{version}"
        obj["spec"]["step"] = 3

    change(world, "one", changes)
    assert counts(restored(world)) == (0, 1, 0, 0)
    assert world.get("one")["spec"]["step"] == 3
