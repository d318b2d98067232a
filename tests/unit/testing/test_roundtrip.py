from __future__ import annotations

from typing import Annotated, Any, Literal

import hypothesis
import msgspec
import pytest

from extapi.api.definition import Kind, Version
from extapi.api.markers import (
    ListMap,
    ListSet,
    Maximum,
    MaxItems,
    MaxLength,
    Minimum,
    MinItems,
    MinLength,
    MinProperties,
    MultipleOf,
    OneOf,
    Pattern,
)
from extapi.api.types import Object, Struct
from extapi.testing.roundtrip import check_round_trip, objects


class Item(Struct):
    name: Annotated[str, MinLength(1), MaxLength(3)]
    more: list[Item] = []  # noqa: RUF012 -- a field: msgspec copies the default


class Box(Object):
    size: Annotated[int, Minimum(2), Maximum(10), MultipleOf(4)] = 4
    small: Annotated[int, Minimum(1, exclusive=True), Maximum(3, exclusive=True)] = 2
    ratio: Annotated[float, Minimum(0, exclusive=True), Maximum(1)] = 1.0
    color: Annotated[str, OneOf(("red", "blue"))] = "red"
    mode: Literal["a", "b"] = "a"
    code: Annotated[str, Pattern("^[a-c]{2}$")] = "aa"
    flag: bool | None = None
    items: Annotated[list[Item], ListMap("name"), MinItems(1), MaxItems(3)] = []  # noqa: RUF012 -- a field: msgspec copies the default
    tags: Annotated[list[str], ListSet()] = []  # noqa: RUF012 -- a field: msgspec copies the default
    notes: Annotated[dict[str, str], MinProperties(1)] = {}  # noqa: RUF012 -- a field: msgspec copies the default
    free: Any = None
    port: int | str = 0


@hypothesis.settings(max_examples=50, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(objects(Box))
def test_objects_keep_their_markers(box: Box) -> None:
    assert box.size in {4, 8}
    assert box.small == 2
    assert 0 < box.ratio <= 1
    assert box.color in {"red", "blue"}
    assert box.mode in {"a", "b"}
    assert set(box.code.rstrip("\n")) <= set("abc")
    assert 1 <= len(box.items) <= 3
    assert len({item.name for item in box.items}) == len(box.items)
    assert all(1 <= len(item.name) <= 3 for item in box.items)
    assert len(set(box.tags)) == len(box.tags)
    assert box.notes
    assert msgspec.convert(msgspec.to_builtins(box), Box) == box
    assert box.metadata.name


class Hub(Object):
    names: list[str] = []  # noqa: RUF012 -- a field: msgspec copies the default


class Counted(Object):
    counts: dict[str, int] = {}  # noqa: RUF012 -- a field: msgspec copies the default


def loses(hub: Hub) -> Hub:
    return Hub(names=hub.names[:1])


def same(hub: Hub) -> Hub:
    return hub


def test_a_loss_is_found() -> None:
    kind = Kind(
        "Box", storage="v1", hub=Hub, versions={"v1": Version(Hub), "v2": Version(Hub, to_hub=loses, from_hub=same)}
    )
    check_round_trip(kind, "v1", examples=20)
    with pytest.raises(AssertionError, match="v2 > hub > v2 does not come back"):
        check_round_trip(kind)


def test_what_may_differ_is_left_to_normal() -> None:
    def backwards(hub: Hub) -> Hub:
        return Hub(names=hub.names[::-1])

    kind = Kind("Box", storage="v1", hub=Hub, versions={"v1": Version(Hub, to_hub=backwards, from_hub=same)})
    with pytest.raises(AssertionError):
        check_round_trip(kind)
    check_round_trip(kind, normal=lambda obj: {**obj, "names": sorted(obj.get("names", []))}, examples=30)


def test_versions_without_types_are_passed_over() -> None:
    check_round_trip(Kind("Box", storage="v1", versions={"v1": Version({"type": "object"})}))


class Strange(Object):
    when: complex = 0j


def test_annotations_that_no_schema_has_are_refused() -> None:
    with pytest.raises(TypeError, match="no values are known for the annotation <class 'complex'>"):
        objects(Strange)
