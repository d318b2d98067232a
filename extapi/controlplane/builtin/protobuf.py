"""Objects in protobuf: the serializer of a table of messages.

Responsible for: reading messages and Kubernetes' envelope into objects as JSON has them, and writing those. Must not know
kinds or HTTP.
Source: the protobuf encoding guide; ``apimachinery/pkg/runtime/serializer/protobuf``; the words of gogo's unmarshallers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from extapi.api.types import Obj
from extapi.codec.protobuftable import Field, Table, read_table
from extapi.codec.protobuftypes import BYTES, NUMBERS
from extapi.codec.protobufunions import UNIONS
from extapi.codec.protobufwriting import list_bytes, message_bytes, wrap
from extapi.controlplane.builtin.protobufvalues import SCALARS, SPECIAL, text
from extapi.controlplane.builtin.wireformat import MAX_FIELDS, Budget, ProtobufError, expect, fields, refuse

__all__ = ["MAX_DEPTH", "Messages", "ProtobufError", "unwrap"]

MAX_DEPTH: Final = 32
"""The bound on levels of nested messages."""
_MAGIC = b"k8s\0"


class Messages:
    """The :class:`extapi.api.behaviour.Serializer` of a table (:func:`extapi.codec.protobuftable.read_table`).

    Args:
        table: The messages.
        depth: The bound on levels of nested messages.
        most: The bound on fields of a body.

    Raises:
        ValueError: The table cannot be read, or names a message that it does not have.
    """

    def __init__(self, table: str, *, depth: int = MAX_DEPTH, most: int = MAX_FIELDS) -> None:
        self._messages: Table = read_table(table)
        self._depth = depth
        self._most = most

    def __contains__(self, kind: object) -> bool:
        """Whether the table has a message of this name that is a whole object."""
        known = self._messages.get(kind, {}) if isinstance(kind, str) else {}
        return any(field.type == "ObjectMeta" for field in known.values())

    def unwrap(self, body: bytes) -> tuple[str, str, bytes]:
        """See :class:`extapi.api.behaviour.Serializer`."""
        return unwrap(body)

    def decode(self, kind: str, raw: bytes) -> Obj:
        """See :class:`extapi.api.behaviour.Serializer`.

        Raises:
            ProtobufError: The message cannot be read, or is not in the table.
        """
        if kind not in self._messages:
            refuse(f"proto: nothing is known of {kind}")
        return _Decoding(self._messages, self._depth, Budget(self._most)).message(kind, memoryview(raw), {}, 0)

    def message(self, kind: str, obj: Mapping[str, Any]) -> bytes:
        """The message ``kind`` of a valid object, without the members that the message does not have.

        The bytes are those of gogo's marshallers, which write fields that are no pointers even if they are zero.
        """
        return message_bytes(self._messages, kind, obj)

    def encode(self, obj: Mapping[str, Any]) -> bytes:
        """See :class:`extapi.api.behaviour.Serializer`."""
        kind: str = obj["kind"]
        return wrap(obj["apiVersion"], kind, self.message(kind, obj))

    def encode_list(self, head: Mapping[str, Any], kind: str, items: Iterable[Mapping[str, Any]]) -> bytes:
        """See :class:`extapi.api.behaviour.Serializer`."""
        return wrap(head["apiVersion"], head["kind"], list_bytes(self._messages, kind, head["metadata"], items))


def unwrap(body: bytes) -> tuple[str, str, bytes]:
    """The apiVersion and kind, each possibly empty, and the message of a body in Kubernetes' envelope.

    Raises:
        ProtobufError: The body is no envelope.
    """
    if not body:
        refuse("empty data")
    if not body.startswith(_MAGIC):
        refuse("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    if len(body) == len(_MAGIC):
        refuse("empty body")
    budget = Budget()
    type_meta = {1: "", 2: ""}
    raw = b""
    for number, wire, value in fields("Unknown", memoryview(body)[len(_MAGIC) :], budget):
        if number == 1:
            for inner, inner_wire, part in fields("TypeMeta", expect(value, wire, BYTES, "TypeMeta"), budget):
                if inner in type_meta:
                    name = "APIVersion" if inner == 1 else "Kind"
                    type_meta[inner] = text(expect(part, inner_wire, BYTES, name))
        elif number == 2:
            raw = bytes(expect(value, wire, BYTES, "Raw"))
    return type_meta[1], type_meta[2], raw


class _Decoding:
    """The reading of one body."""

    def __init__(self, messages: Table, depth: int, budget: Budget) -> None:
        self._messages = messages
        self._depth = depth
        self._budget = budget

    def message(self, kind: str, data: memoryview, into: Obj, depth: int) -> Obj:
        """Read a message into ``into``: messages that are sent twice are merged, of scalars the last one wins."""
        if depth > self._depth:
            refuse(f"proto: messages are nested deeper than {self._depth}")
        known = self._messages[kind]
        for field in known.values():
            if field.always:
                into.setdefault(field.name, SCALARS[field.type][1](0 if field.type in NUMBERS else memoryview(b"")))
        for number, wire, value in fields(kind, data, self._budget):
            found = known.get(number)
            if found is not None:
                self._member(found, wire, value, into, depth + 1)
        return into

    def _member(self, field: Field, wire: int, value: Any, into: Obj, depth: int) -> None:
        if field.cardinality == "map":
            key, item = self._entry(field, expect(value, wire, BYTES, field.go_name), depth)
            into.setdefault(field.name, {})[key] = item
            return
        made = self._value(field, wire, value, into.get(field.name) if field.cardinality == "one" else None, depth)
        if field.cardinality == "list":
            into.setdefault(field.name, []).append(made)
        elif made is None or (not made and not field.keep and field.type in SCALARS):
            into.pop(field.name, None)
        else:
            into[field.name] = made

    def _value(self, field: Field, wire: int, value: Any, old: Any, depth: int) -> Any:
        """One value; None: a zero that JSON does not show."""
        if field.type in SCALARS:
            wanted, read = SCALARS[field.type]
            return read(expect(value, wire, wanted, field.go_name))
        data = expect(value, wire, BYTES, field.go_name)
        if field.type in SPECIAL:
            return SPECIAL[field.type](data, self._budget)
        union = UNIONS.get(field.type)
        if union is not None:
            members = {} if old is None else dict(union.write(old))
            return union.read(self.message(field.type, data, members, depth))
        return self.message(field.type, data, {} if old is None else old, depth)

    def _entry(self, field: Field, data: memoryview, depth: int) -> tuple[str, Any]:
        """The key and value of a map's entry; either may be missing."""
        key, item = "", self._value(field, BYTES, memoryview(b""), None, depth)
        for number, wire, value in fields(field.go_name, data, self._budget):
            if number == 1:
                key = text(expect(value, wire, BYTES, field.go_name))
            elif number == 2:
                item = self._value(field, wire, value, None, depth)
        return key, item
