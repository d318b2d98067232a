"""Merged discovery: order, freshness, and how servers are asked (behaviour C7-C17, D11-D13, D17)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from extapi.controlplane.aggregator.discovery import MergedDiscovery, converted
from extapi.controlplane.aggregator.services import APIServiceInfo
from extapi.errors import NotFound
from tests.unit.client.building import run
from tests.unit.controlplane.aggregator.cluster import API_SERVICES, GROUP_VERSION, NAME, Backend, Cluster, Seen, answer

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"


def discovery(resource: str, etag: str = "") -> bytes:
    """What an extension server says in aggregated form."""
    versions = [
        {"version": "v1", "freshness": "Current", "resources": [{"resource": resource, "verbs": ["get"]}]},
        {"version": "v9", "freshness": "Current", "resources": [{"resource": "others", "verbs": ["get"]}]},
    ]
    content = {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "items": [{"metadata": {"name": "shop.example.com"}, "versions": versions}],
    }
    extra = [f"ETag: {etag}"] if etag else []
    return answer(json.dumps(content).encode(), "200 OK", f"Content-Type: {V2}", *extra)


def aggregated(cluster: Cluster, accept: str = V2) -> dict[str, Any]:
    status, _, body = cluster.read("/apis", Accept=accept)
    assert status == 200
    return dict(json.loads(body))


def version_of(cluster: Cluster, group: str, version: str = "v1") -> dict[str, Any]:
    (found,) = [
        each
        for item in aggregated(cluster)["items"]
        if item["metadata"]["name"] == group
        for each in item["versions"]
        if each["version"] == version
    ]
    return dict(found)


def test_groups_are_in_the_order_of_their_apiservices(cluster: Cluster) -> None:
    backend = cluster.backend()
    for name, group, version in (
        ("v1.low.example.com", 100, 15),
        ("v1.high.example.com", 2000, 10),
        ("v2.high.example.com", 2000, 10),
        ("v1beta1.high.example.com", 2000, 20),
        ("v1.amid.example.com", 1000, 15),
    ):
        cluster.register(backend.number, name=name, groupPriorityMinimum=group, versionPriority=version)
    cluster.turn()
    assert cluster.read("/apis") == cluster.read("/apis")
    names = ["apiregistration.k8s.io", "high.example.com", "amid.example.com", "low.example.com"]
    _, headers, body = cluster.read("/apis")
    listed = json.loads(body)
    assert headers["content-type"] == "application/json"
    assert listed["kind"] == "APIGroupList"
    assert listed["apiVersion"] == "v1"  # seen on kube-apiserver 1.36.3; servers behind it leave it out (behaviour C7)
    assert [group["name"] for group in listed["groups"]] == names
    high = listed["groups"][1]
    assert high == {
        "name": "high.example.com",
        "versions": [
            {"groupVersion": "high.example.com/v1beta1", "version": "v1beta1"},
            {"groupVersion": "high.example.com/v2", "version": "v2"},
            {"groupVersion": "high.example.com/v1", "version": "v1"},
        ],
        "preferredVersion": {"groupVersion": "high.example.com/v1beta1", "version": "v1beta1"},
    }
    merged = aggregated(cluster)
    assert [item["metadata"]["name"] for item in merged["items"]] == names
    assert [each["version"] for each in merged["items"][1]["versions"]] == ["v1beta1", "v2", "v1"]
    _, _, body = cluster.read("/apis/high.example.com")
    assert json.loads(body) == {"kind": "APIGroup", "apiVersion": "v1", **high}
    assert b'\n  "kind": "APIGroup"' in cluster.get("/apis/high.example.com?pretty=true").body
    _, _, body = cluster.read("/apis/high.example.com", Accept="application/yaml")
    assert b"preferredVersion:" in body
    _, _, body = cluster.read("/")
    paths = json.loads(body)["paths"]
    assert {"/apis/high.example.com", "/apis/high.example.com/v2", "/apis", "/api/v1", "/version"} <= set(paths)
    assert paths == sorted(paths)


def test_a_server_is_asked_in_aggregated_form(cluster: Cluster, backend: Backend) -> None:
    backend.answers["/apis"] = discovery("widgets", '"one"')
    remote = cluster.aggregator._remotes[NAME]
    remote.due = 0.0
    remote.poke()
    cluster.until(lambda: backend.asked("/apis"))
    cluster.turn()
    (seen,) = backend.asked("/apis")
    assert seen.values("accept") == [f"{V2},{V2BETA1}"]
    assert seen.values("x-remote-user") == ["system:kube-aggregator"]
    assert seen.values("x-remote-group") == ["system:masters"]
    expected = {"version": "v1", "freshness": "Current", "resources": [{"resource": "widgets", "verbs": ["get"]}]}
    assert version_of(cluster, "shop.example.com") == expected
    merged = aggregated(cluster)
    assert merged["kind"] == "APIGroupDiscoveryList"
    assert merged["apiVersion"] == "apidiscovery.k8s.io/v2"
    assert aggregated(cluster, V2BETA1)["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    local = {resource["resource"] for resource in version_of(cluster, "apiregistration.k8s.io")["resources"]}
    assert local == {"apiservices"}

    def unchanged(seen: Seen) -> bytes:
        assert seen.values("if-none-match") == ['"one"']
        return b"HTTP/1.1 304 Not Modified\r\n\r\n"

    backend.answers["/apis"] = unchanged
    remote.due = 0.0
    remote.poke()
    cluster.until(lambda: len(backend.asked("/apis")) == 2)
    cluster.turn()
    assert version_of(cluster, "shop.example.com") == expected
    assert remote.due > cluster.reactor.seconds() + 50


def test_a_server_that_is_away_is_stale_and_its_resources_are_kept(cluster: Cluster, backend: Backend) -> None:
    backend.answers["/apis"] = discovery("widgets")
    remote = cluster.aggregator._remotes[NAME]
    remote.due = 0.0
    remote.poke()
    cluster.until(lambda: version_of(cluster, "shop.example.com").get("resources"))
    number = backend.number
    cluster.close(backend)
    remote.poke()
    cluster.until(lambda: version_of(cluster, "shop.example.com")["freshness"] == "Stale", seconds=4)
    assert version_of(cluster, "shop.example.com")["resources"] == [{"resource": "widgets", "verbs": ["get"]}]
    again = cluster.backend(number)
    again.answers["/apis"] = discovery("gadgets")
    cluster.until(lambda: version_of(cluster, "shop.example.com")["freshness"] == "Current", seconds=4)
    cluster.until(lambda: "gadgets" in str(version_of(cluster, "shop.example.com")["resources"]))


def test_a_server_that_was_never_there_is_stale_and_empty(cluster: Cluster) -> None:
    cluster.register(1)
    cluster.turn()
    assert version_of(cluster, "shop.example.com") == {"version": "v1", "freshness": "Stale"}


def test_the_etag_is_of_the_whole_document(cluster: Cluster, backend: Backend) -> None:
    _, headers, body = cluster.read("/apis", Accept=V2)
    etag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
    assert headers["etag"] == etag
    assert headers["content-type"] == V2
    assert headers["vary"] == "Accept"
    assert headers["cache-control"] == "public"
    status, _, body = cluster.read("/apis", Accept=V2, **{"If-None-Match": etag})
    assert (status, body) == (304, b"")
    cluster.register(1, name="v2.shop.example.com")
    cluster.turn()
    status, headers, _ = cluster.read("/apis", Accept=V2, **{"If-None-Match": etag})
    assert status == 200
    assert headers["etag"] != etag


def test_a_server_that_speaks_only_by_version(cluster: Cluster, backend: Backend) -> None:
    resources = [
        {"name": "widgets", "singularName": "widget", "namespaced": True, "kind": "Widget", "verbs": ["get", "list"]},
        {"name": "widgets/status", "singularName": "", "namespaced": True, "kind": "Widget", "verbs": ["get"]},
    ]
    listed = {"kind": "APIResourceList", "groupVersion": "shop.example.com/v1", "resources": resources}
    backend.answers["/apis"] = answer(b"{}", "406 Not Acceptable")
    backend.answers[GROUP_VERSION] = answer(json.dumps(listed).encode())
    remote = cluster.aggregator._remotes[NAME]
    remote.due = 0.0
    remote.poke()
    cluster.until(lambda: version_of(cluster, "shop.example.com").get("resources"))
    cluster.until(lambda: remote.due)
    seen = backend.asked(GROUP_VERSION)[-1]
    assert seen.values("accept") == ["application/json"]
    assert seen.values("x-remote-user") == ["system:kube-aggregator"]
    assert not seen.values("x-remote-group")
    backend.answers[GROUP_VERSION] = lambda seen: (
        answer(b"", "403 Forbidden") if seen.values("accept") else answer(json.dumps(listed).encode())
    )
    remote.due = 0.0
    remote.poke()
    cluster.until(lambda: version_of(cluster, "shop.example.com")["freshness"] == "Stale")
    kind = {"group": "shop.example.com", "version": "v1", "kind": "Widget"}
    assert version_of(cluster, "shop.example.com")["resources"] == [
        {
            "resource": "widgets",
            "responseKind": kind,
            "scope": "Namespaced",
            "singularResource": "widget",
            "verbs": ["get", "list"],
            "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["get"]}],
        }
    ]


def test_a_subresource_without_a_parent_makes_one() -> None:
    service = APIServiceInfo("v1.g", "g", "v1", 1, 1, None)
    scale = {"name": "a/scale", "namespaced": False, "kind": "Scale", "group": "autoscaling", "version": "v1"}
    found = converted(service, {"resources": [scale, {"name": "b", "kind": "B", "shortNames": ["x"]}]})
    assert found["resources"] == [
        {
            "resource": "a",
            "responseKind": {},
            "scope": "Cluster",
            "singularResource": "",
            "subresources": [
                {
                    "subresource": "scale",
                    "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                    "verbs": [],
                }
            ],
        },
        {
            "resource": "b",
            "responseKind": {"group": "g", "version": "v1", "kind": "B"},
            "scope": "Cluster",
            "singularResource": "",
            "verbs": [],
            "shortNames": ["x"],
        },
    ]


def test_what_is_no_discovery_is_not_taken(cluster: Cluster, backend: Backend) -> None:
    remote = cluster.aggregator._remotes[NAME]
    before = version_of(cluster, "shop.example.com")
    for bad in (
        answer(b"{", "200 OK", f"Content-Type: {V2}"),
        answer(b"[]", "200 OK", f"Content-Type: {V2}"),
        answer(b'{"items":[{"versions":[{}]}]}', "200 OK", f"Content-Type: {V2}"),
        answer(b"", "503 Service Unavailable"),
    ):
        backend.seen.clear()
        backend.answers["/apis"] = bad
        remote.due = 0.0
        remote.poke()
        cluster.until(lambda: backend.asked("/apis"))
        cluster.turn()
        assert remote.due == 0.0
        assert version_of(cluster, "shop.example.com") == {**before, "freshness": "Stale"}
    del backend.answers["/apis"]
    remote.poke()
    cluster.until(lambda: version_of(cluster, "shop.example.com")["freshness"] == "Current")


def test_only_reading_is_merged(cluster: Cluster, backend: Backend) -> None:
    client = cluster.ask(b"POST /apis HTTP/1.1\r\nHost: f\r\nContent-Length: 0\r\n\r\n")
    assert client.head.startswith("HTTP/1.1 405")
    assert cluster.get("/apis/nowhere.example.com").head.startswith("HTTP/1.1 404")
    assert cluster.get("/apis/apiregistration.k8s.io").head.startswith("HTTP/1.1 200")


def test_a_control_plane_without_the_core_group() -> None:
    async def local(path: str, accept: str) -> bytes:
        del accept
        if path == "/api":
            raise NotFound.path()
        return b'{"items":[{"metadata":{"name":"g"},"versions":[{"version":"v1"}]}]}'

    discovery = MergedDiscovery(local, list, {})
    assert not run(discovery.has_core())
    assert run(discovery.own()) == [("g", "v1")]


@pytest.mark.parametrize("accept", ["application/json", V2])
def test_an_api_service_that_nobody_answers_for_is_not_listed(cluster: Cluster, accept: str) -> None:
    """It names no server, and this one has no such group."""
    spec = {"group": "u.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10}
    obj = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.u.example.com"}}
    cluster.run(cluster.client.create(API_SERVICES, {**obj, "spec": spec}))
    cluster.turn()
    _, _, listed = cluster.read("/apis", Accept=accept)
    assert b"apiregistration.k8s.io" in listed
    assert b"u.example.com" not in listed
