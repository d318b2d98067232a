"""The field managers of a kind's endpoints, beside what ``tests/unit/verbs`` shows of them."""

from __future__ import annotations

from typing import Any

from extapi import Api, Group, Kind, Object, Struct, Subresource, Version
from extapi.testing import InMemoryServer, serve
from tests.unit.verbs.sample import ALPHAS, Shop

GROUP = "farm.example.com"
GOATS = f"/apis/{GROUP}/v1/namespaces/default/goats"


class Herd(Struct):
    size: int = 0


class Goat(Object):
    spec: Herd = Herd()
    milk: Herd = Herd()


def server_of_goats() -> Any:
    kind = Kind("Goat", storage="v1", versions={"v1": Version(Goat)}, subresources={"milk": Subresource(field="milk")})
    return serve(Api(Group(GROUP, kind)))


def managed(server: InMemoryServer, path: str) -> dict[tuple[str, str], Any]:
    found = server.request("GET", path).json()["metadata"]["managedFields"]
    return {(entry["manager"], entry.get("subresource", "")): entry["fieldsV1"] for entry in found}


def test_a_part_of_an_authors_own_has_managers_too() -> None:
    with server_of_goats() as server:
        goat = {"apiVersion": f"{GROUP}/v1", "kind": "Goat", "metadata": {"name": "g"}, "spec": {"size": 1}}
        assert server.request("POST", GOATS, body=goat).status == 201
        part = {**goat, "metadata": {"name": "g", "labels": {"a": "b"}}, "spec": {"size": 9}, "milk": {"size": 2}}
        form = {"Content-Type": "application/apply-patch+yaml"}
        assert (
            server.request("PATCH", f"{GOATS}/g/milk", {"fieldManager": "m", "force": "true"}, form, part).status == 200
        )
        assert managed(server, f"{GOATS}/g") == {
            ("m", "milk"): {"f:milk": {"f:size": {}}},
            ("unknown", ""): {"f:milk": {}, "f:spec": {".": {}, "f:size": {}}},
        }


def test_a_version_tracks_what_it_can_name(shop_served: Shop) -> None:
    """A write through another version takes a field from who has it under its other name."""
    shop_served.create(spec={"size": 1, "color": "pink"})
    patch = {"Content-Type": "application/merge-patch+json"}
    body = {"spec": {"inches": "7in"}}
    answer = shop_served.request("PATCH", f"{ALPHAS}/w", {"fieldManager": "u"}, patch, body)
    assert answer.status == 200
    (main, other) = sorted(shop_served.get()["metadata"]["managedFields"], key=lambda entry: entry["manager"])[::-1]
    assert (main["apiVersion"].rpartition("/")[2], "f:size" in main["fieldsV1"]["f:spec"]) == ("v1", False)
    assert (other["apiVersion"].rpartition("/")[2], other["fieldsV1"]) == ("v1alpha1", {"f:spec": {"f:inches": {}}})
