"""Finished documents: their encodings, ETags and pieces (behaviour C13, C14, G1, G7)."""

from __future__ import annotations

import msgspec
import pytest
import yaml

from extapi import Api, Group, Kind, Object, Version
from extapi.server.documents import Once, joined
from extapi.testing import InMemoryServer, serve
from tests.unit.verbs.sample import GROUP, V1, Shop

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Thing(Object):
    pass


@pytest.mark.parametrize("suffix", ["", "/shop.example.com", "/shop.example.com/v1"])
def test_discovery_comes_as_yaml_where_asked_for(shop_served: Shop, suffix: str) -> None:
    """Behaviour G1."""
    answer = shop_served.request("GET", f"/apis{suffix}", headers={"Accept": "application/yaml"})
    assert answer.headers["content-type"] == "application/yaml"
    plain = shop_served.request("GET", f"/apis{suffix}")
    assert yaml.safe_load(answer.body) == plain.json()


@pytest.mark.parametrize(("known", "status"), [("{}", 304), ("W/{}", 200), ('"x", {}', 200)])
def test_what_the_client_has_is_not_sent_again(shop_served: Shop, known: str, status: int) -> None:
    """Behaviour C14: compared byte by byte."""
    etag = shop_served.request("GET", "/apis", headers={"Accept": V2}).headers["etag"]
    answer = shop_served.request("GET", "/apis", headers={"Accept": V2, "If-None-Match": known.format(etag)})
    assert answer.status == status
    assert (answer.body == b"") == (status == 304)
    assert answer.headers["etag"] == etag


@pytest.mark.parametrize("path", ["/apis", f"/apis/{GROUP}", V1])
def test_no_form_that_there_is_is_406(shop_served: Shop, path: str) -> None:
    assert shop_served.request("GET", path, headers={"Accept": "text/html"}).status == 406


def test_a_large_document_comes_whole() -> None:
    kinds = [Kind(f"Thing{number}", storage="v1", versions={"v1": Version(Thing)}) for number in range(600)]
    with serve(Api(Group("a.example.com", *kinds))) as server:
        answer = server.request("GET", "/apis/a.example.com/v1")
    assert len(answer.body) > 64 * 1024
    assert len(answer.json()["resources"]) == 1200


def test_the_resources_of_the_core_group_as_yaml(cluster_served: InMemoryServer) -> None:
    answer = cluster_served.request("GET", "/api/v1", headers={"Accept": "application/yaml"})
    assert answer.headers["content-type"] == "application/yaml"
    assert yaml.safe_load(answer.body)["groupVersion"] == "v1"


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1"])
def test_documents_may_be_indented(cluster_served: InMemoryServer, path: str) -> None:
    """Behaviour G7, as 1.36.3 answers curl."""
    answer = cluster_served.request("GET", path, {"pretty": "1"})
    assert answer.body.startswith(b'{\n  "')
    assert answer.json() == cluster_served.request("GET", path).json()


def test_a_document_is_joined_of_what_is_encoded_and_what_is_not() -> None:
    """Members are sorted; letters whose bytes look like numbers to an encoder stay what they are."""
    texts = "\u02c0\u02ff\u03c0abcdefgh"
    parts = {"b": f'"{texts}"'.encode(), "a<": msgspec.Raw(b"[1.5]"), "c": {"z": [texts], "y": b"null"}}
    assert joined(parts) == f'{{"a\\u003c":[1.5],"b":"{texts}","c":{{"y":null,"z":["{texts}"]}}}}'.encode()


def test_what_is_made_once_is_made_when_it_is_asked_for() -> None:
    made: list[int] = []

    def make() -> int:
        made.append(1)
        return 7

    once = Once(make)
    assert made == []
    assert (once(), once(), made) == (7, 7, [1])
