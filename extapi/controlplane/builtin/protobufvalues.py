"""Values of protobuf messages as JSON shows them: scalars, times, quantities and the like.

Responsible for: reading each type. Must not know tables of messages. Writing is in :mod:`extapi.codec.protobuftypes`.
Source: ``apimachinery/pkg/apis/meta/v1`` Time and MicroTime, ``util/intstr``, ``api/resource``, ``runtime`` RawExtension.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from extapi.api.jsonvalue import without_surrogates
from extapi.codec import strictjson
from extapi.codec.protobuftypes import BYTES, FIXED64, VARINT, ZERO_TIME
from extapi.controlplane.builtin.wireformat import Budget, expect, fields, refuse

__all__ = ["SCALARS", "SPECIAL", "text"]


def text(data: memoryview) -> str:
    """A string. Each byte that is no UTF-8 becomes U+FFFD, as in Go's JSON encoder."""
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return without_surrogates(str(data, "utf-8", "surrogateescape"))


def _signed(bits: int) -> Callable[[int], int]:
    """A function that reads the lowest bits as two's complement."""
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    return lambda value: ((value & mask) ^ half) - half


_WHOLE = 2**53
"""From here on doubles are sparser than integers."""


def _double(data: memoryview) -> float:
    """A double as JSON shows it: a whole number without a point. JSON has no infinity, and neither have stored objects."""
    value: float = struct.unpack("<d", data)[0]
    if not math.isfinite(value):
        refuse(f"json: unsupported value: {'NaN' if math.isnan(value) else '+Inf' if value > 0 else '-Inf'}")
    return int(value) if value.is_integer() and abs(value) < _WHOLE else value


SCALARS: Final[Mapping[str, tuple[int, Callable[[Any], Any]]]] = {
    "string": (BYTES, text),
    "bytes": (BYTES, lambda data: base64.b64encode(data).decode()),
    "bool": (VARINT, bool),
    "int32": (VARINT, _signed(32)),
    "int64": (VARINT, _signed(64)),
    "double": (FIXED64, _double),
}
"""The wire type of each, and a function that reads it."""


def _numbers(data: memoryview, budget: Budget, kind: str, names: Mapping[int, tuple[str, str]]) -> dict[int, Any]:
    """The scalars of a small message; ``names``: the Go name and type of each, by number."""
    found: dict[int, Any] = {}
    for number, wire, value in fields(kind, data, budget):
        if number in names:
            name, scalar = names[number]
            wanted, read = SCALARS[scalar]
            found[number] = read(expect(value, wire, wanted, name))
    return found


_TIMESTAMP = {1: ("Seconds", "int64"), 2: ("Nanos", "int32")}


def _time(data: memoryview, budget: Budget) -> str | None:
    found = _moment(data, budget)
    return None if found is None else found[0].strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def _micro_time(data: memoryview, budget: Budget) -> str | None:
    found = _moment(data, budget)
    if found is None:
        return None
    moment, nanos = found
    try:
        moment += timedelta(microseconds=int(nanos / 1000))
    except OverflowError:
        refuse("proto: time is out of range")
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _moment(data: memoryview, budget: Budget) -> tuple[datetime, int] | None:
    """UTC to the second, and the nanoseconds; None: not set. No bytes are Go's zero time, not 1970."""
    found = _numbers(data, budget, "Timestamp", _TIMESTAMP)
    seconds, nanos = found.get(1, 0), found.get(2, 0)
    if not data or (seconds == ZERO_TIME and not nanos):
        return None
    try:
        return datetime(1970, 1, 1) + timedelta(seconds=seconds), nanos  # noqa: DTZ001  all of it is UTC
    except OverflowError:
        refuse("proto: time is out of range")


_INT_OR_STRING = {1: ("Type", "int64"), 2: ("IntVal", "int32"), 3: ("StrVal", "string")}


def _int_or_string(data: memoryview, budget: Budget) -> int | str:
    found = _numbers(data, budget, "IntOrString", _INT_OR_STRING)
    kind: int = found.get(1, 0)
    if kind not in (0, 1):
        refuse("impossible IntOrString.Type")
    value: int | str = found.get(3, "") if kind else found.get(2, 0)
    return value


def _quantity(data: memoryview, budget: Budget) -> str:
    found: str = _numbers(data, budget, "Quantity", {1: ("String", "string")}).get(1) or "0"
    return found


def _extra_value(data: memoryview, budget: Budget) -> list[str]:
    return [
        text(expect(value, wire, BYTES, "Items"))
        for number, wire, value in fields("ExtraValue", data, budget)
        if number == 1
    ]


def _raw_json(data: memoryview, budget: Budget) -> Any:
    """JSON within protobuf. Its nesting has the bound of JSON bodies."""
    raw = b""
    for number, wire, value in fields("RawExtension", data, budget):
        if number == 1:
            raw = bytes(expect(value, wire, BYTES, "Raw"))
    try:
        return strictjson.decode(raw).value if raw else None
    except (strictjson.JSONError, strictjson.NumberRangeError) as error:
        refuse(str(error))


SPECIAL: Final[Mapping[str, Callable[[memoryview, Budget], Any]]] = {
    "Time": _time,
    "MicroTime": _micro_time,
    "IntOrString": _int_or_string,
    "Quantity": _quantity,
    "ExtraValue": _extra_value,
    "FieldsV1": _raw_json,
    "RawExtension": _raw_json,
    "JSON": _raw_json,
}
"""Messages that JSON shows as another type, with a function that reads each."""
