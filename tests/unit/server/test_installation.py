"""Versions that are declared and not served, as a CRD's version with ``served: false``; and their own subresources.

Expected is what ``apiextensions-apiserver`` does (customresource_discovery_controller.go, customresource_handler.go); the
differential twins ask a running one the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi import Api, Group, Kind, Object, Scale, Struct, Version
from extapi.storage.memory import MemoryBackend
from extapi.testing import InMemoryServer, serve

GROUP = "lamps.example.com"
LAMPS = f"/apis/{GROUP}/{{}}/namespaces/default/lamps"


class Spec(Struct):
    mode: str = ""


class Lamp(Object):
    spec: Spec = Spec()


class OldSpec(Struct):
    enabled: bool = False


class OldLamp(Object):
    spec: OldSpec = OldSpec()


def to_hub(old: OldLamp) -> Lamp:
    return Lamp(spec=Spec(mode="On" if old.spec.enabled else "Off"))


def from_hub(lamp: Lamp) -> OldLamp:
    return OldLamp(spec=OldSpec(enabled=lamp.spec.mode == "On"))


def lamps(storage: str, **served: bool) -> Kind:
    """v1, and v1beta1 and v2 in an older form."""
    old = {
        name: Version(
            OldLamp, to_hub=to_hub, from_hub=from_hub, served=served.get(name, True), deprecated=name == "v1beta1"
        )
        for name in ("v1beta1", "v2")
    }
    return Kind("Lamp", storage=storage, hub=Lamp, versions={"v1": Version(Lamp, served=served.get("v1", True)), **old})


def lamp(version: str, name: str = "a", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Lamp", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    with serve(Api(Group(GROUP, lamps("v2", v2=False)))) as server:
        yield server


def test_nothing_is_served_in_it(server: InMemoryServer) -> None:
    for path in (LAMPS.format("v2"), f"{LAMPS.format('v2')}/a", f"{LAMPS.format('v2')}/a/status", f"/apis/{GROUP}/v2"):
        assert server.request("GET", path).status == 404
    assert server.request("POST", LAMPS.format("v2"), body=lamp("v2")).status == 404
    assert server.request("POST", LAMPS.format("v1"), body=lamp("v2")).status == 400


def test_it_is_in_no_document(server: InMemoryServer) -> None:
    """Not even as the version of the storage: its hash is told only where that is served."""
    group = server.request("GET", f"/apis/{GROUP}").json()
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v1"
    resources = server.request("GET", f"/apis/{GROUP}/v1").json()["resources"]
    assert [sorted({"storageVersionHash"} & one.keys()) for one in resources] == [[], []]
    assert list(server.request("GET", "/openapi/v3").json()["paths"]) == [f"apis/{GROUP}/v1", f"apis/{GROUP}/v1beta1"]
    assert f"/apis/{GROUP}/v2/" not in server.request("GET", "/openapi/v2").body.decode()
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    (item,) = server.request("GET", "/apis", {}, accept).json()["items"]
    assert [version["version"] for version in item["versions"]] == ["v1", "v1beta1"]


def test_objects_are_stored_in_it_and_converted() -> None:
    backend = MemoryBackend(Clock())
    with serve(Api(Group(GROUP, lamps("v2", v2=False))), backend=backend) as server:
        assert server.request("POST", LAMPS.format("v1"), body=lamp("v1", mode="On")).json()["spec"] == {"mode": "On"}
        stored = server.run(backend.get(f"/registry/{GROUP}/lamps/default/a".encode()))
        assert stored is not None
        assert msgspec.json.decode(stored.value)["apiVersion"] == f"{GROUP}/v2"
        assert server.request("GET", f"{LAMPS.format('v1beta1')}/a").json()["spec"] == {"enabled": True}
        patched = server.request(
            "PATCH",
            f"{LAMPS.format('v1')}/a",
            {},
            {"Content-Type": "application/merge-patch+json"},
            {"spec": {"mode": "Off"}},
        )
        assert patched.json()["spec"] == {"mode": "Off"}


def test_what_was_stored_in_it_when_it_was_served_can_be_read() -> None:
    backend = MemoryBackend(Clock())
    for key, value in {
        f"/extapi/storedversions/{GROUP}/lamps": ["v2"],
        f"/registry/{GROUP}/lamps/default/a": lamp("v2", enabled=True)
        | {"metadata": {"name": "a", "namespace": "default"}},
    }.items():
        Deferred.fromCoroutine(backend.commit(key.encode(), msgspec.json.encode(value), expected=0))
    with serve(Api(Group(GROUP, lamps("v1", v2=False))), backend=backend) as server:
        (found,) = server.request("GET", LAMPS.format("v1")).json()["items"]
        assert (found["apiVersion"], found["spec"]) == (f"{GROUP}/v1", {"mode": "On"})


def test_a_warning_advises_only_what_is_served() -> None:
    with serve(Api(Group(GROUP, lamps("v1", v1=False, v2=False)))) as server:
        answer = server.request("GET", LAMPS.format("v1beta1"))
        assert answer.headers["warning"] == f'299 - "{GROUP}/v1beta1 Lamp is deprecated"'


ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_a_version_may_lack_status() -> None:
    """Then it writes it with the rest, and counts it (customresource/strategy.go)."""
    versions = {"v1": Version(ANY), "v1beta1": Version(ANY, status=False)}
    with serve(Api(Group(GROUP, Kind("Lamp", storage="v1", versions=versions)))) as server:
        one, old = (f"{LAMPS.format(version)}/a" for version in versions)
        merge = {"Content-Type": "application/merge-patch+json"}
        made = server.request("POST", LAMPS.format("v1beta1"), body={**lamp("v1beta1"), "status": {"on": 1}})
        assert made.json()["status"] == {"on": 1}
        assert server.request("PATCH", one, {}, merge, {"status": {"on": 2}}).json()["status"] == {"on": 1}
        changed = server.request("PATCH", old, {}, merge, {"status": {"on": 3}}).json()
        assert (changed["status"], changed["metadata"]["generation"]) == ({"on": 3}, 2)
        changed = server.request("PATCH", f"{one}/status", {}, merge, {"status": {"on": 4}}).json()
        assert (changed["status"], changed["metadata"]["generation"]) == ({"on": 4}, 2)
        assert server.request("GET", f"{old}/status").status == 404
        for version, names in (("v1", ["lamps", "lamps/status"]), ("v1beta1", ["lamps"])):
            resources = server.request("GET", f"/apis/{GROUP}/{version}").json()["resources"]
            assert [resource["name"] for resource in resources] == names
            paths = server.request("GET", f"/openapi/v3/apis/{GROUP}/{version}").json()["paths"]
            assert any(path.endswith("/status") for path in paths) == (version == "v1")


SCALE = Scale(spec_replicas_path=".spec.n", status_replicas_path=".status.n")
PARTS = Kind(
    "Lamp",
    storage="v1",
    versions={
        "v1": Version(ANY),
        "v1beta1": Version(ANY, status=False),
        "v1alpha1": Version(ANY, scale=False),
        "v1alpha2": Version(ANY, status=False, scale=False),
    },
    scale=SCALE,
)
HAS = {"v1": ["status", "scale"], "v1beta1": ["scale"], "v1alpha1": ["status"], "v1alpha2": []}


@pytest.fixture
def parts() -> Iterator[InMemoryServer]:
    with serve(Api(Group(GROUP, PARTS))) as server:
        yield server


def test_discovery_lists_the_subresources_of_each_version(parts: InMemoryServer) -> None:
    """In the order of ``customresource_discovery_controller.go``."""
    status = {
        "name": "lamps/status",
        "singularName": "",
        "namespaced": True,
        "kind": "Lamp",
        "verbs": ["get", "patch", "update"],
    }
    scale = {**status, "name": "lamps/scale", "group": "autoscaling", "version": "v1", "kind": "Scale"}
    for version, has in HAS.items():
        resources = parts.request("GET", f"/apis/{GROUP}/{version}").json()["resources"]
        assert resources[1:] == [{"status": status, "scale": scale}[name] for name in has]
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    (item,) = parts.request("GET", "/apis", {}, accept).json()["items"]
    for version in item["versions"]:
        (resource,) = version["resources"]
        kinds = {
            "status": {"group": GROUP, "version": version["version"], "kind": "Lamp"},
            "scale": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        }
        assert resource.get("subresources", []) == [
            {"subresource": name, "responseKind": kinds[name], "verbs": ["get", "patch", "update"]}
            for name in HAS[version["version"]]
        ]


def test_openapi_has_the_subresources_of_each_version(parts: InMemoryServer) -> None:
    for version, has in HAS.items():
        document = parts.request("GET", f"/openapi/v3/apis/{GROUP}/{version}").json()
        one = f"{LAMPS.format(version).replace('default', '{namespace}')}/{{name}}"
        assert {path.removeprefix(f"{one}/") for path in document["paths"] if path.startswith(f"{one}/")} == set(has)
        scales = {f"io.k8s.api.autoscaling.v1.{name}" for name in ("Scale", "ScaleSpec", "ScaleStatus")}
        assert scales & document["components"]["schemas"].keys() == (scales if "scale" in has else set())
        if "scale" in has:
            put = document["paths"][f"{one}/scale"]["put"]
            assert put["operationId"] == f"replaceLampsExampleComV{version[1:]}NamespacedLampScale"
            assert put["x-kubernetes-group-version-kind"] == {"group": GROUP, "version": version, "kind": "Lamp"}
            sent = put["requestBody"]["content"]["application/json"]["schema"]
            assert sent == {"$ref": "#/components/schemas/io.k8s.api.autoscaling.v1.Scale"}
    swagger = parts.request("GET", "/openapi/v2").json()
    spec = swagger["definitions"]["io.k8s.api.autoscaling.v1.Scale"]["properties"]["spec"]
    assert spec["$ref"] == "#/definitions/io.k8s.api.autoscaling.v1.ScaleSpec"
    assert set(spec) == {"$ref", "description"}
