"""``extapi serve --workers 2`` behind a control plane: kubectl and a client library find one server, on either store.

One of its processes is killed on the way, which nobody notices who had no request there at that moment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest

from tests.etcds import etcd
from tests.kubernetes import second
from tests.kubernetes.apis import shared as api
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.killing import kill_worker
from tests.kubernetes.second import SecondServer

GROUP = api.groups[0].name
OBJECTS = 12
UNTYPED: Any = kubernetes


@pytest.fixture(params=["sqlite", pytest.param("etcd", marks=pytest.mark.kubernetes)])
def server(
    request: pytest.FixtureRequest, control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path
) -> Iterator[SecondServer]:
    target, flags = "tests.kubernetes.apis:shared", ["--workers=2"]
    if request.param == "sqlite":
        with second.running(control_plane, target, tmp_path, "", flags) as server:
            yield server
        return
    member = tmp_path / "etcd"
    member.mkdir()
    with etcd(member) as running:
        flags.append(f"--etcd-servers={running.url}")
        with second.running(control_plane, target, tmp_path, "etcd:", flags) as server:
            yield server


def body(name: str) -> dict[str, object]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Probe", "metadata": {"name": name}, "spec": {"size": 1, "free": {}}}


def test_it_is_one_server(
    server: SecondServer,
    kubectl: Kubectl,
    namespace: str,
    control_plane: ControlPlane,
    request: pytest.FixtureRequest,
) -> None:
    processes = 3 if request.node.callspec.params["server"] == "sqlite" else 2
    with UNTYPED.config.new_client_from_config(str(control_plane.kubeconfig)) as made:
        objects = UNTYPED.client.CustomObjectsApi(made)
        _conversation(objects, kubectl, namespace, lambda: kill_worker(server.pid, processes))


def _conversation(objects: Any, kubectl: Kubectl, namespace: str, kill: Callable[[], None]) -> None:
    where = (GROUP, "v1", namespace, "probes")
    begin = objects.list_namespaced_custom_object(*where)["metadata"]["resourceVersion"]
    for number in range(OBJECTS):
        objects.create_namespaced_custom_object(*where, body(f"p{number}"))
        assert len(objects.list_namespaced_custom_object(*where)["items"]) == number + 1
    kill()
    assert len(objects.list_namespaced_custom_object(*where)["items"]) == OBJECTS
    kubectl("-n", namespace, "label", f"probes.{GROUP}", "--all", "seen=yes")
    found = json.loads(kubectl("-n", namespace, "get", f"probes.{GROUP}", "-l", "seen=yes", "-o", "json"))["items"]
    assert len(found) == OBJECTS
    kubectl("-n", namespace, "delete", f"probes.{GROUP}", "--all")
    events = []
    stream = UNTYPED.watch.Watch()
    for event in stream.stream(
        objects.list_namespaced_custom_object, *where, resource_version=begin, timeout_seconds=60
    ):
        events.append(event["type"])
        if events.count("DELETED") == OBJECTS:
            stream.stop()
    assert [events.count(kind) for kind in ("ADDED", "MODIFIED", "DELETED")] == [OBJECTS] * 3
