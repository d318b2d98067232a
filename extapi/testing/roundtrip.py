"""Property tests of an author's conversions: random objects of every version go through the hub and back.

Needs hypothesis, which comes with the extra ``test``; it is imported only when something here is called::

    def test_pizza_versions_lose_nothing() -> None:
        check_round_trip(PIZZA)
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from extapi.api.definition import Kind
from extapi.api.markers import (
    ListMap,
    ListSet,
    Marker,
    Maximum,
    MaxItems,
    MaxLength,
    MaxProperties,
    Minimum,
    MinItems,
    MinLength,
    MinProperties,
    MultipleOf,
    OneOf,
    Pattern,
)
from extapi.api.types import Obj, Object, ObjectMeta
from extapi.conversion.hub import HubConverter

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_DEPTH = 4
"""How deep types that contain themselves, and free JSON, may go."""
_ITEMS = 4
"""How many items a list or map gets where its markers do not ask for more."""
_GROUP = "roundtrip.example.com"

Normal = Callable[[Obj], Any]


def objects(cls: type[msgspec.Struct]) -> SearchStrategy[Any]:
    """A hypothesis strategy of valid instances of a type: annotations and markers are kept (not CEL rules).

    Raises TypeError for an annotation that no JSON schema has.
    """
    return _struct(cls, _DEPTH)


def check_round_trip(
    kind: Kind, version: str | None = None, *, normal: Normal | None = None, examples: int = 100
) -> None:
    """Assert that objects of ``version`` (of every version, if None) come back from the hub as they went in.

    ``normal`` maps an object (a dict, in the version it began in) to what has to be the same; use it where a version
    leaves something open, such as the order of a list. Versions without a Python type are passed over. Raises
    AssertionError with the smallest object found that does not come back, InternalError if a converter fails.
    """
    converter = HubConverter(kind, _GROUP)
    for name in [version] if version is not None else list(kind.versions):
        form = kind.versions[name].type
        if isinstance(form, type):
            _check(converter, name, form, normal or _whole, examples)


def _check(converter: HubConverter, version: str, form: type[Object], same: Normal, examples: int) -> None:
    import hypothesis  # noqa: PLC0415 -- an extra, and slow to import

    start = {"apiVersion": converter.api_version(version), "kind": converter.kind.name}

    @hypothesis.settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(objects(form))
    def check(obj: Any) -> None:
        before = {**msgspec.to_builtins(obj), **start}
        converter.drop_defaults(before, form)
        after = converter.from_hub(converter.to_hub(before, version), version)
        if same(after) != same(before):
            raise AssertionError(f"{version} > hub > {version} does not come back: {before} became {after}")

    check()


def _whole(obj: Obj) -> Obj:
    return obj


def _struct(cls: type[msgspec.Struct], depth: int) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    if cls is ObjectMeta:
        return _metadata()
    hints = typing.get_type_hints(cls, include_extras=True)
    fields: dict[str, SearchStrategy[Any]] = {}
    for field in msgspec.structs.fields(cls):
        if issubclass(cls, Object) and field.name in {"api_version", "kind"}:
            continue
        if depth <= 0 and not field.required:
            continue
        fields[field.name] = _value(hints[field.name], (), depth - 1)
    return st.builds(cls, **fields)


def _metadata() -> SearchStrategy[ObjectMeta]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    name = st.text("abcdefghij-0123456789", min_size=1, max_size=20).map(lambda text: f"x{text}x")
    texts = st.dictionaries(name, name, max_size=2)
    return st.builds(ObjectMeta, name=name, namespace=name, labels=texts, annotations=texts)


def _value(form: Any, markers: tuple[Marker, ...], depth: int) -> SearchStrategy[Any]:
    """Values of one annotation."""
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    origin, arguments = typing.get_origin(form), typing.get_args(form)
    if origin is Annotated:
        found = tuple(extra for extra in arguments[1:] if isinstance(extra, Marker))
        return _value(arguments[0], (*markers, *found), depth)
    if (one_of := _marker(markers, OneOf)) is not None:
        return st.sampled_from(one_of.values)
    if origin in {typing.Union, types.UnionType}:
        return st.one_of([_value(each, markers, depth) for each in arguments])
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is list or form is list:
        return _list(arguments[0] if arguments else Any, markers, depth)
    if origin is dict or form is dict:
        values = _value(arguments[1] if arguments else Any, (), depth - 1)
        least, most = _bounds(markers, MinProperties, MaxProperties, depth)
        return st.dictionaries(st.text(max_size=8), values, min_size=least, max_size=most)
    if isinstance(form, type) and issubclass(form, msgspec.Struct):
        return _struct(form, depth)
    return _scalar(form, markers, depth)


def _scalar(form: Any, markers: tuple[Marker, ...], depth: int) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    if form is None or form is type(None):
        return st.none()
    if form is bool:
        return st.booleans()
    if form is int:
        return _integers(markers)
    if form is float:
        low, high = _marker(markers, Minimum), _marker(markers, Maximum)
        return st.floats(
            low.value if low else None,
            high.value if high else None,
            exclude_min=bool(low and low.exclusive),
            exclude_max=bool(high and high.exclusive),
            allow_nan=False,
            allow_infinity=False,
        )
    if form is str:
        if (pattern := _marker(markers, Pattern)) is not None:
            return st.from_regex(pattern.value)
        low_length, high_length = _marker(markers, MinLength), _marker(markers, MaxLength)
        least = low_length.value if low_length else 0
        most = max(least, min(high_length.value if high_length else least + 20, least + 20))
        return st.text(st.characters(codec="utf-8"), min_size=least, max_size=most)
    if form is Any:
        leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
        if depth <= 0:
            return leaves
        return st.recursive(
            leaves,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
            max_leaves=8,
        )
    raise TypeError(f"no values are known for the annotation {form!r}")


def _integers(markers: tuple[Marker, ...]) -> SearchStrategy[int]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    low, high = _marker(markers, Minimum), _marker(markers, Maximum)
    least = int(-(-low.value // 1)) if low else -(2**63)
    most = int(high.value // 1) if high else 2**63 - 1
    if low and low.exclusive and least == low.value:
        least += 1
    if high and high.exclusive and most == high.value:
        most -= 1
    multiple = _marker(markers, MultipleOf)
    if multiple is None:
        return st.integers(least, most)
    step = int(multiple.value)
    return st.integers(-(-least // step), most // step).map(lambda number: number * step)


def _list(item: Any, markers: tuple[Marker, ...], depth: int) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    unique: Callable[[Any], Any] | None = None
    if (keyed := _marker(markers, ListMap)) is not None:
        keys = keyed.keys
        unique = lambda entry: tuple(msgspec.to_builtins(entry).get(key, "") for key in keys)  # noqa: E731 -- it is a value
    elif _marker(markers, ListSet) is not None:
        unique = _identity
    least, most = _bounds(markers, MinItems, MaxItems, depth)
    return st.lists(_value(item, (), depth - 1), unique_by=unique, min_size=least, max_size=most)


def _identity(entry: Any) -> str:
    return msgspec.json.encode(entry).decode()


def _bounds(markers: tuple[Marker, ...], low: Any, high: Any, depth: int) -> tuple[int, int]:
    """How few and how many items."""
    least = found.value if (found := _marker(markers, low)) else 0
    limit = least + (_ITEMS if depth > 0 else 0)
    most = min(found.value, limit) if (found := _marker(markers, high)) else limit
    return least, max(least, most)


def _marker(markers: tuple[Marker, ...], wanted: Any) -> Any:
    for marker in reversed(markers):
        if isinstance(marker, wanted):
            return marker
    return None
