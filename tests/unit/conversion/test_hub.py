from __future__ import annotations

from typing import Any

import pytest

from extapi.api.definition import Kind, Version
from extapi.api.types import Object, ObjectMeta, Struct
from extapi.conversion.hub import HubConverter
from extapi.errors import InternalError


class Spec(Struct):
    size: int
    tags: list[str] = []  # noqa: RUF012 -- a field: msgspec copies the default


class Hub(Object):
    spec: Spec | None = None


class Old(Object):
    """Size was a text at the top."""

    size: str = ""


def to_hub(old: Old) -> Hub:
    if old.size == "explode":
        raise KeyError("secret")
    if old.size == "nothing":
        return None  # type: ignore[return-value] # what a careless author does
    return Hub(spec=Spec(size=int(old.size)))


def from_hub(hub: Hub) -> Old:
    assert hub.spec is not None
    return Old(size=str(hub.spec.size))


class Inside(Struct):
    size: int = 7


class Crate(Object):
    inside: Inside = Inside()


KIND = Kind(
    "Box",
    storage="v1",
    hub=Hub,
    versions={"v1": Version(Hub), "v1alpha1": Version(Old, to_hub=to_hub, from_hub=from_hub)},
)
CONVERTER = HubConverter(KIND, "example.com")
METADATA = {"name": "a", "labels": {"x": "y"}, "selfLink": "kept"}


def old(size: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1alpha1", "kind": "Box", "metadata": METADATA, "size": size, **more}


def test_a_version_becomes_another_through_the_hub() -> None:
    before = old("3")
    after = CONVERTER.convert(before, "v1alpha1", "v1")
    assert after == {"apiVersion": "example.com/v1", "kind": "Box", "metadata": METADATA, "spec": {"size": 3}}
    assert after["metadata"] is METADATA
    assert before == old("3")
    assert CONVERTER.convert(after, "v1", "v1alpha1") == before


def test_to_its_own_version_an_object_is_not_touched() -> None:
    obj = old("not even a number")
    assert CONVERTER.convert(obj, "v1alpha1", "v1alpha1") is obj


def test_an_object_without_metadata_gets_none() -> None:
    obj = old("3")
    del obj["metadata"]
    assert CONVERTER.convert(obj, "v1alpha1", "v1") == {
        "apiVersion": "example.com/v1",
        "kind": "Box",
        "spec": {"size": 3},
    }


def test_parts_that_are_as_by_default_are_left_out_unless_the_whole_is_wanted() -> None:
    converter = HubConverter(Kind("Crate", storage="v1", versions={"v1": Version(Crate)}), "example.com")
    crate = Crate(metadata=ObjectMeta(name="a"))
    short = {"apiVersion": "example.com/v1", "kind": "Crate", "metadata": {"name": "a"}}
    assert converter.from_hub(crate, "v1") == short
    assert converter.from_hub(crate, "v1", whole=True) == {**short, "inside": {}}


def test_hub_objects_carry_the_metadata_whatever_the_author_does() -> None:
    hub = CONVERTER.to_hub(old("3"), "v1alpha1")
    assert isinstance(hub, Hub)
    assert hub.metadata.labels == {"x": "y"}
    hub.metadata.labels["new"] = "z"
    assert CONVERTER.from_hub(hub, "v1alpha1") == {
        "apiVersion": "example.com/v1alpha1",
        "kind": "Box",
        "metadata": {"name": "a", "labels": {"x": "y", "new": "z"}},
        "size": "3",
    }
    assert METADATA["labels"] == {"x": "y"}


class Loose(Object):
    """Parts of it have no type."""

    spec: Spec | None = None
    extra: list[dict[str, Any]] = []  # noqa: RUF012 -- a field: msgspec copies the default


@pytest.mark.parametrize("struct_type", [Loose, Hub])
def test_a_hub_object_shares_nothing_with_the_object(struct_type: type[Object]) -> None:
    """Also where msgspec knows no type."""
    converter = HubConverter(Kind("Loose", storage="v1", versions={"v1": Version(struct_type)}), "example.com")

    def made() -> dict[str, Any]:
        entry = {"manager": "me", "fieldsV1": {"f:spec": {"f:size": {}}}}
        more = {"extra": [{"a": {"b": 1}}]} if struct_type is Loose else {}
        return {"metadata": {"name": "a", "managedFields": [entry]}, "spec": {"size": 1, "tags": ["x"]}, **more}

    obj = made()
    hub = converter.to_hub(obj, "v1")
    hub.spec.tags.append("y")
    hub.metadata.managed_fields[0]["fieldsV1"]["f:spec"].clear()
    if isinstance(hub, Loose):
        hub.extra[0]["a"]["b"] = 2
    assert obj == made()


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        (old("explode"), "example.com/v1alpha1: to_hub raised KeyError"),
        (old("nothing"), "example.com/v1alpha1: to_hub returned NoneType instead of Hub"),
        (old(3), "example.com/v1alpha1: Expected `str`, got `int` - at `$.size`"),  # type: ignore[arg-type] # the wrong type
    ],
)
def test_what_goes_wrong_is_named_but_its_text_is_not_told(obj: dict[str, Any], why: str) -> None:
    with pytest.raises(InternalError) as caught:
        CONVERTER.convert(obj, "v1alpha1", "v1")
    assert str(caught.value) == f"Internal error occurred: conversion of Box failed at {why}"
    assert "secret" not in str(caught.value.status())
    if obj["size"] == "explode":
        assert isinstance(caught.value.__cause__, KeyError)


def test_a_wrong_value_deep_inside_is_named_by_its_path() -> None:
    obj = {"apiVersion": "example.com/v1", "spec": {"size": 1, "tags": ["a", 2]}}
    with pytest.raises(
        InternalError, match=r"at example\.com/v1: Expected `str`, got `int` - at `\$\.spec\.tags\[1\]`"
    ):
        CONVERTER.convert(obj, "v1", "v1alpha1")


def test_from_hub_failing_names_the_version_it_was_for() -> None:
    with pytest.raises(InternalError, match=r"at example\.com/v1alpha1: from_hub raised AssertionError"):
        CONVERTER.convert({"apiVersion": "example.com/v1"}, "v1", "v1alpha1")


def test_hub_objects_that_cannot_be_written_are_an_internal_error() -> None:
    hub = CONVERTER.to_hub(old("3"), "v1alpha1")
    hub.spec.size = object()
    with pytest.raises(InternalError, match=r"at example\.com/v1: what from_hub made cannot be written"):
        CONVERTER.from_hub(hub, "v1")


def test_without_a_hub_only_the_api_version_is_rewritten() -> None:
    converter = HubConverter(
        Kind("Box", storage="v1", versions={"v1": Version(Hub), "v2": Version(Hub)}), "example.com"
    )
    obj = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": METADATA, "spec": {"size": "any"}, "more": 1}
    after = converter.convert(obj, "v1", "v2")
    assert after == {**obj, "apiVersion": "example.com/v2"}
    assert after["metadata"] is METADATA
    assert obj["apiVersion"] == "example.com/v1"
    assert converter.hub is Hub
    assert converter.to_hub({"spec": {"size": 4}}, "v2").spec == Spec(size=4)
    assert converter.from_hub(Hub(spec=Spec(size=4)), "v2")["apiVersion"] == "example.com/v2"


def test_without_types_objects_stay_dicts() -> None:
    converter = HubConverter(Kind("Box", storage="v1", versions={"v1": Version({"type": "object"})}), "example.com")
    obj = {"spec": {"list": [1, {"a": None}]}}
    hub = converter.to_hub(obj, "v1")
    assert converter.hub is None
    assert hub == obj
    hub["spec"]["list"][1]["a"] = 2
    assert obj == {"spec": {"list": [1, {"a": None}]}}
    assert converter.from_hub(hub, "v1") == {
        "apiVersion": "example.com/v1",
        "kind": "Box",
        "spec": {"list": [1, {"a": 2}]},
    }


def test_a_conversion_keeps_the_metadata_with_its_managed_fields() -> None:
    metadata = {"name": "a", "managedFields": [{"manager": "me", "fieldsV1": {"f:size": {}}}]}
    assert CONVERTER.convert({**old("3"), "metadata": metadata}, "v1alpha1", "v1")["metadata"] is metadata
