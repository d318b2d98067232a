"""Applies through several versions of a kind, which lose nothing that anybody applies.

What becomes of the objects is what kube-apiserver 1.36.3 showed, with definitions without conversion and with a webhook.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from msgspec import field

from extapi import Api, Group, Kind, Object, Struct, Version
from extapi.api.behaviour import Behaviour
from extapi.api.jsonvalue import json_copy
from extapi.testing import InMemoryServer, serve
from tests.unit.registry.test_fieldmanagers import managed

GROUP = "lamps.example.com"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "bulb": {
                    "type": "object",
                    "properties": {"watts": {"type": "integer"}, "colour": {"type": "string", "default": "white"}},
                },
                "shade": {"type": "string"},
                "dimmer": {"type": "integer", "default": 7},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
        "status": {"type": "object", "properties": {"lit": {"type": "boolean"}}},
    },
}


class Bulb(Struct):
    watts: int | None = None
    colour: str = "white"


class Spec(Struct):
    bulb: Bulb | None = None
    shade: str | None = None
    dimmer: int = 7
    labels: dict[str, str] = field(default_factory=dict)


class Status(Struct):
    lit: bool | None = None


class Lamp(Object):
    spec: Spec = Spec()
    status: Status = Status()


class NewLamp(Object):
    spec: Spec = Spec()
    status: Status = Status()


def up(new: NewLamp) -> Lamp:
    return Lamp(spec=new.spec, status=new.status)


def down(lamp: Lamp) -> NewLamp:
    return NewLamp(spec=lamp.spec, status=lamp.status)


class Strict:
    """A converter as webhooks are: it wants to know which object it has, and passes on what it does not know."""

    name = "the webhook"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def convert(self, objects: Sequence[Any], api_version: str) -> Sequence[Any]:
        for obj in objects:
            assert obj["metadata"]["name"]
            self.asked.append((obj["apiVersion"].rpartition("/")[2], api_version.rpartition("/")[2]))
        return [{**obj, "apiVersion": api_version} for obj in objects]


def kind_of(way: str) -> Kind:
    if way == "types":
        versions = {"v1": Version(Lamp), "v2": Version(NewLamp, to_hub=up, from_hub=down)}
        return Kind("Lamp", storage="v1", hub=Lamp, versions=versions)
    behaviour = Behaviour(converter=Strict()) if way == "webhook" else Behaviour()
    versions = {name: Version(SCHEMA) for name in ("v1", "v2", "v3")}
    return Kind("Lamp", storage="v1", versions=versions, status=True, behaviour=behaviour)


class Workshop:
    """A kind served in one of the ways, and appliers of its objects."""

    def __init__(self, server: InMemoryServer, converter: Any) -> None:
        self.server = server
        self.converter = converter

    def path(self, version: str, name: str = "a", subresource: str = "") -> str:
        return f"/apis/{GROUP}/{version}/namespaces/default/lamps/{name}{subresource}"

    def apply(
        self, who: str, version: str, spec: Any, *, metadata: Any = None, subresource: str = "", **more: Any
    ) -> Any:
        body = {
            "apiVersion": f"{GROUP}/{version}",
            "kind": "Lamp",
            "metadata": {"name": "a", **(metadata or {})},
            **more,
        }
        if spec is not None:
            body["spec"] = spec
        query, headers = {"fieldManager": who}, {"Content-Type": "application/apply-patch+yaml"}
        answer = self.server.request("PATCH", self.path(version, subresource=subresource), query, headers, body)
        assert answer.status in (200, 201), answer.json()
        return self.spec()

    def spec(self, version: str = "v1") -> Any:
        found = self.server.request("GET", self.path(version)).json()["spec"]
        return {name: value for name, value in found.items() if name != "dimmer"}

    def managers(self) -> dict[str, Any]:
        found = managed(self.server, self.path("v1"))
        return {who: fields.get("f:spec", {}) for (who, _), fields in found.items()}


@pytest.fixture(params=["none", "webhook", "types"])
def workshop(request: pytest.FixtureRequest) -> Iterator[Workshop]:
    kind = kind_of(request.param)
    with serve(Api(Group(GROUP, kind))) as server:
        yield Workshop(server, kind.behaviour.converter)


def test_an_object_that_is_still_applied_stays_when_the_manifest_changes_its_version(workshop: Workshop) -> None:
    workshop.apply("me", "v1", {"bulb": {"watts": 40}, "shade": "red"})
    assert workshop.apply("me", "v2", {"bulb": {}, "shade": "red"}) == {"bulb": {"colour": "white"}, "shade": "red"}
    assert workshop.managers() == {"me": {"f:bulb": {}, "f:shade": {}}}


def test_what_another_applies_stays_beside_a_status_in_another_version(workshop: Workshop) -> None:
    workshop.apply("other", "v1", {"bulb": {}})
    workshop.apply("me", "v1", {"bulb": {}, "shade": "red"})
    workshop.apply("controller", "v2", None, subresource="/status", status={"lit": True})
    assert workshop.apply("me", "v1", {"shade": "red"}) == {"bulb": {"colour": "white"}, "shade": "red"}
    assert workshop.managers() == {"other": {"f:bulb": {}}, "me": {"f:shade": {}}, "controller": {}}


def test_what_nobody_applies_any_more_goes_and_defaults_stay(workshop: Workshop) -> None:
    workshop.apply("me", "v1", {"shade": "red", "bulb": {"watts": 40}})
    assert workshop.apply("me", "v2", {}) == {}
    assert workshop.server.request("GET", workshop.path("v1")).json()["spec"]["dimmer"] == 7


def test_labels_and_annotations_go_along_into_another_version(workshop: Workshop) -> None:
    given = {"labels": {"team": "light"}, "annotations": {"a": "b"}}
    workshop.apply("me", "v1", {"shade": "red"}, metadata=given)
    workshop.apply("me", "v2", {"shade": "blue"}, metadata={"labels": {"team": "light"}})
    found = workshop.server.request("GET", workshop.path("v2")).json()
    assert found["metadata"]["labels"] == {"team": "light"}
    assert not found["metadata"].get("annotations")
    assert found["spec"]["shade"] == "blue"


def test_a_value_that_is_a_default_keeps_its_manager(workshop: Workshop) -> None:
    workshop.apply("other", "v1", {"dimmer": 7})
    workshop.apply("me", "v1", {"shade": "red"})
    workshop.apply("me", "v2", {"bulb": {}})
    assert workshop.managers() == {"other": {"f:dimmer": {}}, "me": {"f:bulb": {}}}


@pytest.mark.parametrize("workshop", ["webhook"], indirect=True)
def test_a_webhook_is_asked_by_way_of_the_requests_version(workshop: Workshop) -> None:
    """As kube-apiserver asks it (``hubGetter`` of CRDs): what it makes may depend on the way."""
    workshop.apply("other", "v1", {"dimmer": 3})
    workshop.apply("me", "v2", {"shade": "red"})
    workshop.converter.asked.clear()
    workshop.apply("me", "v3", {"bulb": {}})
    assert ("v2", "v1") not in workshop.converter.asked
    assert ("v1", "v2") not in workshop.converter.asked


@pytest.mark.parametrize("workshop", ["types"], indirect=True)
def test_an_emptied_map_is_none_to_an_authors_code(workshop: Workshop) -> None:
    workshop.apply("me", "v1", {"labels": {"l": "m"}, "bulb": {"watts": 3}})
    assert workshop.apply("me", "v2", {"labels": {}, "bulb": {}}) == {"bulb": {"colour": "white"}}


# -- defaults that only one version has: observed on 1.36.3, by tests/differential/appliedversions.py ---------------------


@pytest.fixture
def shop() -> Iterator[Workshop]:
    """Lamps that are stored in v1, and whose shade has a default in v2."""
    v2 = json_copy(SCHEMA)
    v2["properties"]["spec"]["properties"]["shade"]["default"] = "plain"
    v2["properties"]["spec"]["properties"]["items"] = v2["properties"]["status"]["properties"]["items"] = ITEMS
    versions = {"v1": Version(v1 := json_copy(SCHEMA)), "v2": Version(v2)}
    v1["properties"]["spec"]["properties"]["items"] = v1["properties"]["status"]["properties"]["items"] = ITEMS
    with serve(Api(Group(GROUP, Kind("Lamp", storage="v1", versions=versions, status=True)))) as server:
        yield Workshop(server, None)


ITEMS: dict[str, Any] = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string", "default": "x"}, "n": {"type": "integer"}}},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}


def generation(workshop: Workshop) -> int:
    found: int = workshop.server.request("GET", workshop.path("v1")).json()["metadata"]["generation"]
    return found


def test_an_apply_that_changes_nothing_fills_in_no_defaults(shop: Workshop) -> None:
    shop.apply("me", "v1", {"bulb": {}})
    assert shop.apply("other", "v2", {"bulb": {}}) == {"bulb": {"colour": "white"}}
    assert generation(shop) == 1


def test_an_apply_that_changes_something_fills_in_defaults_and_that_is_a_change(shop: Workshop) -> None:
    shop.apply("me", "v1", {})
    assert shop.apply("me", "v2", {}, metadata={"labels": {"a": "b"}}) == {"shade": "plain"}
    assert generation(shop) == 2


def test_an_apply_to_the_status_changes_nothing_else(shop: Workshop) -> None:
    shop.apply("me", "v1", {})
    assert shop.apply("me", "v2", None, subresource="/status", status={"lit": True}) == {}
    assert generation(shop) == 1


def test_an_item_whose_keys_have_defaults_stays_while_it_is_applied(shop: Workshop) -> None:
    shop.apply("me", "v1", {"items": [{"n": 1}]})
    assert shop.apply("me", "v2", {"items": [{}], "shade": "red"}) == {"items": [{"name": "x"}], "shade": "red"}
    assert shop.apply("me", "v2", {"items": [{}], "shade": "red"}) == {"items": [{"name": "x"}], "shade": "red"}


def test_a_status_that_lost_everything_in_it_is_refused_as_any_other_emptied_object(shop: Workshop) -> None:
    """kube-apiserver says so of every object that was emptied, and of spec, too."""
    shop.apply("me", "v1", {})
    shop.apply("me", "v1", None, subresource="/status", status={"items": [{"name": "a"}]})
    body = {"apiVersion": f"{GROUP}/v2", "kind": "Lamp", "metadata": {"name": "a"}, "status": {}}
    headers = {"Content-Type": "application/apply-patch+yaml"}
    answer = shop.server.request("PATCH", shop.path("v2", subresource="/status"), {"fieldManager": "me"}, headers, body)
    assert answer.status == 422
    (cause,) = answer.json()["details"]["causes"]
    assert (cause["field"], cause["message"]) == (
        "status",
        'Invalid value: "null":  in body must be of type object: "null"',
    )


class Size(Struct):
    inches: int


class Shelf(Object):
    spec: Size


class OldSize(Struct):
    feet: int


class OldShelf(Object):
    spec: OldSize


def test_required_fields_move_to_another_version_without_a_loss_on_the_way() -> None:
    old = Version(
        OldShelf,
        to_hub=lambda shelf: Shelf(spec=Size(inches=shelf.spec.feet * 12)),
        from_hub=lambda shelf: OldShelf(spec=OldSize(feet=shelf.spec.inches // 12)),
    )
    kind = Kind("Lamp", storage="v1", hub=Shelf, versions={"v1": Version(Shelf), "v1alpha1": old})
    with serve(Api(Group(GROUP, kind))) as server:
        workshop = Workshop(server, None)
        workshop.apply("me", "v1alpha1", {"feet": 2}, metadata={"labels": {"a": "b"}})
        assert workshop.apply("me", "v1", {"inches": 30}) == {"inches": 30}
        # What is required cannot be given up: the object stays as it is.
        workshop.apply("me", "v1alpha1", {})
        assert workshop.spec("v1alpha1") == {"feet": 2}
