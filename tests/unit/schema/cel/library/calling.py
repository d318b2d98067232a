"""Calls of overloads by their ids, judged by what Kubernetes says of the same call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from extapi.schema.cel import types
from extapi.schema.cel.declarations import NOT_LITERAL, Overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.intervals import UNKNOWN, Interval, fixed
from extapi.schema.cel.values.values import Duration, OptionalValue, Timestamp, UInt

_TYPES = {
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    Duration: types.DURATION,
    Timestamp: types.TIMESTAMP,
    type(None): types.NULL,
}


class Refused(NamedTuple):
    """The text of the error that a call ends with."""

    text: str


class Written:
    """An argument that is written as a literal, or whose size is all that is known."""

    def __init__(self, type_: types.Type, size: Interval = UNKNOWN, value: Any = NOT_LITERAL) -> None:
        self.type = type_
        self._size = size
        self._value = value

    def size(self) -> Interval:
        return self._size

    def computed_size(self) -> Interval | None:
        return self._size

    def element(self) -> Written | None:
        return Written(self.type.parameters[0]) if self.type.parameters else None

    def literal(self) -> Any:
        return self._value


def of_value(value: Any) -> Written:
    """The argument as a literal; other values than CEL's own have no known size."""
    if isinstance(value, list):
        inner = of_value(value[0]).type if value else types.DYN
        return Written(types.list_of(inner), fixed(len(value)))
    if type(value) in _TYPES:
        return Written(_TYPES[type(value)], fixed(len(value) if isinstance(value, (str, bytes)) else 1), value)
    return Written(value.cel_type)


def found(overloads: Sequence[Overload], identifier: str) -> Overload:
    """The overload with that id."""
    (one,) = (each for each in overloads if each.id == identifier)
    return one


def call(overloads: Sequence[Overload], identifier: str, *arguments: Any) -> Any:
    """What the call gives; :class:`Refused` if it fails."""
    try:
        return found(overloads, identifier).call(*arguments)
    except EvaluationError as error:
        return Refused(str(error))


def cost(overloads: Sequence[Overload], identifier: str, *arguments: Any) -> int:
    """What the call has cost."""
    charged = found(overloads, identifier).cost
    return charged if isinstance(charged, int) else charged(arguments, None)


def estimate(overloads: Sequence[Overload], identifier: str, *operands: Written) -> Interval:
    """What the call may cost."""
    one = found(overloads, identifier)
    if one.estimate is None:
        return fixed(1)
    receiver, others = (operands[0], operands[1:]) if one.member else (None, operands)
    return one.estimate(receiver, others)[0]


def plain(value: Any) -> Any:
    """The value as ``==`` of tests can compare it."""
    if isinstance(value, OptionalValue):
        return ("some", plain(value.value)) if value.present else "none"
    return value


def judge(
    overloads: Sequence[Overload],
    identifier: str,
    arguments: Sequence[Any],
    expected: Any,
    charged: int,
    estimated: tuple[int, int],
) -> None:
    """Call, and compare what comes of it, its cost, and the estimate for literal arguments."""
    result = plain(call(overloads, identifier, *arguments))
    assert (type(result), result) == (type(expected), expected)
    assert cost(overloads, identifier, *arguments) == charged
    assert estimate(overloads, identifier, *map(of_value, arguments)) == estimated


def untested(overloads: Sequence[Overload], cases: Sequence[tuple[Any, ...]]) -> set[str]:
    """The ids that no case has."""
    return {each.id for each in overloads} - {case[0] for case in cases}
