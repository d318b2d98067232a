"""What is left to do follows from the store and from the cluster. The steps themselves: tests/kubernetes/test_takeover.py."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.freeze import Freeze
from extapi.takeover.record import ImportRecord, write_record
from extapi.takeover.routing import Route
from extapi.takeover.switch import BY_HAND, Switch
from tests.unit.takeover.tables import cluster, now, status, table
from tests.unit.takeover.test_freeze import there
from tests.unit.takeover.test_routing import LOCAL, MOVED
from tests.unit.takeover.world import World

AT = "/apis/apiregistration.k8s.io/v1/apiservices"
V1, BETA = f"{AT}/v1.moving.example.com", f"{AT}/v1beta1.moving.example.com"


def switch(world: World, objects: dict[str, Any], **settings: Any) -> Switch:
    return Switch(cluster(table(objects), Clock()), [world.kind], world.path, Clock(), 0.0, **settings)


def remember(world: World, record: ImportRecord) -> None:
    world.run(write_record(world.store, world.kind, record))
    world.close_store()


def test_all_served_versions_move(world: World) -> None:
    group = "moving.example.com"
    made = switch(world, {V1: MOVED, BETA: LOCAL})
    assert made.routes == [Route(group, "v1"), Route(group, "v1beta1")]
    assert now(made.moved()) == [Route(group, "v1")]


def test_a_store_is_complete_while_its_freeze_lasts(world: World) -> None:
    frozen = there(Freeze(cluster({}), world.kind))
    assert not now(switch(world, frozen).is_complete())
    remember(world, ImportRecord("definition-1", 5))
    assert not now(switch(world, frozen).is_complete())
    remember(world, ImportRecord("definition-1", 5, "p/1/b/1", 1, 9))
    assert now(switch(world, frozen).is_complete())
    assert not now(switch(world, {}).is_complete())
    for each in frozen.values():
        each["metadata"]["generation"] = 2  # somebody has changed it, and perhaps let writes pass meanwhile
    assert not now(switch(world, frozen).is_complete())
    remember(world, ImportRecord("definition-2", 5, "p/2/b/2", 1, 9))
    assert not now(switch(world, frozen).is_complete())


def test_or_while_the_operator_says_so(world: World) -> None:
    remember(world, ImportRecord("definition-1", 5, BY_HAND, 1, 9))
    assert now(switch(world, {}, by_hand=True).is_complete())
    assert not now(switch(world, {}).is_complete())


def test_reads_show_who_serves(world: World) -> None:
    remember(world, ImportRecord("definition-1", 5000, "f", 1, 5001))
    resource = world.kind.resource
    path = resource.path()
    route = Route(resource.group, resource.version)

    def asked(*versions: int) -> int:
        """How often it asked until it knew."""
        answers: list[Any] = [{"metadata": {"resourceVersion": str(each)}, "items": []} for each in versions]
        kube = table({path: [status(404, "NotFound"), *answers], V1: MOVED})
        clock = Clock()
        made = Switch(cluster(kube, clock), [world.kind], world.path, clock, 0.0)
        now(made._answered(route, resource, 5000, moved=True), clock)
        return len([each for each in kube.requests if each.path == path])

    assert asked(5001, 5002, 5002) == 4
    assert asked(5001, 4000, 5002, 5002, 5002) == 6  # another kube-apiserver has not seen it yet


def test_a_server_that_does_not_answer_is_told_in_kube_apiservers_words(world: World) -> None:
    remember(world, ImportRecord("definition-1", 5000, "f", 1, 5001))
    condition = {"type": "Available", "status": "False", "message": "no response from https://10.0.0.1:443"}
    services = {V1: {**MOVED, "status": {"conditions": [condition]}}}
    objects = {world.kind.resource.path(): status(503, "ServiceUnavailable", "unavailable"), **services}
    clock = Clock()
    made = Switch(cluster(table(objects), clock), [world.kind], world.path, clock, 0.0)
    with pytest.raises(
        TakeoverFailure, match=r"v1.moving.example.com: no response from https://10.0.0.1:443. Put the ser"
    ):
        now(made._answered(made.routes[0], world.kind.resource, 5000, moved=True), clock)


def test_nothing_that_was_written_is_thrown_away(world: World) -> None:
    objects = {V1: MOVED, BETA: MOVED}
    with pytest.raises(TakeoverFailure, match=r"has no complete import of crates.moving.example.com"):
        now(switch(world, objects).abort())
    key = world.kind.served.layout.key("default", "one")
    revision = world.run(world.store.commit(key, b"1", expected=0))
    remember(world, ImportRecord("definition-1", 5, "f", 1, revision))
    world.run(world.store.commit(key, b"2", expected=revision))
    world.close_store()
    with pytest.raises(TakeoverFailure, match="1 writes have reached the new server"):
        now(switch(world, objects).abort())
