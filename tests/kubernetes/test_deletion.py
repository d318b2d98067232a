"""What deletes pizzas besides their owners: namespaces, the garbage collector, and what finalizers hold up."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from tests.kubernetes.calling import MERGE, Caller
from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.kubernetes.pizzas import GROUP, PIZZA, old_pizza, pizza, pizzas_path
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")


def made(admin: Caller, path: str, obj: dict[str, Any]) -> dict[str, Any]:
    answer = admin("POST", path, obj)
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json
    return found


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def owner(obj: dict[str, Any], *, blocks: bool = False) -> dict[str, Any]:
    metadata = obj["metadata"]
    reference = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return reference | ({"blockOwnerDeletion": True} if blocks else {})


def owned(obj: dict[str, Any], by: dict[str, Any], *, blocks: bool = False) -> dict[str, Any]:
    return obj | {"metadata": obj["metadata"] | {"ownerReferences": [owner(by, blocks=blocks)]}}


def gone(admin: Caller, path: str) -> bool:
    return admin("GET", path).status == 404


def maps_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def collected(admin: Caller, namespace: str) -> None:
    """Wait until the collector follows pizzas: kube-controller-manager learns of a new kind within half a minute."""
    ghost = config_map("ghost", uid="00000000-0000-0000-0000-000000000000")
    made(admin, pizzas_path(namespace), owned(pizza("known", tomato=1), ghost))
    until(lambda: gone(admin, pizzas_path(namespace) + "/known"), 60)


def no_errors_about_us(control_plane: ControlPlane) -> None:
    """The controllers of the control plane complain about no kind of ours."""
    complaints = [line for line in control_plane.controllers_log().splitlines() if GROUP in line and wrong(line)]
    assert complaints == []


def wrong(line: str) -> bool:
    """Whether a line of a log is a complaint: as klog or as we write them. A write that met another one is none."""
    if "does not match the ResourceVersion in record" in line:
        return False
    return (
        re.match(r"[EW]\d{4} ", line) is not None
        or re.search(r'"level": ?"(warning|error|critical)"', line) is not None
    )


def test_a_deleted_namespace_takes_its_pizzas_along(
    admin: Caller, kubectl: Kubectl, control_plane: ControlPlane
) -> None:
    kubectl("create", "namespace", "closing")
    for number in range(20):
        made(admin, pizzas_path("closing"), pizza(f"p{number}", tomato=1))
    begun = time.monotonic()
    kubectl("delete", "namespace", "closing", "--timeout=40s")
    assert time.monotonic() - begun < 30
    assert admin("GET", pizzas_path("closing")).json["items"] == []
    kubectl("create", "namespace", "closing")
    assert kubectl("-n", "closing", "get", "pz", "-o", "name") == ""
    kubectl("delete", "namespace", "closing", "--wait=false")
    no_errors_about_us(control_plane)


def test_a_finalizer_holds_up_its_namespace(admin: Caller, kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "held")
    slow = pizza("slow", tomato=1)
    slow["metadata"]["finalizers"] = ["example.com/slow"]
    made(admin, pizzas_path("held"), slow)
    kubectl("delete", "namespace", "held", "--wait=false")

    def told() -> bool:
        conditions = admin("GET", "/api/v1/namespaces/held").json["status"].get("conditions", ())
        messages = {each["type"]: each["message"] for each in conditions if each["status"] == "True"}
        return "example.com/slow in 1 resource instances" in messages.get("NamespaceFinalizersRemaining", "")

    until(told, 30)
    refused = admin("POST", pizzas_path("held"), pizza("late", tomato=1))
    theirs = admin("POST", maps_path("held"), config_map("late"))
    assert refused.status == theirs.status == 403
    assert refused.message == theirs.message.replace("configmaps", PIZZA)
    assert refused.json["details"]["causes"] == theirs.json["details"]["causes"]
    # What is there may still be changed, so that it can go.
    patch = [{"op": "remove", "path": "/metadata/finalizers"}]
    assert (
        admin("PATCH", pizzas_path("held") + "/slow", patch, content_type="application/json-patch+json").status == 200
    )
    until(lambda: gone(admin, "/api/v1/namespaces/held"), 30)


def test_nothing_is_made_in_a_namespace_that_is_not_there(admin: Caller) -> None:
    refused = admin("POST", pizzas_path("nowhere"), pizza("lost", tomato=1))
    theirs = admin("POST", maps_path("nowhere"), config_map("lost"))
    assert refused.status == theirs.status == 404
    assert refused.json == theirs.json
    assert admin("GET", pizzas_path("nowhere")).json["items"] == []
    assert admin("DELETE", pizzas_path("nowhere") + "/lost").status == 404
    assert admin("DELETE", pizzas_path("nowhere")).status == 200


@pytest.mark.usefixtures("collected")
@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_pizzas_go_with_their_owner(admin: Caller, namespace: str, control_plane: ControlPlane, version: str) -> None:
    menu = made(admin, maps_path(namespace), config_map("menu"))
    obj = pizza("mine", tomato=1) if version == "v1beta1" else old_pizza("mine", "tomato")
    made(admin, pizzas_path(namespace, version), owned(obj, menu))
    made(admin, pizzas_path(namespace), pizza("free", tomato=1))
    admin("DELETE", maps_path(namespace) + "/menu")
    until(lambda: gone(admin, pizzas_path(namespace) + "/mine"), 30)
    assert admin("GET", pizzas_path(namespace) + "/free").status == 200
    no_errors_about_us(control_plane)


@pytest.mark.usefixtures("collected")
def test_dependents_go_with_their_pizza(admin: Caller, namespace: str, control_plane: ControlPlane) -> None:
    mine = made(admin, pizzas_path(namespace), pizza("mine", tomato=1))
    made(admin, maps_path(namespace), owned(config_map("note"), mine))
    made(admin, pizzas_path(namespace), owned(pizza("slice", tomato=1), mine))
    assert admin("DELETE", pizzas_path(namespace) + "/mine").json["status"] == "Success"
    until(lambda: gone(admin, maps_path(namespace) + "/note") and gone(admin, pizzas_path(namespace) + "/slice"), 30)
    no_errors_about_us(control_plane)


@pytest.mark.usefixtures("collected")
def test_an_owner_that_never_was_takes_its_pizza_along(admin: Caller, namespace: str) -> None:
    ghost = config_map("ghost", uid="00000000-0000-0000-0000-000000000000")
    made(admin, pizzas_path(namespace), owned(pizza("orphan", tomato=1), ghost))
    until(lambda: gone(admin, pizzas_path(namespace) + "/orphan"), 30)


@pytest.mark.usefixtures("collected")
def test_foreground_waits_for_the_dependents(admin: Caller, kubectl: Kubectl, namespace: str) -> None:
    mine = made(admin, pizzas_path(namespace), pizza("mine", tomato=1))
    held = owned(config_map("note", finalizers=["example.com/held"]), mine, blocks=True)
    held["metadata"]["finalizers"] = ["example.com/held"]
    made(admin, maps_path(namespace), held)
    kubectl("-n", namespace, "delete", "pz", "mine", "--cascade=foreground", "--wait=false")
    until(lambda: "deletionTimestamp" in admin("GET", maps_path(namespace) + "/note").json["metadata"], 30)
    waiting = admin("GET", pizzas_path(namespace) + "/mine").json["metadata"]
    assert waiting["finalizers"] == ["foregroundDeletion"]
    assert waiting["deletionGracePeriodSeconds"] == 0
    # A second delete changes nothing; a finalizer may not be added any more.
    again = admin("DELETE", pizzas_path(namespace) + "/mine")
    assert (again.status, again.json["metadata"]["deletionTimestamp"]) == (200, waiting["deletionTimestamp"])
    late = admin(
        "PATCH", pizzas_path(namespace) + "/mine", {"metadata": {"finalizers": ["foregroundDeletion", "a.b/c"]}},
        content_type=MERGE,
    )  # fmt: skip
    assert late.status == 422
    assert "no new finalizers can be added if the object is being deleted" in late.message
    admin("PATCH", maps_path(namespace) + "/note", {"metadata": {"finalizers": None}}, content_type=MERGE)
    until(lambda: gone(admin, pizzas_path(namespace) + "/mine"), 30)


@pytest.mark.usefixtures("collected")
def test_orphans_stay(admin: Caller, kubectl: Kubectl, namespace: str, control_plane: ControlPlane) -> None:
    mine = made(admin, pizzas_path(namespace), pizza("mine", tomato=1))
    made(admin, maps_path(namespace), owned(config_map("note"), mine))
    made(admin, pizzas_path(namespace), owned(pizza("slice", tomato=1), mine))
    # The collector knows of dependents only what it has been told by then.
    until(lambda: admin("GET", maps_path(namespace) + "/note").status == 200)
    kubectl("-n", namespace, "delete", "pz", "mine", "--cascade=orphan", "--timeout=30s")
    until(lambda: gone(admin, pizzas_path(namespace) + "/mine"), 30)
    for path in (maps_path(namespace) + "/note", pizzas_path(namespace) + "/slice"):
        assert "ownerReferences" not in admin("GET", path).json["metadata"]
    no_errors_about_us(control_plane)


@pytest.mark.usefixtures("collected")
def test_orphans_of_a_built_in_owner_stay(admin: Caller, kubectl: Kubectl, namespace: str) -> None:
    """The collector takes the reference away by a strategic merge patch, and by a merge patch where that is refused."""
    menu = made(admin, maps_path(namespace), config_map("menu"))
    made(admin, pizzas_path(namespace), owned(pizza("slice", tomato=1), menu))
    kubectl("-n", namespace, "delete", "configmap", "menu", "--cascade=orphan", "--timeout=30s")
    assert "ownerReferences" not in admin("GET", pizzas_path(namespace) + "/slice").json["metadata"]


def test_finalizers(kubectl: Kubectl, admin: Caller, namespace: str) -> None:
    slow = pizza("slow", tomato=1)
    slow["metadata"]["finalizers"] = ["example.com/slow"]
    kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(slow))
    kubectl("-n", namespace, "delete", "pz", "slow", "--wait=false")
    held = admin("GET", pizzas_path(namespace) + "/slow").json
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["generation"] == 2
    kubectl("-n", namespace, "patch", "pz", "slow", "--type=merge", "-p", '{"metadata":{"finalizers":[]}}')
    assert gone(admin, pizzas_path(namespace) + "/slow")


def test_delete_only_what_was_meant(admin: Caller, namespace: str) -> None:
    mine = made(admin, pizzas_path(namespace), pizza("mine", tomato=1))
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}}
    refused = admin("DELETE", pizzas_path(namespace) + "/mine", options)
    assert refused.status == 409
    assert refused.json["reason"] == "Conflict"
    options["preconditions"] = {"uid": mine["metadata"]["uid"]}
    done = admin("DELETE", pizzas_path(namespace) + "/mine", options).json
    assert (done["status"], done["details"]["uid"]) == ("Success", mine["metadata"]["uid"])


def test_a_collection_is_deleted_by_selector(admin: Caller, namespace: str) -> None:
    for name in ("a", "b", "c"):
        obj = pizza(name, tomato=1)
        obj["metadata"]["labels"] = {"half": "yes" if name < "c" else "no"}
        made(admin, pizzas_path(namespace), obj)
    deleted = admin("DELETE", pizzas_path(namespace) + "?labelSelector=half%3Dyes").json
    assert (deleted["kind"], [item["metadata"]["name"] for item in deleted["items"]]) == ("PizzaList", ["a", "b"])
    assert [item["metadata"]["name"] for item in admin("GET", pizzas_path(namespace)).json["items"]] == ["c"]
