"""The wire format of protobuf: bytes become numbered fields, and fields bytes.

Responsible for: tags, varints, lengths and groups, and for how much of a body is read. Must not know messages.
Source: the protobuf encoding guide; the words are those of the unmarshallers that gogo/protobuf generates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NoReturn

__all__ = ["BYTES", "MAX_FIELDS", "VARINT", "Budget", "ProtobufError", "expect", "fields", "refuse", "sized", "varint"]

MAX_FIELDS: Final = 100_000
"""Fields read of one body, unknown ones too. Two bytes are a field, and make an object of two hundred."""

VARINT, _FIXED64, BYTES, _GROUP, _END, _FIXED32 = range(6)
"""The wire types."""
_EOF = "unexpected EOF"


class ProtobufError(ValueError):
    """The bytes are no message that can be read here; the words are those of Go's decoder where it would refuse too."""


class Budget:
    """How many fields may still be read of one body."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_FIELDS

    def spend(self) -> None:
        """One more. Raises :class:`ProtobufError`."""
        self.left -= 1
        if self.left < 0:
            refuse(f"proto: more than {MAX_FIELDS} fields")


def fields(kind: str, data: memoryview, budget: Budget) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and value (an int or bytes) of each field in ``data``; groups have no value."""
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
    """The value at ``at``, and where it ends."""
    if wire == VARINT:
        return _varint(data, at)
    if wire == BYTES:
        size, at = _varint(data, at)
        if size >= 2**63:
            refuse("proto: negative length found during unmarshaling")
    elif wire in (_FIXED64, _FIXED32):
        size = 8 if wire == _FIXED64 else 4
    else:
        refuse(f"proto: illegal wireType {wire}")
    if at + size > len(data):
        refuse(_EOF)
    return data[at : at + size], at + size


def _group(data: memoryview, at: int, budget: Budget) -> int:
    """Where the group ends that began just before ``at``; groups in it are counted, not followed."""
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
    """The 64-bit number at ``at``, and where it ends."""
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
    """The value, if its wire type is the wanted one. ``name``: the Go name of the field."""
    if wire != wanted:
        refuse(f"proto: wrong wireType = {wire} for field {name}")
    return value


def refuse(why: str) -> NoReturn:
    """Raises :class:`ProtobufError`."""
    raise ProtobufError(why)


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
