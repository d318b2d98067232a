"""Merged OpenAPI documents: what is taken of other servers', and that a broken one hurts nobody (behaviour D14-D16)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.controlplane.aggregator.cluster import GROUP_VERSION, NAME, Backend, Cluster, Seen, answer

KEY = GROUP_VERSION.removeprefix("/")
INDEX = {"paths": {KEY: {"serverRelativeURL": f"/openapi/v3/{KEY}?hash=ABC"}, "apis/other/v1": {}}}


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/definitions/{name}"}


def swagger(**definitions: Any) -> bytes:
    paths = {f"{GROUP_VERSION}/widgets": {"get": reference("Widget")}, "/apis/other/v1/x": {"get": reference("Other")}}
    return json.dumps({"swagger": "2.0", "paths": paths, "definitions": definitions}).encode()


def read_again(cluster: Cluster, backend: Backend) -> None:
    backend.seen.clear()
    remote = cluster.aggregator._remotes[NAME]
    remote.due = 0.0
    remote.poke()
    cluster.until(lambda: remote.due)
    cluster.turn()


def test_the_index_has_what_servers_publish_with_their_hashes(cluster: Cluster, backend: Backend) -> None:
    backend.answers["/openapi/v3"] = answer(json.dumps(INDEX).encode())
    read_again(cluster, backend)
    (seen,) = backend.asked("/openapi/v3")
    assert seen.values("x-remote-user") == ["system:aggregator"]
    assert not seen.values("x-remote-group")
    _, headers, body = cluster.read("/openapi/v3")
    paths = json.loads(body)["paths"]
    assert paths[KEY] == {"serverRelativeURL": f"/openapi/v3/{KEY}?hash=ABC"}
    assert "apis/apiregistration.k8s.io/v1" in paths
    assert "apis/other/v1" not in paths
    status, _, _ = cluster.read("/openapi/v3", **{"If-None-Match": headers["etag"]})
    assert status == 304


def test_documents_of_version_three_come_from_their_server(cluster: Cluster, backend: Backend) -> None:
    backend.answers["/openapi/v3"] = answer(json.dumps(INDEX).encode())
    backend.answers[f"/openapi/v3/{KEY}"] = answer(b"doc", "200 OK", "Cache-Control: public, immutable")
    read_again(cluster, backend)
    client = cluster.get(f"/openapi/v3/{KEY}?hash=ABC")
    assert client.body == b"doc"
    assert "Cache-Control: public, immutable" in client.head
    (seen,) = backend.asked(f"/openapi/v3/{KEY}")
    assert seen.line == f"GET /openapi/v3/{KEY}?hash=ABC HTTP/1.1"
    assert seen.values("x-remote-user") == ["jané"]
    assert cluster.get("/openapi/v3/apis/apiregistration.k8s.io/v1").head.startswith("HTTP/1.1 200")
    assert cluster.get("/openapi/v3/apis/no.where/v1").head.startswith("HTTP/1.1 404")


def test_a_server_without_version_three(cluster: Cluster, backend: Backend) -> None:
    for bad in (answer(b"", "404 Not Found"), answer(b"["), answer(b'{"paths": []}')):
        backend.answers["/openapi/v3"] = bad
        read_again(cluster, backend)
        _, _, body = cluster.read("/openapi/v3")
        assert KEY not in json.loads(body)["paths"]


def test_version_two_is_one_document(cluster: Cluster, backend: Backend) -> None:
    sent = swagger(Widget={"a": reference("Part")}, Part={"type": "string"}, Other={"type": "string"})
    backend.answers["/openapi/v2"] = answer(sent, "200 OK", 'ETag: "one"')
    read_again(cluster, backend)
    (seen,) = backend.asked("/openapi/v2")
    assert seen.values("accept") == ["application/json"]
    assert seen.values("x-remote-user") == ["system:aggregator"]
    _, headers, body = cluster.read("/openapi/v2")
    merged = json.loads(body)
    assert merged["swagger"] == "2.0"
    assert merged["paths"][f"{GROUP_VERSION}/widgets"] == {"get": reference("Widget")}
    assert "/apis/other/v1/x" not in merged["paths"]
    assert "/apis/apiregistration.k8s.io/v1/apiservices" in merged["paths"]
    assert merged["definitions"]["Widget"] == {"a": reference("Part")}
    assert merged["definitions"]["Part"] == {"type": "string"}
    assert "Other" not in merged["definitions"]
    assert cluster.read("/openapi/v2", **{"If-None-Match": headers["etag"]})[0] == 304

    def unchanged(seen: Seen) -> bytes:
        assert seen.values("if-none-match") == ['"one"']
        return b"HTTP/1.1 304 Not Modified\r\n\r\n"

    backend.answers["/openapi/v2"] = unchanged
    read_again(cluster, backend)
    assert backend.asked("/openapi/v2")
    assert cluster.read("/openapi/v2")[2] == body


def test_a_broken_document_is_left_out(cluster: Cluster, backend: Backend) -> None:
    before = cluster.read("/openapi/v2")[2]
    for bad in (b"{", b"[]", b'{"paths": 3}', b"\xff", b"[" * 100_000):
        backend.answers["/openapi/v2"] = answer(bad)
        read_again(cluster, backend)
        assert cluster.read("/openapi/v2")[2] == before


@pytest.mark.parametrize(
    "item",
    [
        {"get": "text"},
        {"parameters": ["text"]},
        {"get": {"responses": {"200": 7}}},
        ["list"],
        {"get": {"responses": None}},
    ],
)
def test_a_document_whose_parts_are_of_wrong_types_is_left_out(cluster: Cluster, backend: Backend, item: Any) -> None:
    """It is JSON, but no OpenAPI: in protobuf it could not be written, and neither could that of all the others."""
    protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    before = cluster.read("/openapi/v2", Accept=protobuf)
    assert before[0] == 200
    assert b"io.k8s.api.apiregistration.v1.APIService" in before[2]
    bad = {"swagger": "2.0", "paths": {f"{GROUP_VERSION}/widgets": item}, "definitions": {}}
    backend.answers["/openapi/v2"] = answer(json.dumps(bad).encode())
    read_again(cluster, backend)
    assert cluster.read("/openapi/v2", Accept=protobuf)[::2] == before[::2]


def test_a_document_that_is_gone_is_taken_out(cluster: Cluster, backend: Backend) -> None:
    before = cluster.read("/openapi/v2")[2]
    backend.answers["/openapi/v2"] = answer(swagger(Widget={}))
    read_again(cluster, backend)
    assert cluster.read("/openapi/v2")[2] != before
    backend.answers["/openapi/v2"] = answer(b"", "404 Not Found")
    read_again(cluster, backend)
    assert cluster.read("/openapi/v2")[2] == before


def test_an_accept_that_nobody_can_meet(cluster: Cluster) -> None:
    assert cluster.read("/openapi/v2", Accept="text/html")[0] == 406
