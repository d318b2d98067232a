"""Schemas as CEL sees them. Types and sizes are those of ``apiextensions-apiserver`` 1.36.3's ``SchemaDeclType``, asked of it."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.declared import Declared, declare
from extapi.schema.cel.types import format_type
from extapi.schema.structural import from_openapi
from tests.unit.schema.cel.compiling import Schema, array, declaration, mapping, of

INTEGER: Schema = {"type": "integer"}
STRING: Schema = {"type": "string"}
UNKNOWN: Schema = {"x-kubernetes-preserve-unknown-fields": True}

SCALARS: list[tuple[Schema, str, int, int]] = [
    (STRING, "string", 3145726, 2),
    ({"type": "string", "maxLength": 10}, "string", 40, 2),
    ({"type": "string", "maxLength": 0}, "string", 0, 2),
    ({"type": "string", "maxLength": -1}, "string", 0, 2),
    ({"type": "string", "enum": ["a", "bcd", "é"]}, "string", 3, 2),
    ({"type": "string", "enum": ["a"], "maxLength": 7}, "string", 28, 2),
    ({"type": "string", "format": "byte"}, "bytes", 3145726, 2),
    ({"type": "string", "format": "byte", "maxLength": 10}, "bytes", 10, 2),
    ({"type": "string", "format": "date", "maxLength": 3}, "timestamp", 12, 12),
    ({"type": "string", "format": "date-time"}, "timestamp", 32, 21),
    ({"type": "string", "format": "duration"}, "duration", 32, 3),
    ({"type": "string", "format": "uuid", "maxLength": 5}, "string", 20, 2),
    ({"type": "boolean"}, "bool", 0, 4),
    ({"type": "number"}, "double", 0, 1),
    (INTEGER, "int", 0, 1),
    ({"x-kubernetes-int-or-string": True}, "dyn", 3145726, 1),
    ({"x-kubernetes-int-or-string": True, "maxLength": 5}, "dyn", 20, 1),
]
CONTAINERS: list[tuple[Schema, str, int, int]] = [
    ({"type": "object", **UNKNOWN}, "selfType1", 0, 2),
    ({"type": "object", "additionalProperties": True}, "selfType1", 0, 2),
    (array(INTEGER), "list(int)", 1572863, 2),
    (array(STRING), "list(string)", 1048575, 2),
    (array(INTEGER, maxItems=10), "list(int)", 10, 2),
    (array(INTEGER, maxItems=0), "list(int)", 0, 2),
    (array({"type": "string", "format": "date-time"}), "list(timestamp)", 142987, 2),
    (array(array(INTEGER)), "list(list(int))", 1048575, 2),
    (array(of({"a": INTEGER}, required=["a"])), "list(selfType1.@idx)", 349525, 2),
    (mapping(INTEGER), "map(string, int)", 449389, 2),
    (mapping(STRING, maxProperties=3), "map(string, string)", 3, 2),
    (mapping(mapping(INTEGER)), "map(string, map(string, int))", 393215, 2),
    (of({"a": INTEGER, "bb": STRING}, required=["a", "bb"]), "selfType1", 0, 16),
    (of({"a": {**INTEGER, "default": 1}, "bb": STRING}, required=["a", "bb"]), "selfType1", 0, 10),
    (of({"é": STRING}, required=["é"]), "selfType1", 0, 10),
    (of({"o": of({"x": INTEGER}, required=["x"])}, required=["o"]), "selfType1", 0, 15),
    (of({"l": array(INTEGER)}, required=["l"]), "selfType1", 0, 9),
    (of({"u": UNKNOWN}, required=["u"]), "selfType1", 0, 2),
]


@pytest.mark.parametrize(("schema", "type_", "most", "size"), [*SCALARS, *CONTAINERS])
def test_the_type_and_sizes_of_a_schema(schema: Schema, type_: str, most: int, size: int) -> None:
    found = declaration(schema)
    assert (format_type(found.type), found.max_elements, found.min_serialized_size) == (type_, most, size)


@pytest.mark.parametrize("schema", [UNKNOWN, {"type": "array"}, array(UNKNOWN), mapping(UNKNOWN)])
def test_what_cel_cannot_see(schema: Schema) -> None:
    assert declare(from_openapi(schema)) is None


def fields(found: Declared) -> dict[str, Any]:
    """The names and types of an object's fields, those of objects in it as they are nested."""
    return {name: fields(each) if each.fields else format_type(each.type) for name, (_, each) in found.fields.items()}


NAMES = {"apiVersion": "string", "kind": "string", "metadata": {"name": "string", "generateName": "string"}}
OWN: Schema = of(
    {"apiVersion": STRING, "kind": STRING, "metadata": of({"name": STRING, "generateName": STRING, "x": INTEGER})}
)


@pytest.mark.parametrize(
    ("schema", "root", "wanted"),
    [
        (
            of({"a": INTEGER, "b.c": STRING, "1x": INTEGER, "in": {"type": "boolean"}, "u": UNKNOWN}),
            False,
            {"a": "int", "b__dot__c": "string", "__in__": "bool"},
        ),
        (of({"spec": of({"a": INTEGER})}), True, {**NAMES, "spec": {"a": "int"}}),
        (of({"apiVersion": STRING, "metadata": of({"labels": mapping(STRING)})}), True, NAMES),
        (
            of({"apiVersion": STRING, "kind": STRING, "metadata": of({"name": INTEGER, "generateName": STRING})}),
            True,
            NAMES,
        ),
        (OWN, True, {**NAMES, "metadata": {"name": "string", "generateName": "string", "x": "int"}}),
        (
            of({"e": {**of({"x": INTEGER}), "x-kubernetes-embedded-resource": True}}),
            False,
            {"e": {**NAMES, "x": "int"}},
        ),
    ],
)
def test_the_fields_of_an_object(schema: Schema, root: bool, wanted: dict[str, Any]) -> None:
    assert fields(declaration(schema, root=root)) == wanted


def test_the_name_of_a_type_says_where_it_is() -> None:
    made = declaration(of({"a.b": of({"l": array(mapping(of({})))})}))
    (_, inner) = made.fields["a__dot__b"]
    assert (made.type.name, inner.type.name) == ("selfType1", "selfType1.a__dot__b")
    assert inner.fields["l"][1].type.parameters[0].parameters[1].name == "selfType1.a__dot__b.l.@idx.@elem"


def test_an_embedded_object_in_a_list_is_a_whole_object() -> None:
    made = declaration(array({"type": "object", "x-kubernetes-embedded-resource": True, **UNKNOWN}))
    assert made.element is not None
    assert set(made.element.fields) == set(NAMES)


def test_a_property_is_found_by_its_identifier() -> None:
    made = declaration(of({"a.b": INTEGER, "namespace": STRING, "1x": INTEGER}))
    found = {each: made.field(each) for each in ("a__dot__b", "a.b", "namespace", "__namespace__", "1x", "while")}
    assert {each: field and field[0] for each, field in found.items()} == {
        "a__dot__b": "a.b",
        "a.b": None,
        "namespace": "namespace",
        "__namespace__": "namespace",
        "1x": None,
        "while": None,
    }
    assert set(made.properties) == {"a.b", "namespace", "1x"}


@pytest.mark.parametrize(
    ("schema", "conversion"),
    [
        (INTEGER, ""),
        (STRING, ""),
        ({"type": "number"}, "double"),
        ({"type": "string", "format": "byte"}, "bytes"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "duration"}, "duration"),
    ],
)
def test_how_a_scalar_is_read(schema: Schema, conversion: str) -> None:
    """``k8s.io/apiserver/pkg/cel/common`` UnstructuredToVal converts these."""
    made = declaration(schema)
    assert (made.conversion, made.plain) == (conversion, not conversion)


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        (of({"a": INTEGER}), True),
        (of({"a": {"type": "number"}}), False),
        (of({"a": {**INTEGER, "nullable": True}}), False),
        (of({"a.b": INTEGER}), False),
        (of({"a": UNKNOWN}), False),
        (of({"a": INTEGER}, **UNKNOWN), False),
        (array(INTEGER), True),
        (array({"type": "number"}), False),
        (array(STRING, **{"x-kubernetes-list-type": "set"}), False),
        (mapping(INTEGER), True),
        (mapping({"type": "string", "format": "date"}), False),
        (array(of({"a": mapping({"type": "string", "format": "byte"})})), False),
    ],
)
def test_what_is_the_same_in_json_and_cel(schema: Schema, plain: bool) -> None:
    assert declaration(schema).plain is plain


def test_what_else_a_schema_says() -> None:
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    made = declaration(of({"l": array(of({"k": STRING}), nullable=True, **keys), "m": INTEGER}, required=["m"]))
    inner = made.properties["l"]
    assert (inner.list_type, inner.list_map_keys, inner.nullable) == ("map", ("k",), True)
    assert (set(made.required), made.nullable, made.list_type) == ({"m"}, False, "atomic")
