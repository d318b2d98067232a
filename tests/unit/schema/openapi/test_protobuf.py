"""OpenAPI v2 in protobuf; numbers are those of ``OpenAPIv2.proto`` in google/gnostic-models."""

from __future__ import annotations

import json
import struct
from typing import Any

from extapi.controlplane.builtin.wireformat import Budget, fields
from extapi.schema.openapi.protobuf import encode_v2

X = "x-kubernetes-group-version-kind"


def read(data: Any, *numbers: int) -> list[Any]:
    """All values at a path of field numbers."""
    found = [data]
    for number in numbers:
        found = [
            value
            for each in found
            for at, _, value in fields("message", memoryview(bytes(each)), Budget())
            if at == number
        ]
    return [value if isinstance(value, int) else bytes(value) for value in found]


def encoded(document: Any) -> bytes:
    return encode_v2(json.dumps(document).encode())


def test_paths_and_operations() -> None:
    operation = {
        "operationId": "list",
        "tags": ["a", "b"],
        "deprecated": True,
        "parameters": [
            {"name": "limit", "in": "query", "type": "integer", "uniqueItems": True},
            {"name": "body", "in": "body", "required": True, "schema": {"$ref": "#/definitions/T"}},
        ],
        "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/T"}}},
        X: {"group": "", "kind": "T", "version": "v1"},
    }
    named = {"name": "name", "in": "path", "type": "string", "required": True}
    shared = {"$ref": "#/parameters/pretty-x"}
    data = encoded(
        {
            "swagger": "2.0",
            "info": {"title": "t"},
            "paths": {"/p": {"patch": operation, "parameters": [named, shared]}},
            "parameters": {"pretty-x": {"name": "pretty", "in": "query", "type": "string"}},
        }
    )
    assert (read(data, 1), read(data, 2, 1)) == ([b"2.0"], [b"t"])
    path = (8, 2)  # Paths, NamedPathItem
    assert read(data, *path, 1) == [b"/p"]
    patch = (*path, 2, 8)
    assert read(data, *patch, 5) == [b"list"]
    assert read(data, *patch, 1) == [b"a", b"b"]
    assert read(data, *patch, 11) == [1]
    query, body = (*patch, 8, 1, 2, 3), (*patch, 8, 1, 1)
    assert (read(data, *query, 4), read(data, *query, 6), read(data, *query, 20)) == ([b"limit"], [b"integer"], [1])
    assert (read(data, *body, 2), read(data, *body, 4)) == ([b"body"], [1])
    assert read(data, *body, 5, 1) == [b"#/definitions/T"]
    assert read(data, *path, 2, 9, 1, 2, 4, 4) == [b"name"]
    assert read(data, *path, 2, 9, 2, 1) == [b"#/parameters/pretty-x"]
    # ParameterDefinitions, NamedParameter, Parameter, NonBodyParameter, QueryParameterSubSchema
    assert (read(data, 10, 1, 1), read(data, 10, 1, 2, 2, 3, 4)) == ([b"pretty-x"], [b"pretty"])
    answer = (*patch, 9, 1)
    assert (read(data, *answer, 1), read(data, *answer, 2, 1, 1)) == ([b"200"], [b"OK"])
    assert read(data, *answer, 2, 1, 2, 1, 1) == [b"#/definitions/T"]
    assert (read(data, *patch, 13, 1), read(data, *patch, 13, 2, 2)) == (
        [X.encode()],
        [b'group: ""\nkind: T\nversion: v1\n'],
    )


def test_schemas() -> None:
    schema = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {
            "a": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "default": ["x"]},
            "b": {"type": "integer", "minimum": 1.5, "maxLength": 300},
            "c": {"type": "object", "additionalProperties": {"type": "string"}},
            "d": {"additionalProperties": False},
        },
        "unknownToTheFormat": 1,
        X: [{"kind": "T"}],
    }
    data = encoded({"definitions": {"T": schema}})
    assert read(data, 9, 1, 1) == [b"T"]
    of = (9, 1, 2)
    assert (read(data, *of, 22, 1), read(data, *of, 19)) == ([b"object"], [b"a", b"b"])
    member = (*of, 25, 1)
    assert read(data, *member, 1) == [b"a", b"b", b"c", b"d"]
    assert read(data, *member, 2, 22, 1) == [b"array", b"integer", b"object"]
    assert read(data, *member, 2, 23, 1, 22, 1) == [b"string"]
    assert read(data, *member, 2, 23, 1, 20, 2) == [b"x\n", b'"y"\n']
    assert read(data, *member, 2, 5, 2) == [b"- x\n"]
    assert read(data, *member, 2, 9) == [struct.pack("<d", 1.5)]
    assert read(data, *member, 2, 11) == [300]
    assert read(data, *member, 2, 21, 1, 22, 1) == [b"string"]
    assert read(data, *member, 2, 21, 2) == [0]
    assert read(data, *of, 31, 2, 2) == [b"- kind: T\n"]


def test_what_a_foreign_document_may_hold() -> None:
    """Of another server: references to parameters, headers, lists of types."""
    parameters = [{"$ref": "#/parameters/p"}, {"name": "h", "in": "header", "type": "string"}]
    data = encoded({"paths": {"/p": {"get": {"parameters": parameters, "responses": {"x-a": 1}}}}})
    assert read(data, 8, 2, 2, 2, 8, 2, 1) == [b"#/parameters/p"]
    assert read(data, 8, 2, 2, 2, 8, 1, 2, 1, 4) == [b"h"]
    assert read(data, 8, 2, 2, 2, 9, 1) == []
