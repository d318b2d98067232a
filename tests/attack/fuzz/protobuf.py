"""A Status in protobuf, read by the numbers of its fields in ``apimachinery/pkg/{runtime,apis/meta/v1}/generated.proto``.

Asks nothing of our own code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAGIC = b"k8s\0"
"""What each object in protobuf begins with: the rest is a ``runtime.Unknown``."""


def status_of(body: bytes) -> dict[str, Any]:
    """The members of a Status that has no others. Raises ValueError for what is no object in protobuf."""
    if not body.startswith(MAGIC):
        raise ValueError("an object in protobuf begins with k8s and a zero")
    unknown = dict(_fields(body.removeprefix(MAGIC)))
    kind, status = dict(_fields(unknown.get(1, b""))), dict(_fields(unknown.get(2, b"")))
    return {
        "apiVersion": _text(kind.get(1, b"")),
        "kind": _text(kind.get(2, b"")),
        "status": _text(status.get(2, b"")),
        "message": _text(status.get(3, b"")),
        "reason": _text(status.get(4, b"")),
        "code": status.get(6, 0),
    }


def _text(value: Any) -> str:
    return bytes(value).decode()


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values: bytes, or a whole number. These messages have nothing else."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value, at = _varint(data, at)
        if key & 7 == 2:
            if at + value > len(data):
                raise ValueError("a field goes on after the end")
            yield key >> 3, data[at : at + value]
            at += value
        elif key & 7 == 0:
            yield key >> 3, value
        else:
            raise ValueError(f"a field of wire type {key & 7}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where the next byte is."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise ValueError("a number goes on after the end")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
