"""Whether two values are equal, and which of two comes first.

Values of different types may be compared: numbers by their value, all others are different. Python's ``==`` will not do,
since it takes 1 for true and a duration for a number.

Source: ``github.com/google/cel-go/common/types`` Equal and compare.go, ``k8s.io/apiserver/pkg/cel/common``
valuesunstructured.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError, PanicError
from extapi.schema.cel.values.values import (
    Duration,
    MapList,
    OptionalValue,
    SchemaList,
    SchemaMap,
    SetList,
    Timestamp,
    UInt,
)

NO_SUCH_OVERLOAD: Final = "no such overload"
_INT_RANGE: Final = (-(2.0**63), 2.0**63)
_UINT_RANGE: Final = (0.0, 2.0**64)
_NUMBERS: Final = frozenset((int, float, UInt))
_SIMPLE: Final = frozenset((str, bytes, bool, type(None), Duration, Timestamp))
"""Types whose values Python compares as CEL does, if both have that type."""
_EXACT: Final = frozenset((str, bytes, bool, int, UInt))
_SCHEMA: Final = (SchemaList, SchemaMap)
_MISSING: Final[Any] = object()


def equal(left: Any, right: Any) -> bool:
    """Whether two values are equal.

    It recurses only into lists, maps and objects of a schema: other values may be nested as deeply as a client likes. As in
    Go, what cannot be compared is an error there, and counts as equal in lists and maps without a schema.

    Raises:
        EvaluationError: They cannot be compared.
    """
    rest: list[tuple[Any, Any]] = []
    nested = False
    while True:
        kind, other = left.__class__, right.__class__
        if kind is other and kind in _SIMPLE:
            if left != right:
                return False
        elif kind in _NUMBERS:
            if other not in _NUMBERS or not numbers_equal(left, right):
                return False
        elif kind in _SIMPLE:
            return False
        elif isinstance(left, _SCHEMA):
            if right is None or not _is_like(left, right, nested=nested):
                return False
        else:
            parts = _parts(left, right)
            if parts is None:
                return False
            rest += parts
        if not rest:
            return True
        left, right = rest.pop()
        nested = True


def _is_like(left: Any, right: Any, *, nested: bool) -> bool:
    """Whether a value of a schema is equal to another; what cannot be compared counts as equal if ``nested``."""
    try:
        return _equal_to_schema(left, right)
    except PanicError:
        raise
    except EvaluationError:
        if nested:
            return True
        raise


def _equal_to_schema(left: Any, right: Any) -> bool:
    """Source: ``k8s.io/apiserver/pkg/cel/common`` unstructuredList.Equal and the like."""
    parts: Iterable[tuple[Any, Any]] | None
    if isinstance(left, SchemaList):
        if not isinstance(right, list):
            raise EvaluationError(NO_SUCH_OVERLOAD)
        parts = _list_parts(left, right)
    else:
        if not isinstance(right, dict):
            raise EvaluationError(NO_SUCH_OVERLOAD)
        parts = _map_parts(left, right) if len(left) == len(right) else None
    return parts is not None and all(equal(*each) for each in parts)


def _parts(left: Any, right: Any) -> Iterable[tuple[Any, Any]] | None:
    """What has to be equal for two values to be equal; None if they are different."""
    if isinstance(left, list):
        return _list_parts(left, right)
    kind, other = left.__class__, right.__class__
    if kind is dict:
        return _map_parts(left, right) if isinstance(right, dict) and len(left) == len(right) else None
    if kind is OptionalValue:
        if other is not OptionalValue or left.present is not right.present:
            return None
        return ((left.value, right.value),) if left.present else ()
    return () if left == right else None


def numbers_equal(left: Any, right: Any) -> bool:
    """Whether two numbers are equal. An int is rounded before it is compared with a double, as in Go."""
    if left.__class__ is float or right.__class__ is float:
        if left.__class__ is right.__class__:
            return bool(left == right)
        return not (math.isnan(left) or math.isnan(right)) and compare_numbers(left, right) == 0
    return bool(left == right)


def _list_parts(left: list[Any], right: Any) -> Iterable[tuple[Any, Any]] | None:
    if not isinstance(right, list):
        return None
    if len(left) != len(right):
        return None
    if isinstance(left, SetList):
        known = left.members()
        if any(each.__class__ is bytes for each in right):
            raise PanicError("runtime error: hash of unhashable type []uint8")
        return () if all((each.__class__, each) in known for each in right) else None
    if isinstance(left, MapList):
        return _keyed_parts(left, right)
    if left.__class__ is list and right.__class__ is list:
        kinds = set(map(type, left))
        if len(kinds) == 1 and kinds <= _EXACT and kinds == set(map(type, right)):
            return () if left == right else None
    return zip(left, right, strict=True)


def _keyed_parts(left: MapList, right: list[Any]) -> list[tuple[Any, Any]] | None:
    by_key = {left.key_of(each): each for each in left}
    parts = []
    for each in right:
        found = by_key.get(left.key_of(each), _MISSING)
        if found is _MISSING:
            return None
        parts.append((found, each))
    return parts


def _map_parts(left: dict[Any, Any], right: dict[Any, Any]) -> list[tuple[Any, Any]] | None:
    parts = []
    for key, value in left.items():
        found = right.get(key, _MISSING)
        if found is _MISSING:
            return None
        parts.append((value, found))
    return parts if key_kind(left) is key_kind(right) else None


def key_kind(map_: dict[Any, Any]) -> type:
    """Of which type the keys of a map are, where all numbers are one: in Python, 1 and true are the same key."""
    for key in map_:
        return int if key.__class__ in _NUMBERS else key.__class__
    return type(None)


def has_key(key: Any, map_: dict[Any, Any]) -> bool:
    """Whether a map has a key of any type.

    Source: ``cel-go/common/types`` refValMapAccessor.Find, ``k8s.io/apiserver/pkg/cel/common`` unstructuredMap.Find.

    Raises:
        EvaluationError: The key is bytes, or no string and the map one of a schema.
    """
    kind = key.__class__
    if kind is str:
        return key in map_
    if isinstance(map_, SchemaMap):
        raise EvaluationError(NO_SUCH_OVERLOAD)
    if kind in _NUMBERS:
        return key in map_ and key_kind(map_) is int
    if kind is bool:
        return key in map_ and key_kind(map_) is bool
    if kind is bytes and map_:  # Go panics, and cel-go recovers
        raise PanicError("runtime error: hash of unhashable type types.Bytes")
    return False


def contains(element: Any, list_: list[Any]) -> bool:
    """Whether an element of a list is equal to a value. What cannot be compared with it is not, but in a list of a schema.

    Source: ``cel-go/common/types`` baseList.Contains, ``k8s.io/apiserver/pkg/cel/common`` unstructuredList.Contains.

    Raises:
        EvaluationError: Elements of a list of a schema cannot be compared with the value, and none is equal to it.
    """
    if isinstance(list_, SchemaList):
        return _schema_contains(element, list_)
    kind = element.__class__
    if kind is str:
        return element in list_
    if kind in _SIMPLE:
        return any(each.__class__ is kind and each == element for each in list_)
    if isinstance(element, _SCHEMA):
        return any(certainly_equal(element, each) for each in list_)
    return any(equal(element, each) for each in list_)


def _schema_contains(element: Any, list_: SchemaList) -> bool:
    error: EvaluationError | None = None
    for each in list_:
        try:
            if equal(each, element):
                return True
        except PanicError:
            raise
        except EvaluationError as failure:
            error = error or failure
    if error is not None:
        raise error
    return False


def certainly_equal(left: Any, right: Any) -> bool:
    """Whether two values can be compared and are equal.

    Raises:
        PanicError: cel-go would panic.
    """
    try:
        return equal(left, right)
    except PanicError:
        raise
    except EvaluationError:
        return False


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1: which of two values comes first.

    Raises:
        EvaluationError: They have no order.
    """
    kind, other = left.__class__, right.__class__
    if kind in _NUMBERS:
        if other not in _NUMBERS:
            if kind is float and math.isnan(left):
                raise EvaluationError("NaN values cannot be ordered")
            raise EvaluationError(NO_SUCH_OVERLOAD)
        return compare_numbers(left, right)
    if kind is other and kind in _SIMPLE and left is not None:
        return int(left > right) - int(left < right)
    raise EvaluationError(NO_SUCH_OVERLOAD)


def compare_numbers(left: Any, right: Any) -> int:
    """-1, 0 or 1 for two numbers of any types.

    Source: ``cel-go/common/types`` compare.go.

    Raises:
        EvaluationError: One of them is NaN.
    """
    is_double, other_is_double = left.__class__ is float, right.__class__ is float
    if (is_double and math.isnan(left)) or (other_is_double and math.isnan(right)):
        raise EvaluationError("NaN values cannot be ordered")
    if is_double is other_is_double:
        return int(left > right) - int(left < right)
    return _compare_double(left, right) if is_double else -_compare_double(right, left)


def _compare_double(left: float, right: int) -> int:
    """A double and an int, which is rounded unless the double is beyond all ints."""
    least, most = _UINT_RANGE if right.__class__ is UInt else _INT_RANGE
    if left < least:
        return -1
    if left > most:
        return 1
    rounded = float(right)
    return (left > rounded) - (left < rounded)
