"""Strategies that hold deleted objects, and subresources that are a field, as those of namespaces (``registry/core/namespace``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi import CLUSTER, Group, Kind, Object, Strategy, Struct, Version
from extapi.api.definition import Api
from extapi.api.subresource import Subresource
from extapi.controlplane.builtin.behaviour import built_in
from extapi.testing import InMemoryServer, serve
from tests.unit.verbs.sample import failure

GROUP = "rooms.example.com"
ROOMS = f"/apis/{GROUP}/v1/rooms"
BOXES = f"/apis/{GROUP}/v1/boxes"
MERGE = {"Content-Type": "application/merge-patch+json"}


class RoomSpec(Struct):
    finalizers: list[str] = []  # noqa: RUF012 -- a field: msgspec copies the default


class RoomStatus(Struct):
    phase: str = ""


class Room(Object):
    spec: RoomSpec = RoomSpec()
    status: RoomStatus = RoomStatus()


class AlphaRoom(Object):
    open: list[str] = []  # noqa: RUF012 -- a field: msgspec copies the default
    state: str = ""


def to_room(alpha: AlphaRoom) -> Room:
    return Room(spec=RoomSpec(finalizers=alpha.open), status=RoomStatus(phase=alpha.state))


def from_room(room: Room) -> AlphaRoom:
    return AlphaRoom(open=room.spec.finalizers, state=room.status.phase)


class RoomStrategy(Strategy):
    def __init__(self) -> None:
        self.begun = 0

    def prepare(self, obj: Room, old: Room | None) -> None:
        if old is None:
            obj.spec.finalizers = ["kubernetes"]
            obj.status.phase = "Active"

    def prepare_for_deletion(self, obj: Room) -> None:
        self.begun += 1
        obj.status.phase = "Terminating"
        obj.metadata.deletion_grace_period_seconds = None

    def blocks_deletion(self, obj: Room) -> bool:
        return bool(obj.spec.finalizers)


class BoxStrategy(Strategy):
    """On plain dicts, and nothing to do when deletion begins."""

    def blocks_deletion(self, obj: dict[str, Any]) -> bool:
        return bool(obj.get("full"))


BOX = {"type": "object", "properties": {"full": {"type": "boolean"}, "seal": {"type": "string"}}}


@pytest.fixture
def strategy() -> RoomStrategy:
    return RoomStrategy()


@pytest.fixture
def server(strategy: RoomStrategy) -> Iterator[InMemoryServer]:
    room = Kind(
        "Room",
        storage="v1",
        scope=CLUSTER,
        hub=Room,
        versions={"v1": Version(Room), "v1alpha1": Version(AlphaRoom, to_hub=to_room, from_hub=from_room)},
        strategy=strategy,
        behaviour=built_in(),
        subresources={"finalize": Subresource(field="spec")},
    )
    box = Kind(
        "Box",
        plural="boxes",
        storage="v1",
        scope=CLUSTER,
        status=False,
        versions={"v1": Version(BOX)},
        strategy=BoxStrategy(),
        subresources={"seal": Subresource(field="seal")},
    )
    with serve(Api(Group(GROUP, room, box))) as server:
        yield server


def a_room(server: InMemoryServer, **metadata: Any) -> dict[str, Any]:
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Room", "metadata": {"name": "r", **metadata}}
    made: dict[str, Any] = server.request("POST", ROOMS, body=body).json()
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    return made


def a_box(server: InMemoryServer, **fields: Any) -> dict[str, Any]:
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Box", "metadata": {"name": "b"}, **fields}
    made: dict[str, Any] = server.request("POST", BOXES, body=body).json()
    return made


def there(server: InMemoryServer, path: str = f"{ROOMS}/r") -> bool:
    return server.request("GET", path).status == 200


# -- prepare_for_deletion and blocks_deletion


def test_an_object_that_is_held_is_marked_and_adjusted(server: InMemoryServer) -> None:
    made = a_room(server)
    answer = server.request("DELETE", f"{ROOMS}/r")
    # As a namespace on 1.36.3: 200 with the object, deletionTimestamp, no grace period, no finalizers in metadata.
    assert answer.status == 200
    left = answer.json()
    assert left["kind"] == "Room"
    assert left["status"] == {"phase": "Terminating"}
    assert left["metadata"]["deletionTimestamp"] == made["metadata"]["creationTimestamp"]
    assert left["metadata"].keys() - made["metadata"].keys() == {"deletionTimestamp"}
    assert server.request("GET", f"{ROOMS}/r").json() == left


def test_deletion_begins_once(server: InMemoryServer, strategy: RoomStrategy) -> None:
    a_room(server)
    first = server.request("DELETE", f"{ROOMS}/r").json()
    server.advance(5)
    second = server.request("DELETE", f"{ROOMS}/r")
    assert second.status == 200
    assert second.json() == first
    assert strategy.begun == 1


def test_a_dry_run_marks_nothing(server: InMemoryServer) -> None:
    made = a_room(server)
    assert server.request("DELETE", f"{ROOMS}/r", {"dryRun": "All"}).json()["status"] == {"phase": "Terminating"}
    assert server.request("GET", f"{ROOMS}/r").json() == made


def test_deletion_begins_in_the_hub_form_whatever_the_version(server: InMemoryServer) -> None:
    a_room(server)
    left = server.request("DELETE", f"/apis/{GROUP}/v1alpha1/rooms/r").json()
    assert left["state"] == "Terminating"
    assert server.request("GET", f"{ROOMS}/r").json()["status"] == {"phase": "Terminating"}


def test_a_write_through_a_subresource_that_lets_go_takes_the_object_away(server: InMemoryServer) -> None:
    a_room(server)
    left = server.request("DELETE", f"{ROOMS}/r").json()
    watch = server.watch(ROOMS, {"watch": "true", "resourceVersion": left["metadata"]["resourceVersion"]})
    answer = server.request("PUT", f"{ROOMS}/r/finalize", body={**left, "spec": {}})
    assert answer.status == 200
    assert not there(server)
    server.advance(1)
    assert [kind for kind, _ in watch.events] == ["DELETED"]


def test_a_write_that_lets_go_of_an_object_that_is_not_deleted_keeps_it(server: InMemoryServer) -> None:
    made = a_room(server)
    assert server.request("PUT", f"{ROOMS}/r/finalize", body={**made, "spec": {}}).status == 200
    assert server.request("GET", f"{ROOMS}/r").json()["spec"] == {}


def test_finalizers_hold_longer_than_the_strategy(server: InMemoryServer) -> None:
    a_room(server, finalizers=["example.com/x"])
    left = server.request("DELETE", f"{ROOMS}/r").json()
    server.request("PUT", f"{ROOMS}/r/finalize", body={**left, "spec": {}})
    assert there(server)
    server.request("PATCH", f"{ROOMS}/r", {}, MERGE, {"metadata": {"finalizers": None}})
    assert not there(server)


def test_the_strategy_holds_longer_than_finalizers(server: InMemoryServer) -> None:
    a_room(server, finalizers=["example.com/x"])
    server.request("DELETE", f"{ROOMS}/r")
    server.request("PATCH", f"{ROOMS}/r", {}, MERGE, {"metadata": {"finalizers": None}})
    assert there(server)
    server.request("PATCH", f"{ROOMS}/r/finalize", {}, MERGE, {"spec": {"finalizers": None}})
    assert not there(server)


def test_a_policy_changes_the_finalizers_with_the_first_delete_only(server: InMemoryServer) -> None:
    a_room(server, finalizers=["example.com/x"])
    left = server.request("DELETE", f"{ROOMS}/r", {"propagationPolicy": "Foreground"}).json()
    assert left["metadata"]["finalizers"] == ["example.com/x", "foregroundDeletion"]
    # A namespace of 1.36.3 that is terminating and has spec.finalizers comes back as it is.
    assert server.request("DELETE", f"{ROOMS}/r", {"propagationPolicy": "Background"}).json() == left


@pytest.mark.parametrize("policy", ["Foreground", "Orphan", ""])
def test_a_kind_that_owns_nothing_waits_for_no_dependents(policy: str) -> None:
    """``DefaultGarbageCollectionPolicy`` of events is ``Unsupported``: neither the policy nor a finalizer counts."""
    kind = Kind(
        "Box", plural="boxes", versions={"v1": Version(Room)}, storage="v1", behaviour=built_in(propagates=False)
    )
    with serve(Api(Group(GROUP, kind))) as server:
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Box", "metadata": {"name": "b", "finalizers": ["orphan"]}}
        path = f"/apis/{GROUP}/v1/namespaces/default/boxes"
        made = server.request("POST", path, body=body)
        assert made.status == 201, made.body
        options = {"propagationPolicy": policy} if policy else {}
        assert server.request("DELETE", f"{path}/b", body=options).json()["status"] == "Success"
        assert server.request("GET", f"{path}/b").status == 404


def test_a_second_delete_checks_its_preconditions(server: InMemoryServer) -> None:
    a_room(server)
    server.request("DELETE", f"{ROOMS}/r")
    assert server.request("DELETE", f"{ROOMS}/r", body={"preconditions": {"uid": "other"}}).status == 409


def test_a_delete_takes_away_what_is_marked_and_not_held_any_more(
    server: InMemoryServer, strategy: RoomStrategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_room(server)
    server.request("DELETE", f"{ROOMS}/r")
    monkeypatch.setattr(RoomStrategy, "blocks_deletion", lambda *_: False)
    assert server.request("DELETE", f"{ROOMS}/r").json()["kind"] == "Status"
    assert not there(server)
    assert strategy.begun == 1


def test_what_nothing_holds_goes_at_once(server: InMemoryServer) -> None:
    a_box(server)
    assert server.request("DELETE", f"{BOXES}/b").json()["kind"] == "Status"
    assert not there(server, f"{BOXES}/b")


def test_a_strategy_on_dicts_holds_too(server: InMemoryServer) -> None:
    a_box(server, full=True)
    left = server.request("DELETE", f"{BOXES}/b").json()
    assert left["metadata"]["deletionGracePeriodSeconds"] == 0
    assert left["metadata"]["generation"] == 2
    server.request("PATCH", f"{BOXES}/b", {}, MERGE, {"full": False})
    assert not there(server, f"{BOXES}/b")


# -- parts


def test_a_part_changes_its_field_and_nothing_else(server: InMemoryServer) -> None:
    made = a_box(server, full=True, seal="red")
    body = {**made, "full": False, "seal": "blue", "metadata": {**made["metadata"], "labels": {"a": "b"}}}
    answer = server.request("PUT", f"{BOXES}/b/seal", body=body)
    assert answer.status == 200
    changed = answer.json()
    assert (changed["full"], changed["seal"]) == (True, "blue")
    assert "labels" not in changed["metadata"]
    assert changed["metadata"]["generation"] == 2
    assert server.request("GET", f"{BOXES}/b/seal").json() == changed
    gone = server.request("PATCH", f"{BOXES}/b/seal", {}, MERGE, {"seal": None, "full": None}).json()
    assert "seal" not in gone
    assert gone["full"] is True


def test_a_stale_part_is_a_conflict(server: InMemoryServer) -> None:
    made = a_box(server, seal="red")
    server.request("PATCH", f"{BOXES}/b/seal", {}, MERGE, {"seal": "blue"})
    answer = server.request("PUT", f"{BOXES}/b/seal", body={**made, "seal": "green"})
    assert answer.status == 409
    assert "the object has been modified" in failure(answer)["message"]


def test_the_strategy_does_not_prepare_a_part(server: InMemoryServer) -> None:
    made = a_room(server)
    changed = server.request("PUT", f"{ROOMS}/r/finalize", body={**made, "spec": {"finalizers": ["a/b"]}}).json()
    assert changed["spec"] == {"finalizers": ["a/b"]}
    assert changed["status"] == made["status"]
