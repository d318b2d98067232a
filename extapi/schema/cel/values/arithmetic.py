"""Sums, differences, products and quotients, checked for overflow as in Go.

There is one function per overload, so that no call has to ask for types again.

Source: ``github.com/google/cel-go/common/types`` overflow.go, and the Add, Subtract, Multiply, Divide, Modulo and Negate
methods beside it.
"""

from __future__ import annotations

import math
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values.concatenation import concatenate
from extapi.schema.cel.values.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    MapList,
    SchemaList,
    SetList,
    Timestamp,
    UInt,
)

TIMESTAMP_MIN: Final = Timestamp(-62_135_596_800 * 10**9)
"""The beginning of the year 1."""
TIMESTAMP_MAX: Final = Timestamp(253_402_300_799 * 10**9 + 999_999_999)
"""The end of the year 9999."""

_INT: Final = "integer overflow"
_UINT: Final = "unsigned integer overflow"
_TIMESTAMP: Final = "timestamp overflow"
_KEYED: Final = frozenset((SetList, MapList))


def add_int(left: int, right: int) -> int:
    """The sum of two ints."""
    result = left + right
    if not INT_MIN <= result <= INT_MAX:
        raise EvaluationError(_INT)
    return result


def subtract_int(left: int, right: int) -> int:
    """The difference of two ints."""
    result = left - right
    if not INT_MIN <= result <= INT_MAX:
        raise EvaluationError(_INT)
    return result


def multiply_int(left: int, right: int) -> int:
    """The product of two ints."""
    result = left * right
    if not INT_MIN <= result <= INT_MAX:
        raise EvaluationError(_INT)
    return result


def divide_int(left: int, right: int) -> int:
    """The quotient of two ints, rounded towards zero."""
    if right == 0:
        raise EvaluationError("division by zero")
    result = abs(left) // abs(right)
    if (left < 0) != (right < 0):
        return -result
    if result > INT_MAX:
        raise EvaluationError(_INT)
    return result


def modulo_int(left: int, right: int) -> int:
    """The remainder of two ints. It has the sign of the dividend."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    if right == -1 and left == INT_MIN:
        raise EvaluationError(_INT)
    result = abs(left) % abs(right)
    return -result if left < 0 else result


def negate_int(value: int) -> int:
    """The negative of an int."""
    if value == INT_MIN:
        raise EvaluationError(_INT)
    return -value


def add_uint(left: int, right: int) -> UInt:
    """The sum of two uints."""
    result = left + right
    if result > UINT_MAX:
        raise EvaluationError(_UINT)
    return UInt(result)


def subtract_uint(left: int, right: int) -> UInt:
    """The difference of two uints."""
    if right > left:
        raise EvaluationError(_UINT)
    return UInt(left - right)


def multiply_uint(left: int, right: int) -> UInt:
    """The product of two uints."""
    result = left * right
    if result > UINT_MAX:
        raise EvaluationError(_UINT)
    return UInt(result)


def divide_uint(left: int, right: int) -> UInt:
    """The quotient of two uints."""
    if right == 0:
        raise EvaluationError("division by zero")
    return UInt(left // right)


def modulo_uint(left: int, right: int) -> UInt:
    """The remainder of two uints."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    return UInt(left % right)


def divide_double(left: float, right: float) -> float:
    """The quotient of two doubles. Division by zero gives an infinity or NaN, as in IEEE 754."""
    if right:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


_CENTURY: Final = 100 * 366 * 24 * 3600 * 10**9
"""Nanoseconds that are within 64 bits by far."""


def add_durations(left: int, right: int) -> Duration:
    """The sum of two durations."""
    return Duration(add_int(left, right))


def subtract_durations(left: int, right: int) -> Duration:
    """The difference of two durations."""
    return Duration(subtract_int(left, right))


def add_to_timestamp(left: Timestamp, right: int) -> Timestamp:
    """A timestamp that much later. It keeps its zone."""
    return _within_range(int(left) + right, left)


def add_to_duration(left: int, right: Timestamp) -> Timestamp:
    """A timestamp that much later, with the duration first."""
    return _within_range(left + int(right), right)


def subtract_from_timestamp(left: Timestamp, right: int) -> Timestamp:
    """A timestamp that much earlier. It keeps its zone."""
    if right == INT_MIN:
        raise EvaluationError(_INT)
    return _within_range(int(left) - right, left)


def subtract_timestamps(left: int, right: int) -> Duration:
    """The time between two timestamps."""
    difference = left - right
    if -_CENTURY < difference < _CENTURY:
        return Duration(difference)
    # Go multiplies the seconds first, so the last second of the range is out of it for some nanoseconds.
    seconds = left // 10**9 - right // 10**9
    if not INT_MIN <= seconds * 10**9 <= INT_MAX or not INT_MIN <= difference <= INT_MAX:
        raise EvaluationError(_INT)
    return Duration(difference)


def _within_range(nanoseconds: int, like: Timestamp) -> Timestamp:
    if not TIMESTAMP_MIN <= nanoseconds <= TIMESTAMP_MAX:
        raise EvaluationError(_TIMESTAMP)
    result = Timestamp(nanoseconds)
    if like.offset:
        result.offset = like.offset
    return result


def add_lists(left: list[Any], right: list[Any]) -> list[Any]:
    """Two lists, one after the other. What the left one is decides: sets are united, lists with keys are merged.

    Source: ``cel-go/common/types`` baseList.Add, ``k8s.io/apiserver/pkg/cel/common`` unstructuredSetList.Add and
    unstructuredMapList.Add.
    """
    if type(left) is SetList:
        return _unite(left, right)
    if type(left) is MapList:
        return _merge(left, right)
    if type(left) is SchemaList:
        return SchemaList([*left, *right]) if right else left
    if not left and type(right) not in _KEYED:
        return right
    if not right:
        return left
    return concatenate(left, right)


def _unite(left: SetList, right: list[Any]) -> SetList:
    known = left.members()
    added = []
    for each in right:
        key = (each.__class__, each)
        if key not in known:
            known.add(key)
            added.append(each)
    return SetList([*left, *added]) if added else left


def _merge(left: MapList, right: list[Any]) -> MapList:
    merged = list(left)
    places = {left.key_of(each): index for index, each in enumerate(left)}
    for each in right:
        place = places.get(left.key_of(each))
        if place is None:
            merged.append(each)
        else:
            merged[place] = each
    return MapList(merged, left.keys)
