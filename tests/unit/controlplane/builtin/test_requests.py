"""Kinds that do as Kubernetes' own do: protobuf bodies and strategic merge patches, over the whole chain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from extapi import Api, Group, Kind, ListMap, Object, Struct, Version
from extapi.api.behaviour import CUSTOM_RESOURCE, Behaviour
from extapi.api.markers import MergeKey
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.builtin.protobuf import Messages
from extapi.testing import InMemoryServer, ServerResponse, serve

PROTOBUF = "application/vnd.kubernetes.protobuf"
STRATEGIC = "application/strategic-merge-patch+json"
ROOT = "/apis/native.example.com/v1/namespaces/default"

MESSAGES = Messages("""
Thing: 1 metadata ObjectMeta; 2 spec ThingSpec
ThingSpec: 1 ports []Port
Port: 1 name; 2 port! int32
ObjectMeta: 1 name; 2 generateName; 3 namespace
DeleteOptions: 5 dryRun []string
""")


class Port(Struct):
    name: str = ""
    port: int


class ThingSpec(Struct):
    ports: Annotated[list[Port] | None, ListMap("port"), MergeKey("port")] = None
    words: Annotated[list[str] | None, MergeKey()] = None


class Thing(Object):
    spec: ThingSpec | None = None


def kind(name: str, behaviour: Behaviour) -> Kind:
    return Kind(name, versions={"v1": Version(Thing)}, storage="v1", status=False, behaviour=behaviour)


API = Api(
    Group(
        "native.example.com",
        kind("Thing", built_in(MESSAGES)),
        kind("Plain", built_in(strategic_merge=False)),
        kind("Custom", CUSTOM_RESOURCE),
    )
)


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    with serve(API) as running:
        yield running


def chunk(field: int, value: bytes) -> bytes:
    return bytes([field << 3 | 2, len(value)]) + value


def thing(name: bytes = b"a", type_kind: bytes = b"Thing") -> bytes:
    port = chunk(1, b"http") + b"\x10\x50"
    raw = chunk(1, chunk(1, name)) + chunk(2, chunk(1, port))
    return b"k8s\0" + chunk(1, chunk(1, b"native.example.com/v1") + chunk(2, type_kind)) + chunk(2, raw)


def send(server: InMemoryServer, method: str, path: str, body: bytes, content_type: str) -> ServerResponse:
    path, _, query = path.partition("?")
    pairs = [tuple(pair.split("=")) for pair in query.split("&") if pair]
    headers = {"Content-Type": content_type}
    return server.request(method, f"{ROOT}/{path}", [(pair[0], pair[1]) for pair in pairs], headers, body)


def patch(server: InMemoryServer, body: Any, query: str = "", *, name: str = "things/a") -> ServerResponse:
    return send(server, "PATCH", f"{name}{query}", json.dumps(body).encode(), STRATEGIC)


def test_create_and_update_in_protobuf(server: InMemoryServer) -> None:
    answer = send(server, "POST", "things?fieldValidation=Strict", thing(), PROTOBUF)
    assert answer.status == 201
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["spec"] == {"ports": [{"name": "http", "port": 80}]}
    assert answer.json()["metadata"]["namespace"] == "default"
    changed = send(server, "PUT", "things/a", thing().replace(b"http", b"tcpp"), f"{PROTOBUF};stream=watch")
    assert changed.json()["spec"] == {"ports": [{"name": "tcpp", "port": 80}]}


def test_delete_options_in_protobuf(server: InMemoryServer) -> None:
    send(server, "POST", "things", thing(), PROTOBUF)
    assert send(server, "DELETE", "things/a", b"k8s\0" + chunk(2, chunk(5, b"All")), PROTOBUF).status == 200
    assert server.request("GET", f"{ROOT}/things/a").status == 200
    assert send(server, "DELETE", "things", b"k8s\0" + chunk(2, b""), PROTOBUF).status == 200
    assert server.request("GET", f"{ROOT}/things/a").status == 404


def test_another_kind_is_refused(server: InMemoryServer) -> None:
    answer = send(server, "POST", "things", thing(type_kind=b"Other"), PROTOBUF)
    assert answer.status == 400
    assert answer.json()["message"] == (
        'Other in version "v1" cannot be handled as a Thing: no kind "Other" is registered for version '
        '"native.example.com/v1" in scheme "pkg/runtime/scheme.go:111"'
    )


@pytest.mark.parametrize("path", ["plains", "customs"])
def test_other_kinds_take_no_protobuf(server: InMemoryServer, path: str) -> None:
    answer = send(server, "POST", path, thing(), PROTOBUF)
    assert (answer.status, answer.json()["reason"]) == (415, "UnsupportedMediaType")
    send(server, "POST", path, b'{"apiVersion":"native.example.com/v1","kind":"%s","metadata":{"name":"a"}}' % (
        path[:-1].capitalize().encode()
    ), "application/json")  # fmt: skip
    assert send(server, "DELETE", f"{path}/a", b"k8s\0" + chunk(2, b""), PROTOBUF).status == 415


@pytest.mark.parametrize("path", ["plains/a", "customs/a"])
def test_other_kinds_take_no_strategic_merge_patch(server: InMemoryServer, path: str) -> None:
    answer = patch(server, {}, name=path)
    assert answer.status == 415
    assert "strategic" not in answer.json()["message"]


def test_a_strategic_merge_patch(server: InMemoryServer) -> None:
    send(server, "POST", "things", thing(), PROTOBUF)
    answer = patch(server, {"spec": {"ports": [{"port": 81, "name": "b"}], "words": ["x"]}})
    assert answer.status == 200
    assert answer.json()["spec"] == {
        "ports": [{"name": "b", "port": 81}, {"name": "http", "port": 80}],
        "words": ["x"],
    }
    answer = patch(
        server, {"apiVersion": "v9", "kind": "Foo", "metadata": {"finalizers": ["a.b/c"]}, "spec": {"words": ["y"]}}
    )
    assert answer.json()["spec"]["words"] == ["y", "x"]
    assert (answer.json()["kind"], answer.json()["metadata"]["finalizers"]) == ("Thing", ["a.b/c"])
    answer = patch(
        server, {"spec": {"ports": [{"port": 80, "$patch": "delete"}], "$deleteFromPrimitiveList/words": ["x"]}}
    )
    assert answer.json()["spec"] == {"ports": [{"name": "b", "port": 81}], "words": ["y"]}


def test_its_refusals(server: InMemoryServer) -> None:
    """The patch is shown as Go prints it, and what nobody knows is told as for any patch."""
    send(server, "POST", "things", thing(), PROTOBUF)
    answer = patch(server, {"foo": {"b": 1, "a": [None, True, 1.5]}}, "?fieldValidation=Strict")
    assert (answer.status, answer.json()["message"]) == (
        422,
        ' "" is invalid: patch: Invalid value: "map[foo:map[a:[<nil> true 1.5] b:1]]": strict decoding error: unknown field "foo"',
    )
    answer = patch(server, {"foo": 1})
    assert (answer.status, answer.headers["warning"]) == (200, '299 - "unknown field \\"foo\\""')
    answer = patch(server, {"spec": {"ports": [{"name": "x"}]}})
    assert answer.json() == {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": "map: map[name:x] does not contain declared merge key: port",
        "code": 500,
    }
    answer = patch(server, {"metadata": {"labels": 5}})
    assert (answer.status, answer.json()["details"]["causes"][0]["field"]) == (422, "patch")
    assert 'Invalid value: "map[metadata:map[labels:5]]"' in answer.json()["message"]
    answer = patch(server, {"$patch": "replace"})
    assert (
        answer.json()["message"] == "the name of the object (a based on URL) was undeterminable: name must be provided"
    )


@pytest.mark.parametrize(("change", "named"), [({"kind": "Foo"}, ("Foo", "v1")), ({"apiVersion": "native.example.com/v2"}, ("Thing", "v2"))])  # fmt: skip
def test_other_patches_keep_the_type(server: InMemoryServer, change: dict[str, str], named: tuple[str, str]) -> None:
    send(server, "POST", "things", thing(), PROTOBUF)
    answer = send(server, "PATCH", "things/a", json.dumps(change).encode(), "application/merge-patch+json")
    assert answer.status == 422
    assert answer.json()["message"].startswith(' "" is invalid: patch: Invalid value: "{')
    kind, version = named
    assert answer.json()["message"].endswith(
        f': no kind "{kind}" is registered for version "native.example.com/{version}" in scheme "pkg/runtime/scheme.go:111"'
    )


def test_merge_keys_are_published(server: InMemoryServer) -> None:
    """By them kubectl computes its patches."""
    document = server.request("GET", "/openapi/v2").json()
    (found,) = (schema for name, schema in document["definitions"].items() if name.endswith("v1.Thing"))
    ports = found["properties"]["spec"]["properties"]["ports"]
    assert (ports["x-kubernetes-patch-merge-key"], ports["x-kubernetes-patch-strategy"]) == ("port", "merge")
    words = found["properties"]["spec"]["properties"]["words"]
    assert (words["x-kubernetes-patch-strategy"], "x-kubernetes-patch-merge-key" in words) == ("merge", False)
    document = server.request("GET", "/openapi/v3/apis/native.example.com/v1").json()
    (found,) = (schema for name, schema in document["components"]["schemas"].items() if name.endswith("v1.Thing"))
    ports = found["properties"]["spec"]["properties"]["ports"]
    assert (ports["x-kubernetes-patch-merge-key"], ports["x-kubernetes-patch-strategy"]) == ("port", "merge")
    paths = document["paths"]
    assert (
        STRATEGIC
        in paths[f"{ROOT.replace('default', '{namespace}')}/things/{{name}}"]["patch"]["requestBody"]["content"]
    )
    assert (
        STRATEGIC
        not in paths[f"{ROOT.replace('default', '{namespace}')}/customs/{{name}}"]["patch"]["requestBody"]["content"]
    )
