"""The messages of protobuf that an expression can make: ``google.protobuf.Int64Value{value: 1}``.

Nobody writes them in rules, but they are in the environment, and so they compile.

Source: ``cel-go/common/types/pb`` and ``cel-go/checker`` wellKnownTypes.
"""

from __future__ import annotations

import math
import struct as binary
from collections.abc import Mapping
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    type_of,
)
from extapi.schema.cel.values.values import Duration, Timestamp, UInt

_ANY: Final = Type("dyn", "any")
_LIST: Final = list_of(DYN)
_MAP: Final = map_of(STRING, DYN)


def _wrapper(type_: Type) -> Type:
    """The type of a scalar that may be null."""
    return Type(type_.kind, "wrapper")


_PREFIX: Final = "google.protobuf."
_WRAPPED: Final[Mapping[str, tuple[Type, Any]]] = {
    "BoolValue": (BOOL, False),
    "BytesValue": (BYTES, b""),
    "DoubleValue": (DOUBLE, 0.0),
    "FloatValue": (DOUBLE, 0.0),
    "Int32Value": (INT, 0),
    "Int64Value": (INT, 0),
    "StringValue": (STRING, ""),
    "UInt32Value": (UINT, UInt(0)),
    "UInt64Value": (UINT, UInt(0)),
}
_RANGES: Final = {"Int32Value": (-(2**31), 2**31 - 1, "integer"), "UInt32Value": (0, 2**32 - 1, "unsigned integer")}
_FIELDS: Final[Mapping[str, Mapping[str, Type]]] = {
    **{name: {"value": type_} for name, (type_, _) in _WRAPPED.items()},
    "Any": {"type_url": STRING, "value": BYTES},
    "Duration": {"seconds": INT, "nanos": INT},
    "ListValue": {"values": _LIST},
    "Struct": {"fields": _MAP},
    "Timestamp": {"seconds": INT, "nanos": INT},
    "Value": {
        "bool_value": BOOL,
        "list_value": _LIST,
        "null_value": INT,
        "number_value": DOUBLE,
        "string_value": STRING,
        "struct_value": _MAP,
    },
}

MESSAGES: Final[Mapping[str, Type]] = {
    **{f"{_PREFIX}{name}": type_of(_wrapper(type_)) for name, (type_, _) in _WRAPPED.items()},
    f"{_PREFIX}Any": type_of(_ANY),
    f"{_PREFIX}Duration": type_of(DURATION),
    f"{_PREFIX}ListValue": type_of(_LIST),
    f"{_PREFIX}Struct": type_of(_MAP),
    f"{_PREFIX}Timestamp": type_of(TIMESTAMP),
    f"{_PREFIX}Value": type_of(DYN),
}
"""The names of the messages, as names of types."""
NOT_VALUES: Final = (frozenset(MESSAGES) - {f"{_PREFIX}Duration", f"{_PREFIX}Timestamp"}) | {"duration", "timestamp"}
"""Types whose names can be written, but have no value."""
ENUM_VALUES: Final[Mapping[str, int]] = {f"{_PREFIX}NullValue.NULL_VALUE": 0}
"""Numbers with names."""


def message_type(message: str, field: str) -> Type | None:
    """The type of a message's field; None if there is no such field."""
    return _FIELDS.get(message.removeprefix(_PREFIX), {}).get(field)


def make_message(message: str, fields: Mapping[str, Any]) -> Any:
    """The value of a message.

    Raises:
        EvaluationError: It has none.
    """
    name = message.removeprefix(_PREFIX)
    if name in _WRAPPED:
        return _wrapped(name, fields.get("value", _WRAPPED[name][1]))
    match name:
        case "Duration":
            return Duration(fields.get("seconds", 0) * 10**9 + fields.get("nanos", 0))
        case "Timestamp":
            return Timestamp(fields.get("seconds", 0) * 10**9 + fields.get("nanos", 0))
        case "Struct":
            return _json(fields.get("fields", {}))
        case "ListValue":
            return _json(fields.get("values", []))
        case "Value":
            for field, value in fields.items():
                return None if field == "null_value" else _json(value)
            return None
    raise EvaluationError("unsupported conversion to ref.Val: (*dynamicpb.Message)")


def _wrapped(name: str, value: Any) -> Any:
    if name in _RANGES:
        least, most, words = _RANGES[name]
        if not least <= value <= most:
            raise EvaluationError(f"field type conversion error for {_PREFIX}{name}.value value type: {words} overflow")
    if name == "FloatValue":
        return _single(value)
    return value


def _single(value: float) -> float:
    """The number with the precision of a float; what is too large for one is infinite."""
    try:
        (made,) = binary.unpack("<f", binary.pack("<f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(made)


def _json(value: Any) -> Any:
    """A value as protobuf's JSON values have it: all numbers are doubles."""
    if type(value) in {int, UInt}:
        return float(value)
    if isinstance(value, list):
        return [_json(each) for each in value]
    if isinstance(value, dict):
        return {key: _json(each) for key, each in value.items()}
    return value
