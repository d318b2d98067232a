"""Random values of an author's types, for property tests: every annotation that has a schema, with its markers.

Each value is also checked by its field's schema, so markers that this module does not read hold as well. Must not know kinds
and versions. Needs hypothesis.
"""

from __future__ import annotations

import datetime as dt
import enum
import types
import typing
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from extapi.api.declaration import DeclarationError
from extapi.api.markers import (
    EmbeddedResource,
    Format,
    IntOrString,
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
from extapi.api.types import Object, ObjectMeta
from extapi.schema.compile import compile_part, compile_type
from extapi.schema.formats import string_format
from extapi.schema.schema import Schema
from extapi.schema.structural import Structural
from extapi.testing.texts import text_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_DEPTH = 4
"""The depth of types that contain themselves, and of free JSON."""
_ITEMS = 4
"""The number of items of a list or map whose markers do not require more."""
_INT32, _INT64 = 2**31, 2**63
_EMBEDDED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "some"}}


class Generation:
    """Makes strategies, and counts the valid values of each field."""

    def __init__(self) -> None:
        self._valid: dict[str, int] = {}

    def barren(self) -> str:
        """The reason why no object could be generated, after hypothesis gave up."""
        fields = [name for name, valid in self._valid.items() if not valid]
        what = f"for {', '.join(fields)}" if fields else "that satisfy all markers together"
        return f"no valid values were found {what}; test these conversions with objects that you write yourself"

    def struct(self, cls: type[msgspec.Struct], depth: int = _DEPTH) -> SearchStrategy[Any]:
        """Instances of a Struct.

        Raises:
            TypeError: It cannot make values for an annotation or a format.
        """
        from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

        if cls is ObjectMeta:
            return _metadata()
        schemas = _schemas(cls)
        fields: dict[str, SearchStrategy[Any]] = {}
        for field in msgspec.structs.fields(cls):
            if issubclass(cls, Object) and field.name in {"api_version", "kind"}:
                continue
            if depth <= 0 and not field.required:
                continue
            where = f"{cls.__name__}.{field.name}"
            values = self._value(field.type, (), depth - 1, where)
            schema = schemas.get(field.encode_name) if field.name != "metadata" else None
            fields[field.name] = values if schema is None else values.filter(self._filter(schema, where))
        return st.builds(cls, **fields)

    def _filter(self, node: Structural, where: str) -> Callable[[Any], bool]:
        """A check of values by the schema of their field. None passes: the server drops it or keeps it as null."""
        schema = Schema(Structural(type="object", properties={"value": node}))
        self._valid[where] = 0

        def valid(value: Any) -> bool:
            obj = {"value": msgspec.to_builtins(value)}
            schema.prune_and_default(obj)
            good = value is None or schema.accepts(obj)
            self._valid[where] += good
            return good

        return valid

    def _value(self, form: Any, markers: tuple[Marker, ...], depth: int, where: str) -> SearchStrategy[Any]:
        """Values for one annotation."""
        from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

        origin, arguments = typing.get_origin(form), typing.get_args(form)
        if origin is Annotated:
            found = tuple(extra for extra in arguments[1:] if isinstance(extra, Marker))
            return self._value(arguments[0], (*found, *markers), depth, where)
        if isinstance(form, typing.NewType):
            return self._value(form.__supertype__, markers, depth, where)
        if (one_of := _marker(markers, OneOf)) is not None:
            return st.sampled_from(one_of.values)
        if origin in {typing.Union, types.UnionType}:
            return st.one_of([self._value(each, markers, depth, where) for each in arguments])
        if origin is typing.Literal:
            return st.sampled_from(arguments)
        if form is list or origin in {list, Sequence}:
            return self._list(arguments[0] if arguments else Any, markers, depth, where)
        if form is dict or origin in {dict, Mapping}:
            return self._map(arguments[1] if arguments else Any, markers, depth, where)
        if isinstance(form, type) and issubclass(form, msgspec.Struct):
            return self.struct(form, depth)
        if isinstance(form, type) and issubclass(form, enum.Enum):
            return st.sampled_from([member for member in form if member.value is not None])
        return _scalar(form, markers, depth, where)

    def _list(self, item: Any, markers: tuple[Marker, ...], depth: int, where: str) -> SearchStrategy[Any]:
        from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

        unique: Callable[[Any], Any] | None = None
        if (keyed := _marker(markers, ListMap)) is not None:
            keys = keyed.keys
            unique = lambda entry: tuple(str(msgspec.to_builtins(entry).get(key, "")) for key in keys)  # noqa: E731 -- it is a value
        elif _marker(markers, ListSet) is not None:
            unique = _identity
        least, most = _bounds(markers, MinItems, MaxItems, depth)
        return st.lists(self._value(item, (), depth - 1, where), unique_by=unique, min_size=least, max_size=most)

    def _map(self, value: Any, markers: tuple[Marker, ...], depth: int, where: str) -> SearchStrategy[Any]:
        from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

        least, most = _bounds(markers, MinProperties, MaxProperties, depth)
        values = self._value(value, (), depth - 1, where)
        made = st.dictionaries(st.text(max_size=8), values, min_size=least, max_size=most)
        return made.map(lambda obj: {**obj, **_EMBEDDED}) if _marker(markers, EmbeddedResource) else made


def _schemas(cls: type[msgspec.Struct]) -> Mapping[str, Structural]:
    """The schemas of the fields. A type that contains itself has none: it can be generated, but no kind can use it."""
    try:
        return (compile_type(cls) if issubclass(cls, Object) else compile_part(cls)).properties
    except DeclarationError:
        return {}


def _metadata() -> SearchStrategy[ObjectMeta]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    name = st.text("abcdefghij-0123456789", min_size=1, max_size=20).map(lambda text: f"x{text}x")
    texts = st.dictionaries(name, name, max_size=2)
    return st.builds(ObjectMeta, name=name, namespace=name, labels=texts, annotations=texts)


def _scalar(form: Any, markers: tuple[Marker, ...], depth: int, where: str) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    if form in (Any, object):
        return _integers(markers) | _texts(markers, where) if _marker(markers, IntOrString) else _anything(depth)
    plain: dict[Any, Callable[[], SearchStrategy[Any]]] = {
        None: st.none,
        types.NoneType: st.none,
        bool: st.booleans,
        int: lambda: _integers(markers),
        float: lambda: _floats(markers),
        str: lambda: _texts(markers, where),
        bytes: lambda: st.binary(min_size=1, max_size=20),
        dt.datetime: lambda: st.datetimes(timezones=st.just(dt.UTC)),
        dt.date: st.dates,
        uuid.UUID: st.uuids,
    }
    make = plain.get(form) if form.__hash__ is not None else None
    if make is None:
        raise TypeError(f"{where}: cannot generate values for the annotation {form!r}")
    return make()


def _anything(depth: int) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
    if depth <= 0:
        return leaves
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    )


def _floats(markers: tuple[Marker, ...]) -> SearchStrategy[float]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    low, high = _marker(markers, Minimum), _marker(markers, Maximum)
    multiple = _marker(markers, MultipleOf)
    if multiple is not None:
        return _integers((Minimum(_up(low, multiple)), Maximum(_down(high, multiple)))).map(
            lambda n: n * multiple.value
        )
    return st.floats(
        low.value if low else None,
        high.value if high else None,
        exclude_min=bool(low and low.exclusive),
        exclude_max=bool(high and high.exclusive),
        allow_nan=False,
        allow_infinity=False,
    )


def _up(low: Any, multiple: Any) -> float:
    return -(-low.value // multiple.value) if low else -1000


def _down(high: Any, multiple: Any) -> float:
    return float(high.value // multiple.value) if high else 1000


def _texts(markers: tuple[Marker, ...], where: str) -> SearchStrategy[str]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    if (pattern := _marker(markers, Pattern)) is not None:
        found = st.from_regex(pattern.value)
        try:
            found.validate()
        except Exception as error:  # a pattern for RE2, which Python may not read
            raise TypeError(f"{where}: cannot generate values for the pattern {pattern.value!r}: {error}") from error
        return found
    form = _marker(markers, Format)
    if form is not None and string_format(form.value) is not None:
        texts = text_of(form.value)
        if texts is None:
            raise TypeError(f"{where}: cannot generate values for the format {form.value!r}")
        return texts
    low, high = _marker(markers, MinLength), _marker(markers, MaxLength)
    least = low.value if low else 0
    most = max(least, min(high.value if high else least + 20, least + 20))
    return st.text(st.characters(codec="utf-8"), min_size=least, max_size=most)


def _integers(markers: tuple[Marker, ...]) -> SearchStrategy[int]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    form = _marker(markers, Format)
    bound = _INT32 if form is not None and form.value == "int32" else _INT64
    low, high = _marker(markers, Minimum), _marker(markers, Maximum)
    least = max(int(-(-low.value // 1)) if low else -bound, -bound)
    most = min(int(high.value // 1) if high else bound - 1, bound - 1)
    if low and low.exclusive and least == low.value:
        least += 1
    if high and high.exclusive and most == high.value:
        most -= 1
    multiple = _marker(markers, MultipleOf)
    if multiple is None:
        return st.integers(least, most)
    step = int(multiple.value)
    return st.integers(-(-least // step), most // step).map(lambda number: number * step)


def _identity(entry: Any) -> str:
    return msgspec.json.encode(entry).decode()


def _bounds(markers: tuple[Marker, ...], low: Any, high: Any, depth: int) -> tuple[int, int]:
    """The least and the largest number of items."""
    least = found.value if (found := _marker(markers, low)) else 0
    limit = least + (_ITEMS if depth > 0 else 0)
    most = min(found.value, limit) if (found := _marker(markers, high)) else limit
    return least, max(least, most)


def _marker(markers: tuple[Marker, ...], wanted: Any) -> Any:
    """The effective marker: the outermost one, as in the schema."""
    for marker in reversed(markers):
        if isinstance(marker, wanted):
            return marker
    return None
