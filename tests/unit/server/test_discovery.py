"""Discovery: behaviour C3, C7 to C17, J42, M14."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
import yaml

from extapi import Api, Group, Kind, Object, Version
from extapi.testing import InMemoryServer, serve
from tests.unit.server.cluster import AUTHENTICATION
from tests.unit.verbs.sample import GROUP, V1, Shop, failure

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
ALL = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
"""In the order of custom resources."""
SORTED = sorted(ALL)
"""In that of Kubernetes' own kinds."""
VERSIONS = [{"groupVersion": f"{GROUP}/{version}", "version": version} for version in ("v1", "v1beta1", "v1alpha1")]


def test_the_groups(shop_served: Shop) -> None:
    """Behaviour C7, C9, C17: without apiVersion; versions by priority."""
    answer = shop_served.request("GET", "/apis")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "kind": "APIGroupList",
        "groups": [{"name": GROUP, "versions": VERSIONS, "preferredVersion": VERSIONS[0]}],
    }


def test_a_group(shop_served: Shop) -> None:
    """Behaviour C8."""
    assert shop_served.request("GET", f"/apis/{GROUP}").json() == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": GROUP,
        "versions": VERSIONS,
        "preferredVersion": VERSIONS[0],
    }


def storage_hash(kind: str) -> str:
    """Behaviour C12."""
    return base64.b64encode(hashlib.sha256(f"{GROUP}/v1/{kind}".encode()).digest()[:8]).decode()


def test_the_resources_of_a_version(shop_served: Shop) -> None:
    """Behaviour C8, C10, C11, M14: sorted by name, subresources behind their resource."""
    answer = shop_served.request("GET", V1)
    assert answer.json() == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/v1",
        "resources": [
            {
                "name": "shelves",
                "singularName": "shelf",
                "namespaced": False,
                "kind": "Shelf",
                "verbs": ALL,
                "storageVersionHash": storage_hash("Shelf"),
            },
            {
                "name": "widgets",
                "singularName": "widget",
                "namespaced": True,
                "kind": "Widget",
                "verbs": ALL,
                "shortNames": ["wg"],
                "categories": ["all"],
                "storageVersionHash": storage_hash("Widget"),
            },
            {
                "name": "widgets/status",
                "singularName": "",
                "namespaced": True,
                "kind": "Widget",
                "verbs": ["get", "patch", "update"],
            },
        ],
    }


def test_versions_have_their_own_resources_and_one_hash(shop_served: Shop) -> None:
    """Behaviour C12: by the hash clients see that two versions share one store."""
    alphas = shop_served.request("GET", f"/apis/{GROUP}/v1alpha1").json()["resources"]
    assert [resource["name"] for resource in alphas] == ["widgets", "widgets/status"]
    assert alphas[0]["storageVersionHash"] == storage_hash("Widget")


@pytest.mark.parametrize(("accept", "version"), [(V2, "v2"), (V2BETA1, "v2beta1")])
def test_aggregated_discovery(shop_served: Shop, accept: str, version: str) -> None:
    """Behaviour C13, C16."""
    answer = shop_served.request("GET", "/apis", headers={"Accept": accept})
    assert answer.headers["content-type"] == accept
    assert answer.headers["vary"] == "Accept"
    assert answer.headers["cache-control"] == "public"
    assert answer.headers["etag"] == f'"{hashlib.sha512(answer.body).hexdigest().upper()}"'
    found = answer.json()
    assert (found["kind"], found["apiVersion"]) == ("APIGroupDiscoveryList", f"apidiscovery.k8s.io/{version}")
    (group,) = found["items"]
    assert group["metadata"] == {"name": GROUP}
    assert [(v["version"], v["freshness"]) for v in group["versions"]] == [
        ("v1", "Current"),
        ("v1beta1", "Current"),
        ("v1alpha1", "Current"),
    ]
    kind = {"group": GROUP, "version": "v1", "kind": "Widget"}
    assert group["versions"][0]["resources"][1] == {
        "resource": "widgets",
        "responseKind": kind,
        "scope": "Namespaced",
        "singularResource": "widget",
        "verbs": ALL,
        "shortNames": ["wg"],
        "categories": ["all"],
        "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["get", "patch", "update"]}],
    }
    assert group["versions"][0]["resources"][0]["scope"] == "Cluster"
    assert "subresources" not in group["versions"][0]["resources"][0]


def test_the_aggregated_form_wins_wherever_it_stands(shop_served: Shop) -> None:
    """Behaviour C13, corrected by a running 1.36.3."""
    later = shop_served.request("GET", "/apis", headers={"Accept": f"application/json,{V2}"})
    assert later.json()["kind"] == "APIGroupDiscoveryList"
    fallback = shop_served.request("GET", "/apis", headers={"Accept": f"{V2},{V2BETA1},application/json"})
    assert fallback.json()["apiVersion"] == "apidiscovery.k8s.io/v2"


@pytest.mark.parametrize("path", [f"/apis/{GROUP}/v9", "/apis/x.example.com", "/apis/x.example.com/v1"])
def test_what_is_not_served_is_404(shop_served: Shop, path: str) -> None:
    """Behaviour C4, M6."""
    answer = shop_served.request("GET", path)
    assert answer.status == 404
    assert failure(answer) == {
        "message": "the server could not find the requested resource",
        "reason": "NotFound",
        "details": {},
    }


class Thing(Object):
    pass


def test_groups_come_in_the_authors_order_and_the_preferred_version_first() -> None:
    """Behaviour C7, C9."""
    versions: dict[str, Version] = {"v1": Version(Thing), "v2": Version(Thing), "v3beta1": Version(Thing)}

    def group(name: str, **preferred: str) -> Group:
        return Group(name, Kind("Thing", storage="v1", versions=versions), **preferred)

    with serve(Api(group("b.example.com", preferred="v1"), group("a.example.com"))) as server:
        groups: list[dict[str, Any]] = server.request("GET", "/apis").json()["groups"]
    assert [found["name"] for found in groups] == ["b.example.com", "a.example.com"]
    assert [[version["version"] for version in found["versions"]] for found in groups] == [
        ["v1", "v2", "v3beta1"],
        ["v2", "v1", "v3beta1"],
    ]


VERSIONS_OF_CORE = {
    "kind": "APIVersions",
    "versions": ["v1"],
    "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
}


def test_the_versions_of_the_core_group(cluster_served: InMemoryServer) -> None:
    """As 1.36.3 answers: the address is the one that the client came to."""
    answer = cluster_served.request("GET", "/api", headers={"Host": "127.0.0.1:6443"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == VERSIONS_OF_CORE
    answer = cluster_served.request("GET", "/api/", headers={"Host": "127.0.0.1:6443", "Accept": "application/yaml"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/yaml")
    assert yaml.safe_load(answer.body) == VERSIONS_OF_CORE


def test_the_core_group_is_not_among_the_others(cluster_served: InMemoryServer) -> None:
    groups = cluster_served.request("GET", "/apis").json()["groups"]
    assert [group["name"] for group in groups] == [AUTHENTICATION]
    items = cluster_served.request("GET", "/apis", headers={"Accept": V2}).json()["items"]
    assert [item["metadata"] for item in items] == [{"name": AUTHENTICATION}]


def test_the_resources_of_the_core_group(cluster_served: InMemoryServer) -> None:
    """Entries, their order and the hashes as 1.36.3 has them; the list has no apiVersion."""
    assert cluster_served.request("GET", "/api/v1").json() == {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {
                "name": "namespaces",
                "singularName": "namespace",
                "namespaced": False,
                "kind": "Namespace",
                "verbs": [verb for verb in SORTED if verb != "deletecollection"],
                "shortNames": ["ns"],
                "storageVersionHash": "Q3oi5N2YM8M=",
            },
            {
                "name": "namespaces/finalize",
                "singularName": "",
                "namespaced": False,
                "kind": "Namespace",
                "verbs": ["update"],
            },
            {
                "name": "namespaces/status",
                "singularName": "",
                "namespaced": False,
                "kind": "Namespace",
                "verbs": ["get", "patch", "update"],
            },
            {
                "name": "serviceaccounts",
                "singularName": "serviceaccount",
                "namespaced": True,
                "kind": "ServiceAccount",
                "verbs": SORTED,
                "storageVersionHash": "pbx9ZvyFpBE=",
            },
            {
                "name": "serviceaccounts/token",
                "singularName": "",
                "namespaced": True,
                "group": "authentication.k8s.io",
                "version": "v1",
                "kind": "TokenRequest",
                "verbs": ["create"],
            },
        ],
    }


def test_a_kind_that_answers_itself_has_its_methods_and_no_storage_version(cluster_served: InMemoryServer) -> None:
    """As 1.36.3 lists tokenreviews."""
    assert cluster_served.request("GET", f"/apis/{AUTHENTICATION}/v1").json() == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "authentication.k8s.io/v1",
        "resources": [
            {
                "name": "tokenreviews",
                "singularName": "tokenreview",
                "namespaced": False,
                "kind": "TokenReview",
                "verbs": ["create"],
            }
        ],
    }


@pytest.mark.parametrize(("accept", "version"), [(V2, "v2"), (V2BETA1, "v2beta1")])
def test_aggregated_discovery_of_the_core_group(cluster_served: InMemoryServer, accept: str, version: str) -> None:
    """1.36.3: one item, whose metadata is empty."""
    answer = cluster_served.request("GET", "/api", headers={"Accept": accept})
    assert answer.headers["content-type"] == accept
    assert answer.headers["cache-control"] == "public"
    document = answer.json()
    assert (document["kind"], document["apiVersion"]) == ("APIGroupDiscoveryList", f"apidiscovery.k8s.io/{version}")
    (item,) = document["items"]
    assert item["metadata"] == {}
    (served,) = item["versions"]
    assert (served["version"], served["freshness"]) == ("v1", "Current")
    accounts = served["resources"][1]
    assert (accounts["resource"], accounts["responseKind"]["kind"]) == ("serviceaccounts", "ServiceAccount")
    assert accounts["subresources"] == [
        {
            "subresource": "token",
            "responseKind": {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"},
            "verbs": ["create"],
        }
    ]
    again = cluster_served.request("GET", "/api", headers={"Accept": accept, "If-None-Match": answer.headers["etag"]})
    assert again.status == 304


def test_without_a_core_group_nothing_is_at_api(shop_served: Shop) -> None:
    for path in ("/api", "/api/v1"):
        answer = shop_served.request("GET", path)
        assert answer.status == 404
        assert "/api" not in answer.json()["paths"]
