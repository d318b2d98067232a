"""Values as bytes of protobuf messages: scalars, times, quantities and the like, and the fields that hold them.

Responsible for: writing each type, and the tags and lengths of the wire format. Must not know tables of messages. Reading is
in :mod:`extapi.controlplane.builtin`.
Source: the protobuf encoding guide; ``apimachinery/pkg/apis/meta/v1`` Time and MicroTime, ``util/intstr``,
``api/resource``, ``runtime`` RawExtension.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from extapi.api.timestamp import parse_timestamp
from extapi.codec import strictjson

__all__ = ["BYTES", "FIXED64", "NUMBERS", "SCALAR_WRITERS", "SPECIAL_WRITERS", "VARINT", "ZERO_TIME", "sized", "varint"]

VARINT, FIXED64, BYTES = 0, 1, 2
"""The wire types of whole numbers, of other numbers, and of values with a length."""
ZERO_TIME = -62135596800
"""Seconds of Go's zero time, the year 1: null in JSON."""


def varint(value: int) -> bytes:
    """A number of at most 64 bits; a negative one in two's complement."""
    if 0 <= value < 0x80:
        return _SMALL[value]
    value &= 0xFFFFFFFFFFFFFFFF
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


_SMALL = [bytes([value]) for value in range(0x80)]


def sized(number: int, content: bytes) -> bytes:
    """A field with a length before its content: a string, bytes or a message."""
    return varint(number << 3 | BYTES) + varint(len(content)) + content


NUMBERS = frozenset({"bool", "double", "int32", "int64"})


SCALAR_WRITERS: Final[Mapping[str, tuple[int, Callable[[Any], bytes]]]] = {
    "string": (BYTES, str.encode),
    "bytes": (BYTES, base64.b64decode),
    "bool": (VARINT, varint),
    "int32": (VARINT, varint),
    "int64": (VARINT, varint),
    "double": (FIXED64, lambda value: struct.pack("<d", value)),
}
"""The wire type of each, and a function that writes the content without tag and length."""


def _number(number: int, value: int) -> bytes:
    return varint(number << 3 | VARINT) + varint(value)


def _written_moment(value: str | None, nanos: int) -> bytes:
    """A Timestamp. No time is empty, and so is Go's zero time."""
    if not value:
        return b""
    seconds = int((parse_timestamp(value).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001
    if seconds == ZERO_TIME and not nanos:
        return b""
    return _number(1, seconds) + _number(2, nanos)


def _written_time(value: str | None) -> bytes:
    return _written_moment(value, 0)


def _written_micro_time(value: str | None) -> bytes:
    """A MicroTime, to the microsecond as in JSON."""
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
    "JSON": _written_json,
}
"""A function for each that writes the content of a value in JSON; None is the zero."""
