"""The values in protobuf messages that are no messages in JSON: scalars, times, quantities and the like.

Responsible for: how each is read and what JSON shows of it, and how it is written. Must not know tables of messages.
Source: ``apimachinery/pkg/apis/meta/v1`` Time and MicroTime, ``util/intstr``, ``api/resource``, ``runtime`` RawExtension.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from extapi.api.timestamp import parse_timestamp
from extapi.codec import strictjson
from extapi.codec.surrogates import without_surrogates
from extapi.codec.wireformat import BYTES, VARINT, Budget, expect, fields, refuse, sized, varint

__all__ = ["NUMBERS", "SCALARS", "SCALAR_WRITERS", "SPECIAL", "SPECIAL_WRITERS", "text"]


def text(data: memoryview) -> str:
    """A string; bytes that are no UTF-8 become U+FFFD, each of them, as Go's JSON encoder does."""
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return without_surrogates(str(data, "utf-8", "surrogateescape"))


def _signed(bits: int) -> Callable[[int], int]:
    """Two's complement of the lowest bits."""
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    return lambda value: ((value & mask) ^ half) - half


SCALARS: Final[Mapping[str, tuple[int, Callable[[Any], Any]]]] = {
    "string": (BYTES, text),
    "bytes": (BYTES, lambda data: base64.b64encode(data).decode()),
    "bool": (VARINT, bool),
    "int32": (VARINT, _signed(32)),
    "int64": (VARINT, _signed(64)),
}
"""Wire type and reader of each."""
NUMBERS = frozenset({"bool", "int32", "int64"})


def _numbers(data: memoryview, budget: Budget, kind: str, names: Mapping[int, tuple[str, str]]) -> dict[int, Any]:
    """The scalars of a small message: for each number the Go name and the type."""
    found: dict[int, Any] = {}
    for number, wire, value in fields(kind, data, budget):
        if number in names:
            name, scalar = names[number]
            wanted, read = SCALARS[scalar]
            found[number] = read(expect(value, wire, wanted, name))
    return found


_TIMESTAMP = {1: ("Seconds", "int64"), 2: ("Nanos", "int32")}
_ZERO_TIME = -62135596800
"""Seconds of Go's zero time, the year 1: null in JSON."""


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
    """UTC to the second, and the nanoseconds; None: not set. Empty bytes are the zero time, not 1970."""
    found = _numbers(data, budget, "Timestamp", _TIMESTAMP)
    seconds, nanos = found.get(1, 0), found.get(2, 0)
    if not data or (seconds == _ZERO_TIME and not nanos):
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
    """JSON within protobuf: its nesting is bounded as that of JSON bodies is."""
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
}
"""Messages that are something else in JSON."""


SCALAR_WRITERS: Final[Mapping[str, tuple[int, Callable[[Any], bytes]]]] = {
    "string": (BYTES, str.encode),
    "bytes": (BYTES, base64.b64decode),
    "bool": (VARINT, varint),
    "int32": (VARINT, varint),
    "int64": (VARINT, varint),
}
"""Wire type and writer of each: the content without tag and length."""


def _number(number: int, value: int) -> bytes:
    return varint(number << 3 | VARINT) + varint(value)


def _written_moment(value: str | None, nanos: int) -> bytes:
    """A Timestamp; no time, and Go's zero time, are empty."""
    if not value:
        return b""
    seconds = int((parse_timestamp(value).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001
    if seconds == _ZERO_TIME and not nanos:
        return b""
    return _number(1, seconds) + _number(2, nanos)


def _written_time(value: str | None) -> bytes:
    return _written_moment(value, 0)


def _written_micro_time(value: str | None) -> bytes:
    """To the microsecond, as in JSON."""
    rest = (value or "").partition(".")[2]
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return _written_moment(value, int(digits[:6].ljust(6, "0")) * 1000)


def _written_int_or_string(value: int | str | None) -> bytes:
    if isinstance(value, str):
        return _number(1, 1) + _number(2, 0) + sized(3, value.encode())
    return _number(1, 0) + _number(2, value or 0) + sized(3, b"")


def _written_json(value: Any) -> bytes:
    return b"" if value is None else sized(1, strictjson.encode(value))


SPECIAL_WRITERS: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "Time": _written_time,
    "MicroTime": _written_micro_time,
    "IntOrString": _written_int_or_string,
    "Quantity": lambda value: sized(1, (value or "0").encode()),
    "ExtraValue": lambda value: b"".join(sized(1, item.encode()) for item in value or ()),
    "FieldsV1": _written_json,
    "RawExtension": _written_json,
}
"""The content of each, from what JSON has for it; None: the zero."""
