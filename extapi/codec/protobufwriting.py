"""Objects as protobuf messages, and Kubernetes' envelopes around them.

Responsible for: writing by a table of messages, with the bytes of gogo's marshallers: fields in ascending order, entries of
maps by key, and zeros of all fields that are no pointers. Must not know kinds.
Source: the ``generated.pb.go`` of ``k8s.io/api``; ``apimachinery/pkg/runtime/serializer/protobuf``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from extapi.codec.protobuftable import Field, Table
from extapi.codec.protobuftypes import BYTES, SCALAR_WRITERS, SPECIAL_WRITERS, sized, varint
from extapi.codec.protobufunions import UNIONS

__all__ = ["EVENT_LENGTH", "event_frame", "list_bytes", "message_bytes", "wrap"]

_MAGIC = b"k8s\0"
_NO_ENCODING = sized(3, b"") + sized(4, b"")
"""The content encoding and content type of an envelope, which are empty."""


def message_bytes(table: Table, kind: str, obj: Mapping[str, Any]) -> bytes:
    """The message ``kind`` of an object. A member that is None counts as missing."""
    parts: list[bytes] = []
    for number, field in table[kind].items():
        value = obj.get(field.name)
        if field.cardinality == "one":
            if value is not None or not field.pointer:
                _one(table, number, field.type, value, parts)
        elif value:
            _many(table, number, field, value, parts)
    return b"".join(parts)


def list_bytes(table: Table, kind: str, metadata: Mapping[str, Any], items: Iterable[Mapping[str, Any]]) -> bytes:
    """The message of a list. In all lists, metadata is the first field and the items are the second."""
    parts = [sized(1, message_bytes(table, "ListMeta", metadata))]
    parts += [sized(2, message_bytes(table, kind, item)) for item in items]
    return b"".join(parts)


def wrap(api_version: str, kind: str, raw: bytes) -> bytes:
    """A message in Kubernetes' envelope (``runtime.Unknown``)."""
    about = sized(1, api_version.encode()) + sized(2, kind.encode())
    return b"".join((_MAGIC, sized(1, about), sized(2, raw), _NO_ENCODING))


EVENT_LENGTH = 4
"""Bytes of the length before an event."""


def event_frame(kind: str, enveloped: bytes) -> bytes:
    """A watch event with an object in its envelope, after its length (``meta/v1`` WatchEvent)."""
    event = sized(1, kind.encode()) + sized(2, sized(1, enveloped))
    return len(event).to_bytes(EVENT_LENGTH, "big") + event


def _one(table: Table, number: int, kind: str, value: Any, parts: list[bytes]) -> None:
    """A field with one value; None is written as zero."""
    scalar = SCALAR_WRITERS.get(kind)
    if scalar is None:
        parts.append(sized(number, _message(table, kind, value)))
        return
    wire, write = scalar
    if wire != BYTES:
        parts.append(varint(number << 3 | wire) + write(value or 0))
    elif value is not None or kind != "bytes":
        parts.append(sized(number, write(value or "")))


def _many(table: Table, number: int, field: Field, value: Any, parts: list[bytes]) -> None:
    if field.cardinality == "list":
        parts += [sized(number, _content(table, field.type, item)) for item in value]
    else:
        for key in sorted(value):
            entry = sized(1, key.encode()) + sized(2, _content(table, field.type, value[key]))
            parts.append(sized(number, entry))


def _content(table: Table, kind: str, value: Any) -> bytes:
    """An item of a list or a map, which is never a number."""
    scalar = SCALAR_WRITERS.get(kind)
    if scalar is not None and scalar[0] == BYTES:
        return scalar[1](value or "")
    return _message(table, kind, value)


def _message(table: Table, kind: str, value: Any) -> bytes:
    special = SPECIAL_WRITERS.get(kind)
    if special is not None:
        return special(value)
    union = UNIONS.get(kind)
    return message_bytes(table, kind, (value or {}) if union is None else union.write(value))
