"""Server-side apply by Python clients that we did not write: lightkube, and the package ``kubernetes`` in its two halves."""

# The annotations of both packages are incomplete.
# mypy: disable-error-code="no-untyped-call, arg-type"

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import config
from lightkube import ApiError, codecs
from lightkube.core.sort_objects import sort_objects
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta

from tests.kubernetes.appliers import APPLIERS, Applier, Refused, lightkube_client
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.pizzas import pizza, pizzas_path
from tests.kubernetes.second import SecondServer
from tests.kubernetes.shop import managed
from tests.kubernetes.test_deletion import gone, maps_path
from tests.kubernetes.twin_schema import OURS, PLURAL, VERSION
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")

KEY = 'spec.toppings.k:{"name":"tomato"}'
LABEL = "metadata.labels.a"


def obj(kind: str, tomato: int, **labels: str) -> dict[str, Any]:
    """A pizza or a ConfigMap."""
    made: dict[str, Any] = pizza("one", tomato=tomato)
    if kind == "map":
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"tomato": str(tomato)}}
    return made | {"metadata": {"name": "one", **({"labels": labels} if labels else {})}}


@pytest.fixture(scope="module")
def api_client(control_plane: ControlPlane) -> Any:
    with config.new_client_from_config(str(control_plane.kubeconfig)) as made:
        yield made


@pytest.fixture
def apply(
    control_plane: ControlPlane, api_client: Any, namespace: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Applier:
    return APPLIERS[request.param](control_plane, api_client, namespace, tmp_path)


@pytest.mark.parametrize("apply", APPLIERS, indirect=True)
@pytest.mark.parametrize(
    ("kind", "shared", "changed", "field"),
    [
        ("pizza", {f"{KEY}.name"}, f"{KEY}.quantity", '.spec.toppings[name="tomato"].quantity'),
        ("map", set(), "data.tomato", ".data.tomato"),
    ],
    ids=["pizza", "map"],
)
def test_two_appliers(
    apply: Applier, admin: Caller, namespace: str, kind: str, shared: set[str], changed: str, field: str
) -> None:
    made = apply(obj(kind, 1, a="b"), "baker")
    assert made["metadata"]["uid"]
    assert managed(made["metadata"]) == {("baker", "Apply"): {*shared, changed, LABEL}}

    if kind == "pizza":  # else the controller writes meanwhile
        until(lambda: admin("GET", f"{pizzas_path(namespace)}/one").json.get("status", {}).get("cost") == "1.50")
    again = [apply(obj(kind, 1, a="b"), "baker") for _ in range(2)]
    assert again[0]["metadata"]["resourceVersion"] == again[1]["metadata"]["resourceVersion"]

    with pytest.raises(Refused) as refused:
        apply(obj(kind, 2), "waiter")
    status = refused.value.status
    assert (status["code"], status["reason"]) == (409, "Conflict")
    assert status["message"] == f'Apply failed with 1 conflict: conflict with "baker": {field}'
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "baker"', "field": field}
    assert status["details"]["causes"] == [cause]

    forced = apply(obj(kind, 2), "waiter", force=True)
    owned = {("baker", "Apply"): {*shared, LABEL}, ("waiter", "Apply"): {*shared, changed}}
    assert managed(forced["metadata"]) == owned

    given_up = apply(obj(kind, 2), "baker")
    assert "labels" not in given_up["metadata"]
    owned = {("baker", "Apply"): {*shared, changed}, ("waiter", "Apply"): {*shared, changed}}
    assert managed(given_up["metadata"]) == owned, "both want the same"


FILE = [
    pizza("mine", tomato=1),
    {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "cooks"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "cook"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
    },
    {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "cook"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    },
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"a": "1"}},
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "labels": {"a": "b"}}},
]


def test_lightkube_applies_a_file(control_plane: ControlPlane, admin: Caller, namespace: str) -> None:
    """As its documentation says: loaded, sorted, applied again and again, deleted in reverse order."""
    with lightkube_client(control_plane, namespace) as kube:
        objects: list[Any] = sort_objects(codecs.load_all_yaml(yaml.safe_dump_all(FILE)))
        assert [each.kind for each in objects] == ["ServiceAccount", "ConfigMap", "Role", "RoleBinding", "Pizza"]
        first = [kube.apply(each, field_manager="team") for each in objects]
        again = [kube.apply(each, field_manager="team") for each in objects]
        assert [each.metadata.uid for each in first] == [each.metadata.uid for each in again]
        for each in again:
            assert ("team", "Apply") in managed(each.to_dict()["metadata"])
        backwards: list[Any] = sort_objects(objects, reverse=True)
        assert backwards[0].kind == "Pizza"
        for each in backwards:
            kube.delete(type(each), each.metadata.name)
    for path in (pizzas_path(namespace), maps_path(namespace)):
        assert gone(admin, f"{path}/mine")


def test_lightkube_applies_subresources(
    control_plane: ControlPlane, gadgets: SecondServer, admin: Caller, namespace: str
) -> None:
    kind: Any = create_namespaced_resource(OURS, VERSION, "Gadget", PLURAL)
    with lightkube_client(control_plane, namespace) as kube:
        kube.apply(kind(metadata={"name": "one"}, spec={"size": 3, "color": "green"}), field_manager="maker")
        ready = kube.apply(kind.Status(metadata={"name": "one"}, status={"ready": True}), field_manager="tester")
        assert ready.status == {"ready": True}
        scale = kind.Scale(metadata=ObjectMeta(name="one"), spec=ScaleSpec(replicas=5))
        with pytest.raises(ApiError, match=r'conflict with "maker": \.spec\.replicas'):
            kube.apply(scale, field_manager="scaler")
        scaled = kube.apply(scale, field_manager="scaler", force=True)
        assert scaled.spec.replicas == 5
    path = f"/apis/{OURS}/{VERSION}/namespaces/{namespace}/{PLURAL}/one"
    found = admin("GET", path).json
    assert (found["spec"]["size"], found["status"]) == (5, {"ready": True})
    entries = {entry["manager"]: entry for entry in found["metadata"]["managedFields"]}
    assert {name: (each["operation"], each.get("subresource", "")) for name, each in entries.items()} == {
        "maker": ("Apply", ""),
        "tester": ("Apply", "status"),
        "scaler": ("Apply", "scale"),
    }
    assert entries["scaler"]["fieldsV1"] == {"f:spec": {"f:size": {}}}
