"""Bodies in protobuf as objects.

Responsible for: reading the wire format by a table of messages into what JSON of the same object would be, and the
envelope that Kubernetes puts around it. Must not know which kinds there are, nor HTTP. Nothing is ever written.
Source: the protobuf encoding guide; ``apimachinery/pkg/runtime/serializer/protobuf``; the words of gogo's unmarshallers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from extapi.api.types import Obj
from extapi.codec.protobuftypes import NUMBERS, SCALARS, SPECIAL, text
from extapi.codec.wireformat import BYTES, Budget, ProtobufError, expect, fields, refuse

__all__ = ["MAX_DEPTH", "Messages", "ProtobufError", "unwrap"]

MAX_DEPTH: Final = 32
"""Messages nested deeper are refused."""
_MAGIC = b"k8s\0"


class Messages:
    """What messages look like: one line each, such as ``Port: 1 name; 3 port! int32; 4 targetPort IntOrString``.

    A field is its number, its name in JSON and its type, a string where none is given: ``bool``, ``int32``, ``int64``,
    ``bytes`` (base64 in JSON), ``Time``, ``MicroTime``, ``IntOrString``, ``Quantity``, ``ExtraValue``, ``FieldsV1``,
    ``RawExtension``, another message; ``[]T`` and ``map<string,T>`` of these. Zeros are left out as by Go's ``omitempty``,
    unless a ``?`` (a pointer: kept if sent) or a ``!`` (no ``omitempty``: always there) follows the name. Lines that
    begin with a space go on with the message before; ``#`` begins a comment.
    """

    def __init__(self, table: str) -> None:
        """Raises ``ValueError`` for a table that cannot be read, or names a message that is not in it."""
        self._messages: dict[str, dict[int, _Field]] = {}
        for line in re.sub(r"\n[ \t]+", " ", re.sub(r"#.*", "", table)).splitlines():
            if line.strip():
                name, _, listed = line.partition(":")
                self._messages[name.strip()] = dict(map(_field, filter(str.strip, listed.split(";"))))
        used = {field.type for message in self._messages.values() for field in message.values()}
        unknown = used - self._messages.keys() - SCALARS.keys() - SPECIAL.keys()
        if unknown:
            raise ValueError(f"messages that are not in the table: {', '.join(sorted(unknown))}")

    def __contains__(self, kind: str) -> bool:
        """Whether there is a message of that name that is a whole object."""
        return any(field.type == "ObjectMeta" for field in self._messages.get(kind, {}).values())

    def decode(self, kind: str, raw: bytes) -> Obj:
        """The message ``kind`` in ``raw``, without apiVersion and kind. Raises :class:`ProtobufError`."""
        if kind not in self._messages:
            refuse(f"proto: nothing is known of {kind}")
        return _Decoding(self._messages).message(kind, memoryview(raw), {}, 0)


def unwrap(body: bytes) -> tuple[str, str, bytes]:
    """apiVersion, kind (both may be empty) and message of a body in Kubernetes' envelope. Raises :class:`ProtobufError`."""
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


@dataclass(frozen=True, slots=True)
class _Field:
    """One field. ``name``: in JSON; ``go_name``: for texts; ``shape``: one, list or map.

    ``keep``: a zero that was sent is kept; ``always``: it is there even if not sent.
    """

    name: str
    go_name: str
    type: str
    shape: str
    keep: bool
    always: bool


_FIELD = re.compile(r"\s*([1-9][0-9]*) (\w+)([?!]?)(?: (\[\]|map<string,)?(\w*)>?)?\s*")
_SHAPES = {"": "one", "[]": "list", "map<string,": "map"}


def _field(written: str) -> tuple[int, _Field]:
    match = _FIELD.fullmatch(written)
    if match is None:
        raise ValueError(f"no field of a message: {written.strip()}")
    number, name, mark, shape, kind = match.groups(default="")
    field = _Field(name, _go_name(name, kind), kind or "string", _SHAPES[shape], bool(mark), mark == "!")
    if field.shape != "one" and field.type in NUMBERS:
        raise ValueError(f"lists and maps of numbers are not read: {written.strip()}")
    return int(number), field


def _go_name(name: str, kind: str) -> str:
    """What a field is called in Go: abbreviations are in capitals, and metadata has the name of its type."""
    if kind == "ObjectMeta":
        return kind
    for short in ("api", "uid", "ip", "ca"):
        rest = name.removeprefix(short)
        if rest != name and not rest[:1].islower():
            return short.upper() + rest
    return name[:1].upper() + name[1:]


class _Decoding:
    """One body being read."""

    def __init__(self, messages: Mapping[str, Mapping[int, _Field]]) -> None:
        self._messages = messages
        self._budget = Budget()

    def message(self, kind: str, data: memoryview, into: Obj, depth: int) -> Obj:
        """Read a message over ``into``: what is sent twice is merged, and of scalars the last one wins."""
        if depth > MAX_DEPTH:
            refuse(f"proto: messages are nested deeper than {MAX_DEPTH}")
        known = self._messages[kind]
        for field in known.values():
            if field.always:
                into.setdefault(field.name, SCALARS[field.type][1](0 if field.type in NUMBERS else memoryview(b"")))
        for number, wire, value in fields(kind, data, self._budget):
            found = known.get(number)
            if found is not None:
                self._member(found, wire, value, into, depth + 1)
        return into

    def _member(self, field: _Field, wire: int, value: Any, into: Obj, depth: int) -> None:
        if field.shape == "map":
            key, item = self._entry(field, expect(value, wire, BYTES, field.go_name), depth)
            into.setdefault(field.name, {})[key] = item
            return
        made = self._value(field, wire, value, into.get(field.name) if field.shape == "one" else None, depth)
        if field.shape == "list":
            into.setdefault(field.name, []).append(made)
        elif made is None or (not made and not field.keep and field.type in SCALARS):
            into.pop(field.name, None)
        else:
            into[field.name] = made

    def _value(self, field: _Field, wire: int, value: Any, old: Any, depth: int) -> Any:
        """One value; None: it is a zero that JSON does not show."""
        if field.type in SCALARS:
            wanted, read = SCALARS[field.type]
            return read(expect(value, wire, wanted, field.go_name))
        data = expect(value, wire, BYTES, field.go_name)
        if field.type in SPECIAL:
            return SPECIAL[field.type](data, self._budget)
        return self.message(field.type, data, {} if old is None else old, depth)

    def _entry(self, field: _Field, data: memoryview, depth: int) -> tuple[str, Any]:
        """Key and value of a map's entry; either may be missing."""
        key, item = "", self._value(field, BYTES, memoryview(b""), None, depth)
        for number, wire, value in fields(field.go_name, data, self._budget):
            if number == 1:
                key = text(expect(value, wire, BYTES, field.go_name))
            elif number == 2:
                item = self._value(field, wire, value, None, depth)
        return key, item
