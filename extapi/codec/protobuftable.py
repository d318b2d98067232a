"""What messages look like: a table in text, read once.

Responsible for: the notation. Must not know the wire format, nor which kinds there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from extapi.codec.protobuftypes import NUMBERS, SCALAR_WRITERS, SPECIAL_WRITERS

__all__ = ["Field", "Table", "read_table"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field. ``name``: in JSON; ``go_name``: for texts; ``cardinality``: one, list or map.

    ``keep``: a zero that was sent is kept; ``always``: it is there even if not sent; ``pointer``: it may be missing.
    """

    name: str
    go_name: str
    type: str
    cardinality: str
    keep: bool
    always: bool
    pointer: bool


Table = Mapping[str, Mapping[int, Field]]
"""By the names of messages their fields by number, in ascending order."""


def read_table(table: str) -> Table:
    """The messages of a table: one line each, such as ``Port: 1 name; 3 port! int32; 4 targetPort IntOrString``.

    A field has its number, its name in JSON and its type, which is a string if none is given: ``bool``, ``int32``,
    ``int64``, ``double``, ``bytes`` (base64 in JSON), ``Time``, ``MicroTime``, ``IntOrString``, ``Quantity``,
    ``ExtraValue``, ``FieldsV1``, ``RawExtension``, ``JSON``, another message; or ``[]T`` or ``map<string,T>`` of these. After the name, ``?`` marks a
    pointer in Go: a zero is read if it was sent, and written only if it is there. Other zeros are always written, but not
    read, as with Go's ``omitempty``; ``!`` marks a field without ``omitempty``. A line that begins with a space continues
    the message before; ``#`` begins a comment.

    Raises:
        ValueError: The table cannot be read, or names a message that it does not have.
    """
    messages: dict[str, dict[int, Field]] = {}
    for line in re.sub(r"\n[ \t]+", " ", re.sub(r"#.*", "", table)).splitlines():
        if line.strip():
            name, _, listed = line.partition(":")
            fields = map(_field, filter(str.strip, listed.split(";")))
            messages[name.strip()] = dict(sorted(fields, key=lambda each: each[0]))
    used = {field.type for message in messages.values() for field in message.values()}
    unknown = used - messages.keys() - SCALAR_WRITERS.keys() - SPECIAL_WRITERS.keys()
    if unknown:
        raise ValueError(f"messages that are not in the table: {', '.join(sorted(unknown))}")
    return messages


_FIELD = re.compile(r"\s*([1-9][0-9]*) ([\w$-]+)([?!]?)(?: (\[\]|map<string,)?(\w*)>?)?\s*")
_CARDINALITIES = {"": "one", "[]": "list", "map<string,": "map"}


def _field(written: str) -> tuple[int, Field]:
    match = _FIELD.fullmatch(written)
    if match is None:
        raise ValueError(f"no field of a message: {written.strip()}")
    number, name, mark, cardinality, kind = match.groups(default="")
    field = Field(
        name,
        _go_name(name, kind),
        kind or "string",
        _CARDINALITIES[cardinality],
        bool(mark),
        mark == "!",
        pointer=mark == "?",
    )
    if field.cardinality != "one" and field.type in NUMBERS:
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
