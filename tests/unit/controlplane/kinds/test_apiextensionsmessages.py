"""Definitions in protobuf. ``definition.json`` has one that says everything, and what Go's ``Marshal`` makes of it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from extapi.controlplane.builtin.protobuf import ProtobufError
from extapi.controlplane.kinds.apiextensionsmessages import DEFINITIONS

KIND = "CustomResourceDefinition"
RECORDED = json.loads((Path(__file__).parent / "definition.json").read_text())


def with_zeros(obj: dict[str, Any]) -> dict[str, Any]:
    """The recorded object as Go writes it: a null that says nothing is left out."""
    made: dict[str, Any] = json.loads(json.dumps(obj))
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["d"]["default"]
    return made


def test_a_definition_that_says_everything_is_read() -> None:
    read = DEFINITIONS.decode(KIND, base64.b64decode(RECORDED["message"]))
    assert {"apiVersion": "apiextensions.k8s.io/v1", "kind": KIND, **read} == with_zeros(RECORDED["object"])


def test_a_definition_is_written_with_the_bytes_of_go() -> None:
    assert DEFINITIONS.message(KIND, RECORDED["object"]) == base64.b64decode(RECORDED["message"])


def test_numbers_that_json_does_not_have_are_refused() -> None:
    for eight, name in ((b"\0\0\0\0\0\0\xf8\x7f", "NaN"), (b"\0\0\0\0\0\0\xf0\xff", "-Inf")):
        with pytest.raises(ProtobufError, match=f"json: unsupported value: {name}"):
            DEFINITIONS.decode("JSONSchemaProps", b"\x49" + eight)


def test_a_schema_sent_in_two_parts_is_one() -> None:
    """Protobuf merges messages that are sent twice."""
    first = DEFINITIONS.message("JSONSchemaProps", {"items": {"type": "string"}})
    second = b"\xc2\x01\x05\x0a\x03\x7a\x01a"  # items, its schema, its pattern
    assert DEFINITIONS.decode("JSONSchemaProps", first + second) == {"items": {"type": "string", "pattern": "a"}}


def test_schemas_may_nest_as_deep_as_they_may_in_json() -> None:
    def nested(depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for _ in range(depth):
            schema = {"items": schema}
        return schema

    deep = nested(100)
    assert DEFINITIONS.decode("JSONSchemaProps", DEFINITIONS.message("JSONSchemaProps", deep)) == deep
    with pytest.raises(ProtobufError, match="nested deeper"):
        DEFINITIONS.decode("JSONSchemaProps", DEFINITIONS.message("JSONSchemaProps", nested(115)))
