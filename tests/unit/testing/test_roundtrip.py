from __future__ import annotations

import datetime as dt
import enum
import uuid
from typing import Annotated, Any, Literal, NewType

import hypothesis
import msgspec
import pytest

from extapi.api.declaration import DeclarationError
from extapi.api.definition import Kind, Version
from extapi.api.markers import (
    EmbeddedResource,
    Format,
    IntOrString,
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
    Nullable,
    OneOf,
    Pattern,
    PreserveUnknown,
)
from extapi.api.rule import Rule
from extapi.api.types import Object, Struct
from extapi.schema.compile import compile_type
from extapi.schema.schema import Schema
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


@Rule("self.low + self.high < 10")
class Bounds(Object):
    low: Annotated[int, Minimum(0), Maximum(9), Rule("self != 3")] = 0
    high: Annotated[int, Minimum(0), Maximum(9)] = 0


def test_objects_that_break_a_rule_are_not_converted() -> None:
    seen: list[Bounds] = []

    def looks(hub: Bounds) -> Bounds:
        seen.append(hub)
        return hub

    versions = {"v1": Version(Bounds, to_hub=looks, from_hub=looks)}
    check_round_trip(Kind("Bounds", storage="v1", hub=Bounds, versions=versions), examples=50)
    assert len(seen) > 50
    assert all(each.low + each.high < 10 and each.low != 3 for each in seen)


def test_versions_without_types_are_passed_over() -> None:
    check_round_trip(Kind("Box", storage="v1", versions={"v1": Version({"type": "object"})}))


class Strange(Object):
    when: complex = 0j


def test_annotations_that_no_schema_has_are_refused_by_class_and_field() -> None:
    with pytest.raises(
        TypeError, match=r"^Strange\.when: cannot generate values for the annotation <class 'complex'>$"
    ):
        objects(Strange)
    with pytest.raises(DeclarationError, match=r"^Strange\.when: complex has no structural schema"):
        check_round_trip(Kind("Box", storage="v1", versions={"v1": Version(Strange)}))


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


Percent = NewType("Percent", int)


class Part(Struct):
    name: str
    color: Color | None = None
    made: dt.datetime | None = None
    inner: dict[str, list[Size | None]] = {}  # noqa: RUF012 -- a field: msgspec copies the default


class Everything(Object):
    """Each annotation of docs/reference/types.md, with and without a default, and what may stand around it."""

    text: str
    flag: bool
    number: int
    ratio: float
    data: bytes
    moment: dt.datetime
    day: dt.date
    key: uuid.UUID
    texts: list[str]
    numbers: dict[str, int]
    free: dict[str, Any]
    bare: dict  # type: ignore[type-arg]  # what an author may write
    part: Part
    parts: Annotated[list[Part], ListMap("name")]
    mode: Literal["a", "b"]
    color: Color
    size: Size = Size.SMALL
    port: int | str = 0
    wide: Annotated[Any, IntOrString()] = 0
    maybe: str | None = None
    maybe_part: Part | None = None
    maybe_moment: Annotated[dt.datetime | None, Nullable()] = None
    colors: list[Color | None] = []  # noqa: RUF012 -- a field: msgspec copies the default
    days: dict[str, dt.date] = {}  # noqa: RUF012 -- a field: msgspec copies the default
    keys: Annotated[list[uuid.UUID], ListSet(), MaxItems(2)] = []  # noqa: RUF012 -- a field: msgspec copies the default
    anything: Any = None
    whatever: object = None
    percent: Annotated[Percent, Minimum(0), Maximum(100)] = Percent(0)
    small: Annotated[int, Format("int32")] = 0
    even: Annotated[float, MultipleOf(2), Minimum(3), Maximum(9)] = 4.0
    address: Annotated[str, Format("ipv4")] = "127.0.0.1"
    site: Annotated[str | None, Format("uri")] = None
    mail: Annotated[str, Format("email")] = "a@b.example"
    unheard: Annotated[str, Format("unheard-of"), MaxLength(5)] = ""
    quantity: Annotated[int | str, Pattern(r"^[0-9]+m$")] = "1m"
    short: Annotated[str, Pattern("^[a-z]+$"), MaxLength(4)] = "a"
    embedded: Annotated[dict[str, Any], EmbeddedResource(), PreserveUnknown()] = {}  # noqa: RUF012 -- as above


@hypothesis.settings(max_examples=50, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(objects(Everything))
def test_every_annotation_has_values_and_all_of_them_are_valid(thing: Everything) -> None:
    obj = {**msgspec.to_builtins(thing), "apiVersion": "g.example.com/v1", "kind": "Everything"}
    schema = Schema(compile_type(Everything))
    assert schema.prune_and_default(obj) == []
    assert schema.validate(obj) == []


class Moments(Object):
    moment: dt.datetime
    color: Color = Color.RED
    key: uuid.UUID | None = None


def test_a_loss_in_a_field_that_is_no_json_in_python_is_found() -> None:
    def loses(moments: Moments) -> Moments:
        return Moments(moment=moments.moment.replace(microsecond=0), color=moments.color, key=moments.key)

    versions = {"v1": Version(Moments), "v2": Version(Moments, to_hub=loses, from_hub=lambda moments: moments)}
    kind = Kind("Moment", storage="v1", hub=Moments, versions=versions)
    check_round_trip(kind, "v1", examples=20)
    with pytest.raises(AssertionError, match="v2 > hub > v2 does not come back"):
        check_round_trip(kind)


def test_a_field_without_a_valid_value_is_named() -> None:
    class Never(Object):
        fine: str = ""
        code: Annotated[str, Pattern("^a$"), MinLength(5)]

    kind = Kind("Never", storage="v1", versions={"v1": Version(Never)})
    with pytest.raises(TypeError, match=r"^v1: no valid values were found for Never\.code; test these conversions"):
        check_round_trip(kind)


def test_a_pattern_that_python_cannot_read_is_named() -> None:
    class Other(Object):
        code: Annotated[str, Pattern(r"^\pN$")]

    with pytest.raises(TypeError, match=r"^Other\.code: cannot generate values for the pattern"):
        check_round_trip(Kind("Other", storage="v1", versions={"v1": Version(Other)}))
