"""OpenAPI 2.0 in protobuf, which is what kubectl asks for: encodes a document.

Field numbers are those of ``openapi.v2`` in ``google/gnostic-models`` (``OpenAPIv2.proto``). Only what documents of API
servers hold is written: paths, operations, parameters, schemas, extensions. The rest of OpenAPI (security, tags,
example responses) is left out. Must not know who asks.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from extapi.schema.openapi.blockyaml import block_yaml

Table = Mapping[str, tuple[int, Callable[[Any], bytes]]]

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def encode_v2(text: bytes) -> bytes:
    """A document in JSON, encoded.

    Paths and definitions are decoded one at a time: the tree of a document of hundreds of kinds takes ten times its text.

    Raises:
        ValueError: It is not JSON, or a part of it has another type than OpenAPI says.
    """
    members: dict[str, list[bytes]] = {}
    for name, piece in pieces_v2(text):
        members.setdefault(name, []).append(piece)
    return b"".join(
        _part(_DOCUMENT[name][0], b"".join(pieces)) if name in _ENTRIES else b"".join(pieces)
        for name, pieces in members.items()
    )


def pieces_v2(text: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of a document in JSON, encoded, by name; paths, definitions and parameters one at a time.

    Raises:
        ValueError: It is not JSON, or a part of it has another type than OpenAPI says.
    """
    try:
        for name, content in msgspec.json.decode(text, type=dict[str, msgspec.Raw]).items():
            if name not in _ENTRIES:
                yield name, _message(_DOCUMENT, {name: msgspec.json.decode(content)}, extensions=16)
                continue
            yield name, b""
            number, write = _ENTRIES[name], _DOCUMENT[name][1]
            for key, value in msgspec.json.decode(content, type=dict[str, msgspec.Raw]).items():
                yield name, _part(number, _named(key, write(msgspec.json.decode(value))))
    except (AttributeError, TypeError, OverflowError, RecursionError, struct.error) as error:
        raise ValueError(f"no OpenAPI document: {error}") from error


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _tagged(number: int, wire: int, content: bytes) -> bytes:
    return _varint(number << 3 | wire) + content


def _part(number: int, content: bytes) -> bytes:
    """A length-delimited field: text, bytes or a message."""
    return _tagged(number, _BYTES, _varint(len(content)) + content)


def _text(value: Any) -> bytes:
    return str(value).encode()


def _bool(value: Any) -> bytes:
    return b"\x01" if value else b"\x00"


def _int(value: Any) -> bytes:
    return _varint(int(value) & (1 << 64) - 1)


def _double(value: Any) -> bytes:
    return struct.pack("<d", value)


_UNSIZED: Final[Mapping[Any, int]] = {_bool: _VARINT, _int: _VARINT, _double: _FIXED64}
"""Scalars that are written without a length, and their wire types."""


def _any(value: Any) -> bytes:
    """``Any``: it holds YAML."""
    return _part(2, block_yaml(value).encode())


def _fields(table: Table, value: Mapping[str, Any], extensions: int) -> Iterator[bytes]:
    for name, content in value.items():
        if name.startswith("x-"):
            yield _part(extensions, _named(name, _any(content)))
            continue
        number, write = table.get(name, (0, _text))
        if not number:
            continue
        # A list in the document is a repeated field, except where one message holds the whole list.
        for one in content if isinstance(content, list) and name not in _WHOLE else [content]:
            wire = _UNSIZED.get(write)
            yield _part(number, write(one)) if wire is None else _tagged(number, wire, write(one))


_WHOLE: Final = frozenset({"type", "items", "default", "example"})


def _message(table: Table, value: Mapping[str, Any], *, extensions: int) -> bytes:
    return b"".join(_fields(table, value, extensions))


def _named(name: str, content: bytes) -> bytes:
    """An entry of a map: ``NamedAny``, ``NamedSchema`` and the like."""
    return _part(1, name.encode()) + _part(2, content)


def _map(number: int, write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """A message whose field ``number`` is a map."""
    return lambda value: b"".join(_part(number, _named(name, write(one))) for name, one in value.items())


def _schema(value: Any) -> bytes:
    return _message(_SCHEMA, value, extensions=31)


def _types(value: Any) -> bytes:
    return b"".join(_part(1, _text(one)) for one in (value if isinstance(value, list) else [value]))


def _items(value: Any) -> bytes:
    return b"".join(_part(1, _schema(one)) for one in (value if isinstance(value, list) else [value]))


def _additional(value: Any) -> bytes:
    if isinstance(value, bool):
        return _tagged(2, _VARINT, b"\x01" if value else b"\x00")
    return _part(1, _schema(value))


def _parameter(value: Any) -> bytes:
    """``ParametersItem``."""
    return _part(2, _part(1, _text(value["$ref"]))) if "$ref" in value else _part(1, _whole_parameter(value))


def _whole_parameter(value: Any) -> bytes:
    """``Parameter``: its location decides which message it holds."""
    if value.get("in") == "body":
        return _part(1, _message(_BODY, value, extensions=6))
    location = value.get("in")
    number, table, extensions = (4, _PATH, 22) if location == "path" else (3, _QUERY, 23)
    if location == "header":
        number, table, extensions = 1, _PATH, 22
    return _part(2, _part(number, _message(table, value, extensions=extensions)))


def _responses(value: Any) -> bytes:
    codes = {code: one for code, one in value.items() if not code.startswith("x-")}
    return _map(1, lambda one: _part(1, _message(_RESPONSE, one, extensions=5)))(codes)


def _path_item(value: Any) -> bytes:
    return _message(_PATH_ITEM, value, extensions=10)


def _operation(value: Any) -> bytes:
    return _message(_OPERATION, value, extensions=13)


_INFO: Table = {"title": (1, _text), "version": (2, _text), "description": (3, _text)}
_DOCUMENT: Table = {
    "swagger": (1, _text),
    "info": (2, lambda value: _message(_INFO, value, extensions=7)),
    "host": (3, _text),
    "basePath": (4, _text),
    "schemes": (5, _text),
    "consumes": (6, _text),
    "produces": (7, _text),
    "paths": (8, _path_item),
    "definitions": (9, _schema),
    "parameters": (10, _whole_parameter),
}
_ENTRIES: Final = {"paths": 2, "definitions": 1, "parameters": 1}
"""The members that are messages with a map, and the numbers of these; they are written by entry."""
_PATH_ITEM: Table = {
    "$ref": (1, _text),
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "options": (6, _operation),
    "head": (7, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameter),
}
_OPERATION: Table = {
    "tags": (1, _text),
    "summary": (2, _text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _text),
    "consumes": (7, _text),
    "parameters": (8, _parameter),
    "responses": (9, _responses),
    "schemes": (10, _text),
    "deprecated": (11, _bool),
}
_BODY: Table = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _bool),
    "schema": (5, _schema),
}
_PATH: Table = {
    "required": (1, _bool),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "format": (6, _text),
    "uniqueItems": (19, _bool),
}
"""Of path parameters; header parameters have the same numbers."""
_QUERY: Table = {
    "required": (1, _bool),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "format": (7, _text),
    "uniqueItems": (20, _bool),
}
_RESPONSE: Table = {"description": (1, _text), "schema": (2, lambda value: _part(1, _schema(value)))}
_SCHEMA: Table = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _bool),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _bool),
    "maxLength": (11, _int),
    "minLength": (12, _int),
    "pattern": (13, _text),
    "maxItems": (14, _int),
    "minItems": (15, _int),
    "uniqueItems": (16, _bool),
    "maxProperties": (17, _int),
    "minProperties": (18, _int),
    "required": (19, _text),
    "enum": (20, _any),
    "additionalProperties": (21, _additional),
    "type": (22, _types),
    "items": (23, _items),
    "allOf": (24, _schema),
    "properties": (25, _map(1, _schema)),
    "readOnly": (27, _bool),
    "example": (30, _any),
}
