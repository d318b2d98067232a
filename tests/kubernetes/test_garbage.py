"""Garbage collection as kubectl asks for it, the same on both control planes: chains, circles, owners of every sort.

``test_deletion.py`` and ``test_ownership.py`` have each policy with owners and dependents on either side of the aggregator.
The stories of the specs ``[sig-api-machinery] Garbage collector`` are told here with ConfigMaps and pizzas, since those are
about pods, ReplicaSets, Jobs and custom resources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes import kubectls, second
from tests.kubernetes.calling import MERGE, Caller
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.killing import kill
from tests.kubernetes.ledger import line, lines_path
from tests.kubernetes.second import SecondServer
from tests.kubernetes.shop import Shop
from tests.kubernetes.test_deletion import config_map, gone, made, maps_path, owned, owner
from tests.kubernetes.test_ownership import HELD, Things
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
CHAIN = ("pizza", "map", "pizza")


def metadata(admin: Caller, path: str) -> dict[str, Any]:
    found: dict[str, Any] = admin("GET", path).json["metadata"]
    return found


@pytest.fixture
def things(admin: Caller, namespace: str) -> Things:
    """Pizzas and ConfigMaps of a namespace, once the collector knows both kinds."""
    found = Things(admin, namespace)
    found.settle("known")
    return found


def chain(things: Things, **last: Any) -> list[tuple[str, str]]:
    """A pizza, a ConfigMap of the pizza, a pizza of the ConfigMap; each blocks."""
    found, by = [], None
    for number, kind in enumerate(CHAIN):
        more = last if number == len(CHAIN) - 1 else {}
        by = things.make(kind, f"link-{number}", by, **more)
        found.append((kind, f"link-{number}"))
    things.settle("chained")
    return found


@kubectls.BOTH_ENDS
def test_a_chain_goes_in_the_background(things: Things, shop: Shop) -> None:
    links = chain(things)
    shop("delete", "pz", "link-0", "--cascade=background")
    until(lambda: all(things.gone(*each) for each in links), 30)


@kubectls.BOTH_ENDS
def test_a_chain_goes_in_the_foreground_from_its_end(things: Things, shop: Shop) -> None:
    first, middle, last = chain(things, finalizers=[HELD])
    shop("delete", "pz", "link-0", "--cascade=foreground", "--wait=false")
    until(lambda: "deletionTimestamp" in things.metadata(*last), 30)
    assert things.metadata(*first)["finalizers"] == ["foregroundDeletion"]
    assert things.metadata(*middle)["finalizers"] == ["foregroundDeletion"], "it has dependents itself"
    assert things.metadata(*last)["finalizers"] == [HELD]
    things.release(*last)
    shop("wait", "--for=delete", "pz/link-0", "--timeout=30s")
    assert all(things.gone(*each) for each in (middle, last))


@kubectls.BOTH_ENDS
def test_a_chain_is_orphaned_at_its_first_link(things: Things, shop: Shop) -> None:
    first, middle, last = chain(things)
    shop("delete", "pz", "link-0", "--cascade=orphan", "--timeout=30s")
    assert things.gone(*first)
    assert "ownerReferences" not in things.metadata(*middle)
    (kept,) = things.metadata(*last)["ownerReferences"]
    assert kept["name"] == "link-1"


def test_a_cluster_scoped_owner(things: Things, admin: Caller, kubectl: Kubectl, namespace: str) -> None:
    name = f"owner-of-{namespace}"
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [],
    }
    by = made(admin, ROLES, role)
    things.make("map", "mine", by)
    things.make("pizza", "mine", by)
    below = {**role, "metadata": {"name": f"{name}-too"}}
    made(admin, ROLES, owned(below, by))
    things.settle("owned")
    assert not things.gone("map", "mine")
    kubectl("delete", "clusterrole", name, "--cascade=foreground", "--timeout=30s")
    assert things.gone("map", "mine")
    assert things.gone("pizza", "mine")
    until(lambda: gone(admin, f"{ROLES}/{name}-too"), 30)


def test_an_owner_in_another_namespace(things: Things, admin: Caller, kubectl: Kubectl, namespace: str) -> None:
    by = made(admin, maps_path("default"), config_map(f"owner-for-{namespace}"))
    things.make("map", "lost", by)
    until(lambda: things.gone("map", "lost"), 30)

    def found() -> list[dict[str, Any]]:
        arguments = ("-n", namespace, "get", "events", "-o", "json", "--field-selector=reason=OwnerRefInvalidNamespace")
        items: list[dict[str, Any]] = json.loads(kubectl(*arguments))["items"]
        return items

    event, *_ = until(found, 30)
    name, uid = by["metadata"]["name"], by["metadata"]["uid"]
    assert event["message"] == (
        f"ownerRef [v1/ConfigMap, namespace: {namespace}, name: {name}, uid: {uid}] "
        f'does not exist in namespace "{namespace}"'
    )
    assert (event["type"], event["involvedObject"]["name"]) == ("Warning", "lost")
    assert "garbage-collector-controller" in (event.get("source", {}).get("component"), event["reportingComponent"])
    assert not gone(admin, f"{maps_path('default')}/{name}")
    kubectl("-n", "default", "delete", "configmap", name)


def test_an_absent_owner_beside_one_that_is_there(things: Things, admin: Caller, namespace: str) -> None:
    """The dependent stays, and loses the reference to nobody."""
    by = things.make("pizza", "there")
    ghost = config_map("ghost", uid="00000000-0000-0000-0000-000000000000")
    another = config_map("there", uid=by["metadata"]["uid"])
    for name, wrong in (("one", ghost), ("two", another)):
        obj = config_map(name)
        obj["metadata"]["ownerReferences"] = [owner(wrong), *([owner(by)] if wrong is ghost else [])]
        made(admin, maps_path(namespace), obj)
    until(lambda: len(things.metadata("map", "one")["ownerReferences"]) == 1, 30)
    assert things.metadata("map", "one")["ownerReferences"][0]["name"] == "there"
    until(lambda: things.gone("map", "two"), 30)


def test_only_what_blocks_is_waited_for(things: Things, admin: Caller, kubectl: Kubectl, namespace: str) -> None:
    by = things.make("map", "owner")
    obj = owned(config_map("free", finalizers=[HELD]), by)
    obj["metadata"]["finalizers"] = [HELD]
    made(admin, maps_path(namespace), obj)
    things.settle("owned")
    kubectl("-n", namespace, "delete", "configmap", "owner", "--cascade=foreground", "--timeout=30s")
    until(lambda: "deletionTimestamp" in things.metadata("map", "free"), 30)
    things.release("map", "free")
    assert things.gone("map", "free")


@pytest.mark.parametrize("policy", ["foreground", "orphan"])
def test_a_namespace_goes_whatever_the_policy(things: Things, kubectl: Kubectl, namespace: str, policy: str) -> None:
    """What is in it belongs to it by another rule."""
    by = things.make("map", "owner")
    things.make("pizza", "dependent", by)
    kubectl("delete", "namespace", namespace, f"--cascade={policy}", "--timeout=60s")
    kubectl("create", "namespace", namespace)
    assert things.gone("pizza", "dependent")


@pytest.mark.parametrize("policy", ["foreground", "orphan"])
def test_events_wait_for_nobody(admin: Caller, kubectl: Kubectl, namespace: str, policy: str) -> None:
    about = {"kind": "ConfigMap", "name": "x", "namespace": namespace}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": about}
    path = f"/api/v1/namespaces/{namespace}/events"
    made(admin, path, event)
    kubectl("-n", namespace, "delete", "event", "e", f"--cascade={policy}", "--wait=false")
    assert gone(admin, f"{path}/e")


def test_a_circle_does_not_hold_up_its_end(things: Things, admin: Caller, kubectl: Kubectl, namespace: str) -> None:
    """``should not be blocked by dependency circle``: each owns the next, and all block."""
    kinds = ("map", "pizza", "map")
    objs = [things.make(kind, f"round-{number}") for number, kind in enumerate(kinds)]
    for number, kind in enumerate(kinds):
        patch = {"metadata": {"ownerReferences": [owner(objs[number - 1], blocks=True)]}}
        path = things.at(kind, f"round-{number}")
        assert admin("PATCH", path, patch, content_type=MERGE).status == 200
    things.settle("round")
    kubectl("-n", namespace, "delete", "configmap", "round-0", "--cascade=foreground", "--wait=false")
    until(lambda: all(things.gone(kind, f"round-{number}") for number, kind in enumerate(kinds)), 90)


def test_a_dependent_with_another_owner_stays(things: Things, admin: Caller, kubectl: Kubectl, namespace: str) -> None:
    """``should not delete dependents that have both valid owner and owner that's waiting for dependents to be deleted``."""
    ends, stays = things.make("pizza", "ends"), things.make("map", "stays")
    for number in range(4):
        obj = config_map(f"shared-{number}")
        references = [owner(ends, blocks=True), *([owner(stays)] if number % 2 else [])]
        obj["metadata"]["ownerReferences"] = references
        made(admin, maps_path(namespace), obj)
    things.settle("shared")
    kubectl("-n", namespace, "delete", "pz", "ends", "--cascade=foreground", "--timeout=60s")
    for number in (0, 2):
        assert things.gone("map", f"shared-{number}")
    for number in (1, 3):
        found = things.metadata("map", f"shared-{number}")
        assert "deletionTimestamp" not in found
        assert [each["name"] for each in found["ownerReferences"]] == ["stays"]


@pytest.fixture
def ledger(control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path) -> Iterator[SecondServer]:
    with second.running(control_plane, "tests.kubernetes.ledger:api", tmp_path) as server:
        yield server


def test_owners_whose_server_is_away_are_not_absent(
    things: Things, admin: Caller, namespace: str, ledger: SecondServer
) -> None:
    by = made(admin, lines_path(namespace), line("owner", 1))
    ghost = {**by, "metadata": {**by["metadata"], "name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}}
    # The collector learns of a new kind within half a minute.
    things.make("map", "first", ghost)
    until(lambda: things.gone("map", "first"), 60)
    things.make("map", "mine", by)
    kill(ledger)
    things.make("map", "unknown", ghost)
    things.settle("meanwhile")
    assert not things.gone("map", "mine")
    ledger.start()
    ledger.wait_available()
    until(lambda: things.gone("map", "unknown"), 120)
    assert not things.gone("map", "mine")
    assert admin("DELETE", lines_path(namespace) + "/owner").status == 200
    until(lambda: things.gone("map", "mine"), 60)
