"""Reads the wire format of protobuf: bytes become numbered fields.

Responsible for: tags, varints, lengths and groups, and the bound on fields. Must not know messages. Writing is in
:mod:`extapi.codec.protobuftypes`. Source: the protobuf encoding guide; the texts are those of gogo/protobuf's generated
unmarshallers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NoReturn

from extapi.codec.protobuftypes import BYTES, FIXED64, VARINT

__all__ = ["MAX_FIELDS", "Budget", "ProtobufError", "expect", "fields", "refuse"]

MAX_FIELDS: Final = 100_000
"""The bound on fields of one body, unknown ones included: a field of two bytes becomes an object of two hundred."""

_GROUP, _END, _FIXED32 = 3, 4, 5
"""Wire types that no known field has."""
_EOF = "unexpected EOF"


class ProtobufError(ValueError):
    """The bytes are no message, or exceed a bound; the text is that of Go's decoder where that refuses too."""


class Budget:
    """The number of fields that may still be read of one body."""

    __slots__ = ("_most", "left")

    def __init__(self, most: int = MAX_FIELDS) -> None:
        self._most = self.left = most

    def spend(self) -> None:
        """Count one field.

        Raises:
            ProtobufError: There are too many.
        """
        self.left -= 1
        if self.left < 0:
            refuse(f"proto: more than {self._most} fields")


def fields(kind: str, data: memoryview, budget: Budget) -> Iterator[tuple[int, int, Any]]:
    """The number, wire type and value (an int or bytes) of each field in ``data``; a group has no value."""
    at, end = 0, len(data)
    while at < end:
        budget.spend()
        tag, at = _varint(data, at)
        number, wire = (tag >> 3) & 0xFFFFFFFF, tag & 7
        if wire == _END:
            refuse(f"proto: {kind}: wiretype end group for non-group")
        if not 0 < number < 2**31:
            signed = number if number < 2**31 else number - 2**32
            refuse(f"proto: {kind}: illegal tag {signed} (wire type {tag})")
        if wire == _GROUP:
            at = _group(data, at, budget)
            yield number, wire, None
            continue
        value, at = _read(data, at, wire)
        yield number, wire, value


def _read(data: memoryview, at: int, wire: int) -> tuple[Any, int]:
    """The value at ``at``, and its end."""
    if wire == VARINT:
        return _varint(data, at)
    if wire == BYTES:
        size, at = _varint(data, at)
        if size >= 2**63:
            refuse("proto: negative length found during unmarshaling")
    elif wire in (FIXED64, _FIXED32):
        size = 8 if wire == FIXED64 else 4
    else:
        refuse(f"proto: illegal wireType {wire}")
    if at + size > len(data):
        refuse(_EOF)
    return data[at : at + size], at + size


def _group(data: memoryview, at: int, budget: Budget) -> int:
    """The end of the group that began just before ``at``. Inner groups are counted, without recursion."""
    depth = 1
    while depth:
        budget.spend()
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == _GROUP:
            depth += 1
        elif wire == _END:
            depth -= 1
        else:
            _, at = _read(data, at, wire)
    return at


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """The 64-bit number at ``at``, and its end."""
    value = shift = 0
    while True:
        if shift >= 64:
            refuse("proto: integer overflow")
        if at >= len(data):
            refuse(_EOF)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def expect(value: Any, wire: int, wanted: int, name: str) -> Any:
    """The value, after a check of its wire type; ``name``: of the field in Go.

    Raises:
        ProtobufError: It has another wire type.
    """
    if wire != wanted:
        refuse(f"proto: wrong wireType = {wire} for field {name}")
    return value


def refuse(why: str) -> NoReturn:
    """Refuse the bytes.

    Raises:
        ProtobufError: Always.
    """
    raise ProtobufError(why)
