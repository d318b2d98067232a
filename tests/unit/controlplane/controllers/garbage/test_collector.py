"""The controller, on a server in memory. The rules by themselves are in ``test_graph.py`` and ``test_decisions.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from twisted.internet.task import Clock

from extapi import CLUSTER, Api, Group, Kind, Object, Version
from extapi.controlplane.controllers.garbage.collector import (
    ABSENT,
    APART,
    PATIENCE,
    RECHECK,
    RESYNC,
    RESYNC_SOON,
    AbsentOwners,
    GarbageCollector,
)
from extapi.controlplane.controllers.garbage.objects import Claim
from extapi.controlplane.kinds import events, events_v1
from extapi.controlplane.kinds.apiregistration import API_SERVICE
from extapi.controlplane.kinds.core import CONFIG_MAP, NAMESPACE
from extapi.errors import NotFound, ServiceUnavailable
from extapi.http.request import Request
from extapi.http.response import Handler, Response
from extapi.storage.memory import MemoryBackend
from extapi.testing import InMemoryServer, serve
from tests.unit.controlplane.controllers.cluster import MERGE, ROOT, WIDGETS

CORE = Group("", NAMESPACE, CONFIG_MAP, events.EVENT)
EVENTS = Group("events.k8s.io", events_v1.EVENT)
MAPS = f"{ROOT}/one/configmaps"
WIDGETS_PATH = "/apis/example.com/v1/namespaces/one/widgets"
BASES = "/apis/base.example.com/v1/bases"
HELD = "example.com/held"
GHOST = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}


class Base(Object):
    """A thing in no namespace."""


LATER = Group("base.example.com", Kind("Base", scope=CLUSTER, versions={"v1": Version(Base)}, storage="v1"))

KINDS = {
    "configmaps": ("v1", "ConfigMap"),
    "widgets": ("example.com/v1", "Widget"),
    "bases": ("base.example.com/v1", "Base"),
}


@contextmanager
def collecting(*groups: Group, **settings: Any) -> Iterator[InMemoryServer]:
    """The server, with a collector."""
    api = Api(CORE, EVENTS, WIDGETS, *groups, controllers=[GarbageCollector()])
    with serve(api, **settings) as server:
        server.advance(0.5)
        yield server


def create(server: InMemoryServer, path: str, name: str, *owners: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Create an object; a reference to it as it has to be in its dependents."""
    version, kind = KINDS[path.rpartition("/")[2]]
    body = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "ownerReferences": list(owners), **metadata},
    }
    answer = server.request("POST", path, body=body)
    assert answer.status == 201, answer.body
    server.advance(0.05)
    return {"apiVersion": version, "kind": kind, "name": name, "uid": answer.json()["metadata"]["uid"]}


def delete(server: InMemoryServer, path: str, policy: str = "Background") -> None:
    assert server.request("DELETE", path, {"propagationPolicy": policy}).status == 200


def metadata(server: InMemoryServer, path: str) -> dict[str, Any] | None:
    """That of an object; None if it is gone."""
    answer = server.request("GET", path)
    found: dict[str, Any] | None = answer.json()["metadata"] if answer.status == 200 else None
    return found


def release(server: InMemoryServer, path: str) -> None:
    body = {"metadata": {"finalizers": None}}
    assert server.request("PATCH", path, headers=MERGE, body=body).status == 200


def test_dependents_of_dependents_go_in_the_background() -> None:
    with collecting(LATER) as server:
        first = create(server, BASES, "first")
        second = create(server, WIDGETS_PATH, "second", first)
        create(server, MAPS, "third", second)
        create(server, MAPS, "free")
        delete(server, f"{BASES}/first")
        assert metadata(server, f"{WIDGETS_PATH}/second") is not None
        server.advance(1)
        assert metadata(server, f"{WIDGETS_PATH}/second") is None
        assert metadata(server, f"{MAPS}/third") is None
        assert metadata(server, f"{MAPS}/free") is not None


def test_an_owner_in_the_foreground_waits_for_what_blocks() -> None:
    with collecting() as server:
        first = create(server, WIDGETS_PATH, "first")
        second = create(server, MAPS, "second", {**first, "blockOwnerDeletion": True})
        create(server, WIDGETS_PATH, "third", {**second, "blockOwnerDeletion": True}, finalizers=[HELD])
        create(server, MAPS, "unblocked", first, finalizers=[HELD])
        delete(server, f"{WIDGETS_PATH}/first", "Foreground")
        server.advance(1)
        for path in (f"{WIDGETS_PATH}/first", f"{MAPS}/second"):
            waiting = metadata(server, path)
            assert waiting is not None
            assert waiting["finalizers"] == ["foregroundDeletion"]
        held = metadata(server, f"{WIDGETS_PATH}/third")
        assert held is not None
        assert held["finalizers"] == [HELD]
        assert "deletionTimestamp" in held
        release(server, f"{WIDGETS_PATH}/third")
        server.advance(1)
        assert [metadata(server, f"{WIDGETS_PATH}/{name}") for name in ("first", "third")] == [None, None]
        assert metadata(server, f"{MAPS}/second") is None
        left = metadata(server, f"{MAPS}/unblocked")
        assert left is not None, "nobody waited for it"
        assert "deletionTimestamp" in left


def test_orphans_lose_that_owner_only() -> None:
    with collecting() as server:
        first, other = create(server, MAPS, "first"), create(server, MAPS, "other")
        for number in range(50):
            create(server, WIDGETS_PATH, f"w{number}", first)
        create(server, MAPS, "both", first, {**other, "controller": True})
        delete(server, f"{MAPS}/first", "Orphan")
        server.advance(2)
        assert metadata(server, f"{MAPS}/first") is None
        left = server.request("GET", WIDGETS_PATH).json()["items"]
        assert len(left) == 50
        assert not any("ownerReferences" in each["metadata"] for each in left)
        both = metadata(server, f"{MAPS}/both")
        assert both is not None
        assert both["ownerReferences"] == [{**other, "controller": True}]


def test_an_owner_that_orphans_stays_until_every_dependent_is_released() -> None:
    front = Front()
    with collecting(front=front) as server:
        first = create(server, MAPS, "first")
        for name in ("one", "two", "three"):
            create(server, WIDGETS_PATH, name, first)
        stuck = f"{WIDGETS_PATH}/two"
        front.change = lambda call: (
            ServiceUnavailable("away") if (call.method, call.info.path) == ("PATCH", stuck) else None
        )
        delete(server, f"{MAPS}/first", "Orphan")
        server.advance(5)
        waiting = metadata(server, f"{MAPS}/first")
        assert waiting is not None
        assert waiting["finalizers"] == ["orphan"]
        for name in ("one", "three"):
            released = metadata(server, f"{WIDGETS_PATH}/{name}")
            assert released is not None
            assert "ownerReferences" not in released
        front.change = lambda _: None
        server.advance(20)
        assert metadata(server, f"{MAPS}/first") is None
        found = metadata(server, stuck)
        assert found is not None
        assert "ownerReferences" not in found


def test_an_owner_that_never_was() -> None:
    with collecting() as server:
        other = create(server, MAPS, "other")
        create(server, MAPS, "lost", GHOST)
        create(server, MAPS, "kept", GHOST, other)
        before = create(server, MAPS, "again")
        assert server.request("DELETE", f"{MAPS}/again").status == 200
        create(server, MAPS, "again")
        create(server, MAPS, "late", before)
        renamed = create(server, MAPS, "renamed", {**other, "name": "another"})
        assert renamed["uid"] != other["uid"]
        server.advance(1)
        assert metadata(server, f"{MAPS}/lost") is None
        assert metadata(server, f"{MAPS}/renamed") is None
        assert metadata(server, f"{MAPS}/late") is None, "its owner is another one, of the same name"
        assert metadata(server, f"{MAPS}/again") is not None
        kept = metadata(server, f"{MAPS}/kept")
        assert kept is not None
        assert kept["ownerReferences"] == [other]


def test_what_was_there_before_the_collector_is_collected() -> None:
    clock: Any = Clock()
    clock.advance(1_700_000_000)
    backend = MemoryBackend(clock)
    with serve(Api(CORE, EVENTS, WIDGETS), clock=clock, backend=backend) as server:
        first = create(server, MAPS, "first")
        create(server, WIDGETS_PATH, "owned", first)
        create(server, WIDGETS_PATH, "lost", GHOST)
        waiting = create(server, WIDGETS_PATH, "waiting")
        create(server, MAPS, "blocks", {**waiting, "blockOwnerDeletion": True})
        delete(server, f"{WIDGETS_PATH}/waiting", "Foreground")
        objects = server.request("GET", WIDGETS_PATH).json()["items"]
        assert len(objects) == 3
        with serve(Api(CORE, EVENTS, WIDGETS, controllers=[GarbageCollector()]), clock=clock, backend=backend) as other:
            other.advance(2)
            assert [each["metadata"]["name"] for each in other.request("GET", WIDGETS_PATH).json()["items"]] == [
                "owned"
            ]
            assert metadata(other, f"{MAPS}/blocks") is None


def test_an_owner_in_another_namespace_is_none_and_that_is_recorded() -> None:
    with collecting() as server:
        stranger = create(server, f"{ROOT}/two/configmaps", "owner")
        create(server, MAPS, "lost", stranger)
        server.advance(2)
        assert metadata(server, f"{MAPS}/lost") is None
        assert metadata(server, f"{ROOT}/two/configmaps/owner") is not None
        (event,) = server.request("GET", "/apis/events.k8s.io/v1/namespaces/one/events").json()["items"]
        assert (event["type"], event["reason"]) == ("Warning", "OwnerRefInvalidNamespace")
        assert event["note"] == (
            f"ownerRef [v1/ConfigMap, namespace: one, name: owner, uid: {stranger['uid']}] "
            'does not exist in namespace "one"'
        )
        assert event["regarding"]["name"] == "lost"
        assert event["reportingController"] == "garbage-collector-controller"


def test_a_cluster_scoped_object_cannot_have_an_owner_in_a_namespace() -> None:
    with collecting(LATER) as server:
        inside = create(server, MAPS, "inside")
        create(server, BASES, "base", inside)
        create(server, BASES, "lost", GHOST)
        delete(server, f"{MAPS}/inside")
        server.advance(RECHECK + 1)
        assert metadata(server, f"{BASES}/base") is not None
        assert metadata(server, f"{BASES}/lost") is not None
        found = server.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events").json()["items"]
        assert [each["regarding"]["name"] for each in found] == ["base"]


def test_an_owner_of_a_kind_that_nobody_serves_is_waited_for() -> None:
    with collecting() as server:
        absent = {"apiVersion": "base.example.com/v1", "kind": "Base", "name": "absent", "uid": GHOST["uid"]}
        create(server, MAPS, "dependent", absent)
        server.advance(RESYNC * 3)
        assert metadata(server, f"{MAPS}/dependent") is not None
        server.run(server.server.replace([CORE, EVENTS, WIDGETS, LATER]))
        server.advance(RESYNC + 1)
        assert metadata(server, f"{MAPS}/dependent") is None


def test_a_kind_that_goes_does_not_take_its_dependents_along() -> None:
    with collecting(LATER) as server:
        base = create(server, BASES, "base")
        create(server, MAPS, "dependent", base)
        server.run(server.server.replace([CORE, EVENTS, WIDGETS]))
        server.advance(RESYNC * 2)
        assert metadata(server, f"{MAPS}/dependent") is not None
        server.run(server.server.replace([CORE, EVENTS, WIDGETS, LATER]))
        server.advance(RESYNC + 1)
        assert metadata(server, f"{MAPS}/dependent") is not None
        delete(server, f"{BASES}/base")
        server.advance(1)
        assert metadata(server, f"{MAPS}/dependent") is None


class Front:
    """In front of everything: what an extension server answers, or does before it answers."""

    def __init__(self) -> None:
        self.change: Callable[[Request], Any] = lambda _: None
        self.seen: list[tuple[str, str]] = []

    def __call__(self, handler: Handler) -> Handler:
        async def answer(call: Request) -> Response:
            if "watch" not in call.query:
                self.seen.append((call.method, call.info.path))
            found = self.change(call)
            if isinstance(found, Exception):
                raise found
            response = await handler(call)
            if callable(found) and isinstance(response.body, bytes | list):
                body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
                response.body = msgspec.json.encode(found(msgspec.json.decode(body)))
            return response

        return answer


def test_many_registrations_are_few_looks_at_discovery() -> None:
    """And the last of them is seen: a kind that it brings is followed soon, not at the next regular look."""
    front = Front()
    with collecting(Group("apiregistration.k8s.io", API_SERVICE), front=front) as server:
        server.advance(APART)
        front.seen.clear()
        path = "/apis/apiregistration.k8s.io/v1/apiservices"
        spec = {"version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15}
        looks = []
        for number in range(62):
            group = f"g{number}.example.com"
            body = {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"v1.{group}"},
                "spec": {"group": group, **spec},
            }
            assert server.request("POST", path, body=body).status == 201
            server.advance(RESYNC / 60)
            looks.append(front.seen.count(("GET", "/apis")))
        assert (looks[58], looks[-1]) == (1, 2)  # one at the beginning, and one since it goes on for so long
        server.advance(APART)
        assert front.seen.count(("GET", "/apis")) == 3
        server.advance(RESYNC_SOON - 1)
        assert front.seen.count(("GET", "/apis")) == 3


@pytest.mark.parametrize("error", [ServiceUnavailable("away"), NotFound.path()], ids=["away", "no such resource"])
def test_an_owner_whose_server_is_away_is_not_absent(error: Exception) -> None:
    front = Front()
    with collecting(front=front) as server:
        ghost = {**GHOST, "apiVersion": "example.com/v1", "kind": "Widget"}
        front.change = lambda call: error if call.info.path == f"{WIDGETS_PATH}/ghost" else None
        create(server, MAPS, "dependent", ghost)
        create(server, MAPS, "other", GHOST)
        server.advance(5)
        assert metadata(server, f"{MAPS}/other") is None, "one group does not hold up another"
        assert metadata(server, f"{MAPS}/dependent") is not None
        front.change = lambda _: None
        server.advance(60)
        assert metadata(server, f"{MAPS}/dependent") is None


def test_a_group_that_is_stale_is_kept_and_holds_up_nothing() -> None:
    front = Front()

    def stale(call: Request) -> Any:
        def changed(document: Any) -> Any:
            for group in document["items"]:
                if group["metadata"]["name"] == "example.com":
                    for version in group["versions"]:
                        version.update(freshness="Stale", resources=[])
            return document

        if call.info.path == "/apis":
            return changed
        return ServiceUnavailable("away") if "/widgets" in call.info.path else None

    with collecting(front=front) as server:
        owner = create(server, WIDGETS_PATH, "owner")
        create(server, MAPS, "dependent", owner)
        front.change = stale
        server.advance(RESYNC * 2)
        create(server, MAPS, "lost", GHOST)
        server.advance(5)
        front.change = lambda _: None
        assert metadata(server, f"{MAPS}/lost") is None
        assert metadata(server, f"{MAPS}/dependent") is not None
        delete(server, f"{WIDGETS_PATH}/owner")
        server.advance(5)
        assert metadata(server, f"{MAPS}/dependent") is None


def test_a_group_that_is_stale_at_the_start_holds_up_nothing() -> None:
    front = Front()

    def odd(call: Request) -> Any:
        away = {
            "version": "v9",
            "freshness": "Stale",
            "resources": [
                {
                    "resource": "things",
                    "scope": "Namespaced",
                    "responseKind": {"kind": "Thing"},
                    "verbs": ["delete", "list", "watch"],
                }
            ],
        }

        def changed(document: Any) -> Any:
            document["items"].append({"metadata": {"name": "away.example.com"}, "versions": [away]})
            return document

        return changed if call.info.path == "/apis" else None

    front.change = odd
    with collecting(front=front) as server:
        create(server, MAPS, "lost", GHOST)
        server.advance(PATIENCE / 3)
        assert metadata(server, f"{MAPS}/lost") is None


def test_an_object_that_changes_all_the_time_does_not_escape() -> None:
    front = Front()
    with collecting(front=front) as server:
        first = create(server, MAPS, "first")
        create(server, MAPS, "busy", first)
        busy = f"{MAPS}/busy"
        count = [0]

        def touch(call: Request) -> Any:
            if call.method == "DELETE" and call.info.path == busy and count[0] < 100:
                count[0] += 1
                body = {"metadata": {"labels": {"count": str(count[0])}}}
                server.run(server.client.call("PATCH", busy, obj=body, content_type=MERGE["Content-Type"]))

        delete(server, f"{MAPS}/first")
        front.change = touch
        server.advance(1)
        assert metadata(server, busy) is None
        assert count == [2], "once with its resourceVersion, once without"


def test_an_object_that_found_another_owner_in_between_stays() -> None:
    front = Front()
    with collecting(front=front) as server:
        first, other = create(server, MAPS, "first"), create(server, MAPS, "other")
        create(server, MAPS, "adopted", first)
        path = f"{MAPS}/adopted"
        body = {"metadata": {"ownerReferences": [other]}}
        tried: list[bool] = []

        def adopt(call: Request) -> Any:
            if call.method == "DELETE" and call.info.path == path and not tried:
                tried.append(True)
                server.run(server.client.call("PATCH", path, obj=body, content_type=MERGE["Content-Type"]))

        delete(server, f"{MAPS}/first")
        front.change = adopt
        server.advance(3)
        assert tried
        found = metadata(server, path)
        assert found is not None
        assert found["ownerReferences"] == [other]


def test_what_is_observed_is_not_asked_for() -> None:
    """A DELETE for each dependent, and one look at the owner, which all have in common."""
    front = Front()
    with collecting(front=front) as server:
        first = create(server, MAPS, "first")
        for number in range(10):
            create(server, WIDGETS_PATH, f"w{number}", first)
        delete(server, f"{MAPS}/first")
        front.seen.clear()
        server.advance(2)
        asked = sorted(each for each in front.seen if "/namespaces/" in each[1])
        assert asked == sorted(
            [("GET", f"{MAPS}/first"), *(("DELETE", f"{WIDGETS_PATH}/w{each}") for each in range(10))]
        )


def test_an_owner_that_nobody_follows_is_asked_for_now_and_then() -> None:
    """Events are not followed, as in kube-controller-manager."""
    front = Front()
    with collecting(front=front) as server:
        event = {
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "owner"}, "reason": "Because",
            "eventTime": "2023-11-14T22:13:20.000000Z", "reportingController": "example.com/c", "type": "Normal",
            "reportingInstance": "i", "action": "Act", "regarding": {"kind": "ConfigMap", "name": "x", "namespace": "one"},
        }  # fmt: skip
        path = "/apis/events.k8s.io/v1/namespaces/one/events"
        made = server.request("POST", path, body=event)
        assert made.status == 201, made.body
        owner = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "name": "owner",
            "uid": made.json()["metadata"]["uid"],
        }
        front.seen.clear()
        for number in range(5):
            create(server, MAPS, f"m{number}", owner)
        server.advance(RECHECK * 3)
        assert front.seen.count(("GET", f"{path}/owner")) == 4
        delete(server, f"{path}/owner")
        server.advance(RECHECK)
        assert server.request("GET", MAPS).json()["items"] == []


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
@pytest.mark.parametrize("group", ["api/v1", "apis/events.k8s.io/v1"])
def test_events_have_no_dependents_to_wait_for(group: str, policy: str) -> None:
    """Nobody would ever end it (``eventStrategy.DefaultGarbageCollectionPolicy``)."""
    with collecting() as server:
        event = {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "finalizers": ["orphan"]},
            "involvedObject": {"kind": "ConfigMap", "name": "x", "namespace": "one"},
        }  # fmt: skip
        assert server.request("POST", f"{ROOT}/one/events", body=event).status == 201
        delete(server, f"/{group}/namespaces/one/events/e", policy)
        assert metadata(server, f"{ROOT}/one/events/e") is None


def test_a_circle_ends_though_each_blocks_the_other() -> None:
    with collecting() as server:
        first = create(server, MAPS, "first")
        second = create(server, WIDGETS_PATH, "second", {**first, "blockOwnerDeletion": True})
        body = {"metadata": {"ownerReferences": [{**second, "blockOwnerDeletion": True}]}}
        assert server.request("PATCH", f"{MAPS}/first", headers=MERGE, body=body).status == 200
        server.advance(0.5)
        delete(server, f"{MAPS}/first", "Foreground")
        server.advance(5)
        assert metadata(server, f"{MAPS}/first") is None
        assert metadata(server, f"{WIDGETS_PATH}/second") is None


def test_nothing_goes_on_when_the_server_stops() -> None:
    front = Front()
    with collecting(front=front) as server:
        create(server, MAPS, "lost", {**GHOST, "apiVersion": "nobody.example.com/v1"})
        server.advance(1)
    front.seen.clear()
    server.clock.advance(RESYNC * 3)
    assert front.seen == []


def test_absent_owners_are_remembered_within_bounds() -> None:
    absent = AbsentOwners(2)
    claims = [Claim("v1", "ConfigMap", "one", name, name) for name in "abc"]
    absent.add(claims[0])
    absent.add(claims[1])
    assert claims[0] in absent
    absent.add(claims[2])
    assert [each in absent for each in claims] == [True, False, True], "the one that was not asked for is forgotten"
    assert ABSENT == 500
