"""What the page on missing features says is answered, is answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from extapi import Api, Group, Kind, Object, Version
from extapi.testing import InMemoryServer, serve

PATH = "/apis/docs.example.com/v1/namespaces/default/things"
THING = {"apiVersion": "docs.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
PROTOBUF = "application/vnd.kubernetes.protobuf"


class Thing(Object):
    pass


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    api = Api(Group("docs.example.com", Kind("Thing", storage="v1", versions={"v1": Version(Thing)})))
    with serve(api) as served:
        assert served.request("POST", PATH, body=THING).status == 201
        yield served


@pytest.mark.parametrize(
    "content_type",
    [
        "application/apply-patch+cbor",
        "application/strategic-merge-patch+json",
    ],
)
def test_patches(server: InMemoryServer, content_type: str) -> None:
    answer = server.request("PATCH", f"{PATH}/a", headers={"Content-Type": content_type}, body={})
    assert answer.status == 415
    assert answer.json()["reason"] == "UnsupportedMediaType"


@pytest.mark.parametrize("media_type", [PROTOBUF, "application/cbor"])
def test_binary_forms(server: InMemoryServer, media_type: str) -> None:
    assert server.request("POST", PATH, headers={"Content-Type": media_type}, body=THING).status == 415
    assert server.request("GET", PATH, headers={"Accept": media_type}).status == 406
    either = server.request("GET", PATH, headers={"Accept": f"{media_type},application/json"})
    assert (either.status, either.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize("path", [f"{PATH}/a/log", "/logs", "/debug/pprof"])
def test_paths(server: InMemoryServer, path: str) -> None:
    assert server.request("GET", path).status == 404


def test_field_selectors(server: InMemoryServer) -> None:
    answer = server.request("GET", PATH, {"fieldSelector": "spec.size=1"})
    assert answer.status == 400
    assert "field label not supported: spec.size" in answer.json()["message"]


def test_grace_periods(server: InMemoryServer) -> None:
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 3600}
    assert server.request("DELETE", f"{PATH}/a", body=options).status == 200
    assert server.request("GET", f"{PATH}/a").status == 404


def test_create_on_update(server: InMemoryServer) -> None:
    thing = {**THING, "metadata": {"name": "b"}}
    assert server.request("PUT", f"{PATH}/b", body=thing).status == 404


def test_deletecollection_refuses_first(server: InMemoryServer) -> None:
    assert server.request("DELETE", PATH, headers={"Accept": PROTOBUF}).status == 406
    assert server.request("GET", f"{PATH}/a").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_discovery_is_read_only(server: InMemoryServer, method: str) -> None:
    assert server.request(method, "/apis/docs.example.com/v1", body={}).status == 405


def test_an_old_hash_is_no_redirect(server: InMemoryServer) -> None:
    assert server.request("GET", "/openapi/v3/apis/docs.example.com/v1", {"hash": "OLD"}).status == 200


def test_large_answers_are_compressed_and_watches_are_not(server: InMemoryServer) -> None:
    big = {**THING, "metadata": {"name": "big", "annotations": {"x": "x" * 200_000}}}
    assert server.request("POST", PATH, body=big).status == 201
    gzip = {"Accept-Encoding": "gzip"}
    assert server.request("GET", f"{PATH}/big", headers=gzip).headers["content-encoding"] == "gzip"
    watch = server.watch(PATH, headers=gzip)
    assert "content-encoding" not in watch.reply.headers
    assert {event for event, _ in watch.events} == {"ADDED"}
    watch.close()


def test_limits(server: InMemoryServer) -> None:
    large = server.request("POST", PATH, body=b" " * (3 * 1024 * 1024 + 1))
    assert (large.status, large.json()["reason"]) == (413, "RequestEntityTooLarge")
    deep = b'{"a":' * 201 + b"1" + b"}" * 201
    assert server.request("POST", PATH, body=deep).status == 400
    headers = {"Content-Type": "application/json-patch+json"}
    many = [{"op": "test", "path": "/kind", "value": "Thing"}] * 10_001
    assert server.request("PATCH", f"{PATH}/a", headers=headers, body=many).status == 413
    text = "x" * 1_000_000
    growing = [{"op": "add", "path": "/metadata/annotations", "value": {"x": text}}]
    growing += [
        {"op": "copy", "from": "/metadata/annotations/x", "path": f"/metadata/annotations/y{n}"} for n in range(4)
    ]
    assert server.request("PATCH", f"{PATH}/a", headers=headers, body=growing).status in {413, 422}
