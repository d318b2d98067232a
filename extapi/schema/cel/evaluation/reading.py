"""How values of a schema are read as values of CEL: the JSON stays as it is, and only what is asked for is converted.

Source: ``k8s.io/apiserver/pkg/cel/common`` valuesunstructured.go.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final

from extapi.api.jsonvalue import json_equal
from extapi.schema.cel.declared import Declared
from extapi.schema.cel.errors import EvaluationError, PanicError
from extapi.schema.cel.escaping import escape
from extapi.schema.cel.types import DYN, Type, list_of, map_of
from extapi.schema.cel.values.durations import parse_loose_duration
from extapi.schema.cel.values.equality import NO_SUCH_OVERLOAD, equal
from extapi.schema.cel.values.made import MadeObject
from extapi.schema.cel.values.showing import show
from extapi.schema.cel.values.time import parse_date, parse_date_time, parse_timestamp
from extapi.schema.cel.values.values import MapList, OptionalValue, SchemaList, SchemaMap, SetList, some, type_name
from extapi.schema.listtype import freeze

_NULL: Final = "invalid data, got null for schema with nullable=false"


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvaluationError(f"Invalid byte formatted string {text}: {error}") from error


def _double(number: float) -> float:
    return float(number)


def _reader(parse: Callable[[str], Any], words: str) -> Callable[[str], Any]:
    """What reads a string of a schema; its error says what the string is not."""

    def read_text(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise EvaluationError(f"Invalid {words} {text}: {error}") from error

    return read_text


_read_date_time: Final = _reader(parse_date_time, "date-time formatted string")


def _date_time(text: str) -> Any:
    try:
        return parse_timestamp(text)  # which nearly all are
    except ValueError:
        return _read_date_time(text)


CONVERSIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "bytes": _bytes,
    "date": _reader(parse_date, "date formatted string"),
    "double": _double,
    "duration": _reader(parse_loose_duration, "duration"),
    "timestamp": _date_time,
}
"""How each conversion of :class:`Declared` is done. Each may raise EvaluationError."""


_LIST: Final = list_of(DYN)
_MAP: Final = map_of(DYN, DYN)
_WHOLE: Final = (SchemaList, SchemaMap)
"""What has been read as a whole."""


class Typed:
    """A list, map or object of a schema, not yet read."""

    __slots__ = ("declared", "raw")

    def __init__(self, declared: Declared, raw: Any) -> None:
        self.declared = declared
        self.raw = raw

    @property
    def cel_type(self) -> Type:
        """What it is to functions of any type."""
        return _LIST if isinstance(self.raw, list) else _MAP

    @property
    def go_type(self) -> str:
        """The name of its type in Go, which some errors show."""
        if not isinstance(self.raw, list):
            return "*common.unstructuredMap"
        kind = {"set": "Set", "map": "Map"}.get(self.declared.list_type, "")
        return f"*common.unstructured{kind}List"


def read(declared: Declared | None, raw: Any) -> Any:
    """A value of a schema: a scalar, or a :class:`Typed` that says how to read on.

    Raises:
        EvaluationError: The value does not fit its schema.
    """
    if declared is None:
        return raw
    if raw is None:
        if declared.nullable or declared.type.kind == "dyn":
            return None
        raise EvaluationError(_NULL)
    if declared.conversion:
        return CONVERSIONS[declared.conversion](raw)
    return Typed(declared, raw) if isinstance(raw, list | dict) else raw


def read_or_error(declared: Declared | None, raw: Any) -> Any:
    """The same, where an error is a value."""
    try:
        return read(declared, raw)
    except EvaluationError as error:
        return error


def native(declared: Declared | None, raw: Any, *, whole: bool = False) -> Any:
    """A value of a schema with all that is in it, converted. Objects become maps by identifier.

    Args:
        declared: What is known of it.
        raw: The value as JSON.
        whole: Whether lists and maps that need no conversion tell that they are of a schema, too.

    Raises:
        EvaluationError: Something does not fit its schema.
    """
    if declared is None or (declared.plain and raw is not None and not (whole and isinstance(raw, list | dict))):
        return raw
    if raw is None:
        return read(declared, raw)
    if declared.conversion:
        return CONVERSIONS[declared.conversion](raw)
    if declared.element is None:
        return _native_object(declared, raw, whole=whole) if isinstance(raw, dict) else raw
    element = declared.element
    if declared.type.kind == "map":
        return SchemaMap((key, native(element, value, whole=whole)) for key, value in raw.items())
    items = [native(element, value, whole=whole) for value in raw]
    if declared.list_type == "set":
        return SetList(items, raw)
    if declared.list_type == "map":
        return MapList(items, tuple(escape(key) or key for key in declared.list_map_keys))
    return SchemaList(items)


def _native_object(declared: Declared, raw: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    made = SchemaMap()
    for key, value in raw.items():
        known = declared.properties.get(key)
        if known is None:
            made[key] = value
        elif value is not None:
            made[escape(key) or key] = native(known, value, whole=whole)
    return made


def materialized(value: Any) -> Any:
    """A value for those who do not know schemas.

    Raises:
        EvaluationError: Something does not fit its schema.
    """
    if type(value) is Typed:
        return native(value.declared, value.raw, whole=True)
    if type(value) is OptionalValue and type(value.value) is Typed:
        return some(materialized(value.value))
    return value


def sized(value: Any) -> Any:
    """Something of the same size, without a schema."""
    if type(value) is OptionalValue and type(value.value) is Typed:
        return some(value.value.raw)
    return value.raw if type(value) is Typed else value


_FOREIGN: Final = {
    "kubernetes.NamedFormat": "*cel.Format",
    "kubernetes.Quantity": "*resource.Quantity",
    "kubernetes.Semver": "semver.Version",
    "kubernetes.URL": "*url.URL",
    "net.CIDR": "netip.Prefix",
    "net.IP": "netip.Addr",
}
"""Types that cel-go does not know, and what they are in Go."""


def without_schema(value: Any) -> Any:
    """What is in an optional, once cel-go has unpacked and packed it again, as it does with every variable and choice.

    A list, map or object is then JSON of no schema, and a value of Kubernetes' own types is an error.
    """
    while type(value) is OptionalValue:
        value = value.value
    if type(value) is Typed:
        return value.raw
    if type(value) is MadeObject:
        return dict(value.fields)
    foreign = _FOREIGN.get(type_name(value))
    if foreign is not None:
        return EvaluationError(f"unsupported conversion to ref.Val: ({foreign}){show(value)}")
    return value


def equal_typed(declared: Declared, first: Any, second: Any) -> bool:
    """Whether two values of the same schema are equal, given as JSON.

    Raises:
        EvaluationError: Something does not fit its schema.
    """
    if first is None or second is None:
        return first is second
    if declared.plain:
        return bool(first == second)
    if declared.conversion:
        convert = CONVERSIONS[declared.conversion]
        return bool(convert(first) == convert(second))
    if declared.element is None:
        return _equal_objects(declared, first, second)
    if len(first) != len(second):
        return False
    element = declared.element
    if declared.type.kind == "map":
        return all(key in second and equal_typed(element, value, second[key]) for key, value in first.items())
    if declared.list_type == "set":
        return _equal_sets(element, first, second)
    if declared.list_type == "map":
        return _equal_map_lists(declared, element, first, second)
    return all(equal_typed(element, one, other) for one, other in zip(first, second, strict=True))


def equal_read(first: Any, second: Any) -> bool:
    """Whether two values are equal, each read from a schema or not.

    Raises:
        EvaluationError: Something does not fit its schema.
    """
    if type(first) is Typed and type(second) is Typed and first.declared is second.declared:
        return equal_typed(first.declared, first.raw, second.raw)
    if type(first) is Typed and second is not None and _shape(first.raw) is not _shape(second):
        raise EvaluationError(NO_SUCH_OVERLOAD)
    if isinstance(first, _WHOLE) or isinstance(second, _WHOLE):
        return equal(materialized(first), materialized(second))
    if type(first) is Typed and isinstance(second, dict):
        return _object_equals_map(first, second)
    if type(second) is Typed and isinstance(first, dict) and isinstance(second.raw, dict):
        return _map_equals_object(first, second)
    if type(second) is Typed and type(first) is list and isinstance(second.raw, list):
        element = second.declared.element
        return len(first) == len(second.raw) and all(
            equal_read(one, read(element, other)) for one, other in zip(first, second.raw, strict=True)
        )
    return equal(materialized(first), materialized(second))


def _shape(value: Any) -> type | None:
    """Whether a value is a list, a map or object, or neither."""
    if type(value) is Typed:
        value = value.raw
    return list if isinstance(value, list) else dict if isinstance(value, dict) else None


def _object_equals_map(typed: Typed, mapping: dict[Any, Any]) -> bool:
    """Whether an object or map of a schema is equal to a map without one, which has its members by their own names."""
    if len(typed.raw) != len(mapping):
        return False
    for key, value in mapping.items():
        declared = _member(typed, key)
        if declared is None or not equal_read(read(declared, typed.raw[key]), value):
            return False
    return True


def _map_equals_object(mapping: dict[Any, Any], typed: Typed) -> bool:
    if len(typed.raw) != len(mapping):
        return False
    for key, value in mapping.items():
        declared = _member(typed, key)
        if declared is None or not equal_read(value, read(declared, typed.raw[key])):
            return False
    return True


def _member(typed: Typed, key: Any) -> Declared | None:
    """The schema of a member that is there."""
    if typed.raw.get(key) is None:
        return None
    return typed.declared.element or typed.declared.properties.get(key)


def _equal_objects(declared: Declared, first: dict[str, Any], second: dict[str, Any]) -> bool:
    if len(first) != len(second):
        return False
    for key, value in first.items():
        known = declared.properties.get(key)
        other = second.get(key)
        if known is None:
            # As in Go, a member that only one of them has does not count.
            if key in second and not json_equal(value, other):
                return False
        elif (value is None) != (other is None) or (value is not None and not equal_typed(known, value, other)):
            return False
    return True


def _equal_sets(element: Declared, first: list[Any], second: list[Any]) -> bool:
    """Go asks only whether each of ``second`` is in ``first``, and compares what it has read with JSON.

    So a set of dates is equal to none, and one of numbers only to one without whole numbers.
    """
    if element.conversion == "bytes" and second:
        raise PanicError("runtime error: hash of unhashable type []uint8")
    members = {(type(each), freeze(each)) for each in first}
    for each in second:
        value = native(element, each)
        if (type(value), freeze(value)) not in members:
            return False
    return True


def _equal_map_lists(declared: Declared, element: Declared, first: list[Any], second: list[Any]) -> bool:
    # As in Go, keys are sought by their identifiers, even in JSON.
    keys = tuple(escape(key) or key for key in declared.list_map_keys)
    by_key = {_key(keys, each): each for each in first}
    for each in second:
        before = by_key.get(_key(keys, each))
        if before is None or not equal_typed(element, before, each):
            return False
    return True


def _key(keys: tuple[str, ...], item: Any) -> Any:
    return tuple(freeze(item.get(key)) for key in keys) if isinstance(item, dict) else freeze(item)
