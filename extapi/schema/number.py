"""JSON numbers as Go's validation sees them: their type, which floats count as integers, and how bounds are printed."""

from __future__ import annotations

import math
from typing import Any, Final

from extapi.api.jsonvalue import INT64
from extapi.errors import go_float

INT32: Final = range(-(2**31), 2**31)
MAX_FLOAT32: Final = 3.4028234663852886e38
_MAX_EXACT = float(2**53 - 1)


def json_type(value: Any) -> str:
    """The JSON type as messages name it. An integer beyond int64 is a "number", because Go reads it as a float."""
    name = _NAMES.get(value.__class__, "object")
    return "number" if name == "integer" and value not in INT64 else name


_NAMES: Final = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def int64(number: float) -> int:
    """A number as Go converts it to int64: its whole part, or the least int64 if that is none (on amd64)."""
    whole = math.trunc(number)
    return whole if whole in INT64 else INT64[0]


def is_whole(value: float) -> bool:
    """Whether JSON schema takes a float for an integer; it may be slightly more than one.

    Source: ``swag.IsFloat64AJSONInteger``.
    """
    number = float(value)
    if not -_MAX_EXACT <= number <= _MAX_EXACT:
        return False
    below = math.floor(number)
    return number == below or (below > 0 and (number - below) / (number + below) < 1e-9)


def is_multiple(value: float, factor: float) -> bool:
    """Whether ``value`` is a multiple of ``factor``; exact for integers, with a tolerance for floats."""
    if isinstance(value, int) and float(factor).is_integer():
        return value % int(factor) == 0
    return _is_nearly_whole(1 / factor * value if factor < 1 else value / factor)


def _is_nearly_whole(number: float) -> bool:
    if not -_MAX_EXACT <= number <= _MAX_EXACT:
        return False
    return abs(number - round(number)) < 1e-9 * max(1e-3, abs(number))


def printed(number: float, *, like: Any = 0.0) -> str:
    """A bound as Go's ``%v`` prints it: as an integer if the value ``like`` is one, otherwise as a float."""
    if isinstance(like, int) and float(number).is_integer():
        return str(int(number))
    return go_float(number)
