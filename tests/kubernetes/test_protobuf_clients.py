"""Clients of Go that prefer protobuf: the metadata client with any kind, the typed client with Kubernetes' own kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes import golang
from tests.kubernetes.calling import MERGE
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.following import GoInformer
from tests.kubernetes.pizzas import GROUP, pizza
from tests.waiting import until

pytestmark = pytest.mark.kubernetes  # a program of Go

PROTOBUF = "application/vnd.kubernetes.protobuf"
EVENT = {
    "eventTime": "2026-01-02T03:04:05.678901Z",
    "reportingController": "a/b",
    "reportingInstance": "i",
    "action": "a",
    "reason": "r",
    "type": "Normal",
    "note": "n",
}
OWN: dict[tuple[str, str, str], dict[str, Any]] = {
    ("", "v1", "configmaps"): {"data": {"a": "b"}},
    ("", "v1", "secrets"): {"data": {"a": "AAE="}},
    ("", "v1", "serviceaccounts"): {},
    ("coordination.k8s.io", "v1", "leases"): {"spec": {"holderIdentity": "me"}},
    ("events.k8s.io", "v1", "events"): EVENT,
    ("rbac.authorization.k8s.io", "v1", "roles"): {
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["x"]}]
    },
}
"""Resources with an object of each."""


@pytest.fixture(scope="module")
def program() -> Path:
    return golang.informer()


@pytest.fixture
def follow(
    control_plane: ControlPlane, program: Path, namespace: str, tmp_path: Path
) -> Iterator[Callable[..., GoInformer]]:
    """Start an informer of a resource; it knows what is there once this returns."""
    with ExitStack() as running:

        def start(flag: str, resource: tuple[str, str, str]) -> GoInformer:
            started = GoInformer(
                program, control_plane.kubeconfig, namespace, tmp_path / "told.jsonl", flag, resource=resource
            )
            running.callback(started.end)
            started.wait_synced()
            return started

        yield start


def told(informer: GoInformer, name: str) -> list[tuple[str, dict[str, str]]]:
    """What it was told of an object: each event with the object's labels."""
    return [(each["event"], each.get("labels", {})) for each in informer.said() if each.get("name") == name]


def followed(control_plane: ControlPlane, informer: GoInformer, path: str, obj: dict[str, Any]) -> None:
    """Create, label and delete an object, which the informer has to see, all of it in protobuf."""
    client = control_plane.client
    client.request("POST", path, {**obj, "metadata": {"name": "mine", "labels": {"a": "b"}}})
    until(lambda: told(informer, "mine")[:1] == [("add", {"a": "b"})], 20)
    client.request("PATCH", f"{path}/mine", {"metadata": {"labels": {"a": "c"}}}, MERGE)
    until(lambda: told(informer, "mine")[-1] == ("update", {"a": "c"}), 20)
    client.delete(f"{path}/mine")
    until(lambda: told(informer, "mine")[-1][0] == "delete", 20)
    answers = [each for each in informer.said() if each["event"] == "request"]
    assert {each["status"] for each in answers} == {200}
    assert {each["contentType"].partition(";")[0] for each in answers} == {PROTOBUF}


@pytest.mark.usefixtures("menu")
def test_the_metadata_client_follows_a_kind_of_an_extension_server(
    control_plane: ControlPlane, follow: Callable[..., GoInformer], namespace: str
) -> None:
    informer = follow("--metadata", (GROUP, "v1beta1", "pizzas"))
    followed(control_plane, informer, f"/apis/{GROUP}/v1beta1/namespaces/{namespace}/pizzas", pizza("mine"))


@pytest.mark.parametrize("resource", OWN)
@pytest.mark.parametrize("flag", ["--metadata", "--typed"])
def test_clients_follow_the_control_planes_own_kinds(
    control_plane: ControlPlane,
    follow: Callable[..., GoInformer],
    namespace: str,
    flag: str,
    resource: tuple[str, str, str],
) -> None:
    group, version, plural = resource
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    obj = OWN[resource] | (
        {"regarding": {"kind": "Pod", "name": "p", "namespace": namespace}} if "events" in group else {}
    )
    followed(control_plane, follow(flag, resource), f"{root}/namespaces/{namespace}/{plural}", obj)
