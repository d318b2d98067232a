"""The OpenAPI documents: behaviour C18 to C20, D14 to D16."""

from __future__ import annotations

import hashlib
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.testing import InMemoryServer
from tests.unit.server.cluster import REVIEWS
from tests.unit.verbs.sample import GROUP, Shop

PATH = f"/openapi/v3/apis/{GROUP}/v1"


def test_version_two(shop_served: Shop) -> None:
    """Behaviour C18: JSON with an ETag."""
    answer = shop_served.request("GET", "/openapi/v2")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["vary"] == "Accept"
    document = answer.json()
    assert document["swagger"] == "2.0"
    assert f"/apis/{GROUP}/v1/namespaces/{{namespace}}/widgets" in document["paths"]


def test_the_index_of_version_three(shop_served: Shop) -> None:
    """Behaviour C19."""
    paths = shop_served.request("GET", "/openapi/v3").json()["paths"]
    assert set(paths) == {f"apis/{GROUP}/v1", f"apis/{GROUP}/v1beta1", f"apis/{GROUP}/v1alpha1"}
    body = shop_served.request("GET", PATH).body
    digest = hashlib.sha512(body).hexdigest().upper()
    assert paths[f"apis/{GROUP}/v1"] == {"serverRelativeURL": f"{PATH}?hash={digest}"}


def test_a_document_by_its_hash_may_be_kept(shop_served: Shop) -> None:
    """Behaviour C20."""
    url = shop_served.request("GET", "/openapi/v3").json()["paths"][f"apis/{GROUP}/v1"]["serverRelativeURL"]
    answer = shop_served.request("GET", PATH, {"hash": url.partition("=")[2]})
    assert answer.headers["cache-control"] == "public, immutable"
    expires = parsedate_to_datetime(answer.headers["expires"]).timestamp()
    assert expires == pytest.approx(shop_served.server.clock.seconds() + 365 * 24 * 3600, abs=2)
    assert answer.json()["openapi"].startswith("3.0")
    assert answer.headers["vary"] == "Accept"


@pytest.mark.parametrize("query", [{}, {"hash": "OLD"}])
def test_a_stale_hash_gets_the_current_document(shop_served: Shop, query: dict[str, str]) -> None:
    """Behaviour C20: never a redirect, which kube-apiserver would turn into 502."""
    answer = shop_served.request("GET", PATH, query)
    assert answer.status == 200
    assert "cache-control" not in answer.headers
    assert f"/apis/{GROUP}/v1/shelves" in answer.json()["paths"]


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3", PATH])
def test_what_the_client_has_is_not_sent_again(shop_served: Shop, path: str) -> None:
    etag = shop_served.request("GET", path).headers["etag"]
    answer = shop_served.request("GET", path, headers={"If-None-Match": etag})
    assert (answer.status, answer.body) == (304, b"")


@pytest.mark.parametrize("unknown", ["apis/x.example.com/v1", f"apis/{GROUP}", f"apis/{GROUP}/v9", "x"])
def test_an_unknown_group_version_is_404(shop_served: Shop, unknown: str) -> None:
    """As 1.36.3 answers."""
    answer = shop_served.request("GET", f"/openapi/v3/{unknown}")
    assert (answer.status, answer.body) == (404, b"")


def test_version_2_is_there_in_protobuf(shop_served: Shop) -> None:
    """Kubectl reads it in no other form. Each form has an ETag of its own."""
    headers = {"Accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
    answer = shop_served.request("GET", "/openapi/v2", headers=headers)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert b"com.example.shop.v1beta1.Shelf" in answer.body
    etag = answer.headers["etag"]
    assert shop_served.request("GET", "/openapi/v2", headers={**headers, "If-None-Match": etag}).status == 304
    assert shop_served.request("GET", "/openapi/v2").headers["etag"] != etag


@pytest.mark.parametrize("path", ["/openapi/v2", PATH])
@pytest.mark.parametrize(
    "accept", ["application/com.github.proto-openapi.spec.v3.v1.0+protobuf", "application/yaml", "text/plain"]
)
def test_what_is_no_json_alone_is_406(shop_served: Shop, path: str, accept: str) -> None:
    assert shop_served.request("GET", path, headers={"Accept": accept}).status == 406
    assert shop_served.request("GET", "/openapi/v3", headers={"Accept": accept}).status == 200, "as 1.36.3"


def test_nothing_else_is_there(shop_served: Shop) -> None:
    assert shop_served.request("GET", "/openapi/v4").status == 404


def test_kubectl_finds_field_validation(shop_served: Shop) -> None:
    """Without the parameter kubectl apply asks for protobuf, and fails."""
    operation = shop_served.request("GET", PATH).json()["paths"][f"/apis/{GROUP}/v1/shelves"]["post"]
    assert "fieldValidation" in {parameter["name"] for parameter in operation["parameters"]}


def test_the_documents_of_the_core_group(cluster_served: InMemoryServer) -> None:
    """Where 1.36.3 has them, and what it calls things; a kind that only creates has nothing else."""
    paths = cluster_served.request("GET", "/openapi/v3").json()["paths"]
    assert set(paths) == {"api/v1", "apis/authentication.k8s.io/v1"}
    core = cluster_served.request("GET", paths["api/v1"]["serverRelativeURL"].partition("?")[0]).json()
    token = core["paths"]["/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"]
    assert set(token) == {"parameters", "post"}
    assert token["post"]["operationId"] == "createCoreV1NamespacedServiceAccountToken"
    assert token["post"]["x-kubernetes-group-version-kind"]["kind"] == "TokenRequest"
    assert "delete" not in core["paths"]["/api/v1/namespaces"]
    assert set(core["paths"]["/api/v1/namespaces/{name}/finalize"]) == {"parameters", "put"}
    patch = core["paths"]["/api/v1/namespaces/{name}"]["patch"]
    assert list(patch["requestBody"]["content"]) == [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ]
    request = core["components"]["schemas"]["io.k8s.api.authentication.v1.TokenRequest"]
    assert request["properties"]["spec"]["properties"]["audiences"]["type"] == "array"
    reviews = cluster_served.request("GET", "/openapi/v3/apis/authentication.k8s.io/v1").json()
    assert set(reviews["paths"]) == {REVIEWS}
    assert set(reviews["paths"][REVIEWS]) == {"parameters", "post"}
    assert "io.k8s.api.authentication.v1.TokenReviewList" not in reviews["components"]["schemas"]


class Slow(Clock):
    """Each look at this clock takes a second."""

    turns = 0

    def callLater(self, *args: Any, **named: Any) -> Any:  # noqa: N802 - Twisted's name
        self.turns += 1
        return super().callLater(*args, **named)

    def seconds(self) -> float:
        self.rightNow += 1.0
        return float(self.rightNow)


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3"])
def test_others_have_their_turn_while_documents_are_made(shop_served: Shop, path: str) -> None:
    """Of hundreds of kinds they are seconds of work."""
    clock = Slow()
    preparing = Deferred.fromCoroutine(shop_served.server.server._served.catalogue.openapi.prepare(path, clock))
    clock.advance(0)
    assert preparing.called
    assert clock.turns >= 3
    assert shop_served.request("GET", path).status == 200
