"""Texts of behaviour J12 to J18; paths as in a CRD."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.check import check
from extapi.schema.structural import from_openapi

ROOT = "spec.versions[0].schema.openAPIV3Schema"


def texts(schema: dict[str, Any], path: str = "") -> list[str]:
    return [error.text() for error in check(from_openapi(schema), path)]


def of(field: dict[str, Any]) -> list[str]:
    """The errors of a schema with one field, without the path to it."""
    found = texts({"type": "object", "properties": {"f": field}})
    return [text.removeprefix("properties[f].") for text in found]


GOOD = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}},
        "spec": {
            "type": "object",
            "default": {},
            "properties": {
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "also": {
                    "x-kubernetes-int-or-string": True,
                    "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"maxLength": 3}],
                },
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["a", "b"],
                    "items": {
                        "type": "object",
                        "required": ["a"],
                        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 1}},
                    },
                    "default": [{"a": "x"}],
                },
                "sets": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "array", "items": {"type": "string"}},
                },
                "map": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "x-kubernetes-map-type": "granular",
                },
                "any": {"x-kubernetes-preserve-unknown-fields": True},
                "embedded": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"metadata": {"type": "object"}},
                },
            },
            "oneOf": [{"required": ["port"]}, {"properties": {"list": {"items": {"required": ["b"]}}}}],
        },
    },
}


def test_a_structural_schema_has_no_problems() -> None:
    assert texts(GOOD) == []


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({}, ["type: Required value: must not be empty at the root"]),
        ({"type": "array", "items": {"type": "string"}}, ['type: Invalid value: "array": must be object at the root']),
        ({"type": "object", "nullable": True}, ["nullable: Forbidden: nullable cannot be true at the root"]),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            ["additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            {"type": "object", "properties": {"kind": {"type": "integer"}, "apiVersion": {"type": "object"}}},
            [
                'properties[apiVersion].type: Invalid value: "object": must be string',
                'properties[kind].type: Invalid value: "integer": must be string',
            ],
        ),
        (
            {
                "type": "object",
                "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
            },
            [
                (
                    "properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
                    "but metadata is implicitly specified"
                )
            ],
        ),
        (
            {"type": "object", "properties": {"metadata": {"type": "string"}}},
            ['properties[metadata].type: Invalid value: "string": must be object'],
        ),
        (
            {"type": "object", "properties": {"kind": {"type": "string", "default": "K"}}},
            ["properties[kind].default: Forbidden: must not be set in top-level kind"],
        ),
        (
            {
                "type": "object",
                "properties": {
                    "metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}
                },
            },
            ["properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata"],
        ),
    ],
)
def test_the_root(schema: dict[str, Any], wanted: list[str]) -> None:
    assert texts(schema) == wanted


SET = "x-kubernetes-list-type"
KEYS = "x-kubernetes-list-map-keys"


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ({}, ["type: Required value: must not be empty for specified object fields"]),
        ({"type": "array"}, ["items: Required value: must be specified"]),
        ({"type": "array", "items": {}}, ["items.type: Required value: must not be empty for specified array items"]),
        ({"type": "array", "items": [{}]}, ["items: Forbidden: items must be a schema object and not an array"]),
        (
            {"type": "null"},
            ["type: Forbidden: type cannot be set to null, use nullable as an alternative"],
        ),
        (
            {"type": "text"},
            [
                (
                    'type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", '
                    '"string"'
                )
            ],
        ),
        ({"type": "string", "id": "x"}, ["id: Forbidden: id is not supported"]),
        ({"type": "string", "$ref": "x"}, ["$ref: Forbidden: $ref is not supported"]),
        (
            {"type": "object", "patternProperties": {}},
            ["patternProperties: Forbidden: patternProperties is not supported"],
        ),
        ({"type": "object", "definitions": {}}, ["definitions: Forbidden: definitions is not supported"]),
        ({"type": "object", "dependencies": {}}, ["dependencies: Forbidden: dependencies is not supported"]),
        ({"type": "string", "minLenght": 1}, ["minLenght: Forbidden: is not a keyword of structural schemas"]),
        (
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            [
                "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            ],
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
            ["additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
        ),
        (
            {"type": "object", "additionalProperties": False},
            ["additionalProperties: Forbidden: additionalProperties cannot be set to false"],
        ),
        (
            {"type": "object", "additionalProperties": {}},
            ["additionalProperties.type: Required value: must not be empty for specified object fields"],
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
            ["x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
        ),
        (
            {
                "x-kubernetes-int-or-string": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            [
                (
                    "x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string "
                    "is true"
                )
            ],
        ),
        (
            {"x-kubernetes-int-or-string": True, "x-kubernetes-embedded-resource": True},
            [
                (
                    "properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without "
                    "x-kubernetes-preserve-unknown-fields"
                ),
                "type: Required value: must be object if x-kubernetes-embedded-resource is true",
                "x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
            ],
        ),
        (
            {
                "type": "string",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "additionalProperties": True,
            },
            [
                "additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set",
                'type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
            ],
        ),
        ({"type": "string", "x-kubernetes-validations": [{"rule": "true"}]}, []),
        (
            {"type": "string", SET: "set"},
            ['type: Invalid value: "string": must be array if x-kubernetes-list-type is specified'],
        ),
        (
            {"x-kubernetes-preserve-unknown-fields": True, SET: "atomic", "x-kubernetes-map-type": "atomic"},
            [
                "type: Required value: must be array if x-kubernetes-list-type is specified",
                "type: Required value: must be object if x-kubernetes-map-type is specified",
            ],
        ),
        (
            {"type": "string", "x-kubernetes-map-type": "loose"},
            [
                'type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
                'x-kubernetes-map-type: Unsupported value: "loose": supported values: "atomic", "granular"',
            ],
        ),
        (
            {"type": "array", "items": {"type": "string"}, SET: "bag"},
            ['x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
        ),
        (
            {"type": "array", "items": {"type": "object"}, SET: "set"},
            [
                (
                    "items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with "
                    "x-kubernetes-list-type=set"
                )
            ],
        ),
        (
            {"type": "array", "items": {"type": "array", "items": {"type": "string"}, SET: "set"}, SET: "set"},
            [
                (
                    'items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with '
                    "x-kubernetes-list-type=set"
                )
            ],
        ),
        (
            {"type": "array", "items": {"type": "string", "nullable": True}, SET: "set"},
            ["items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"],
        ),
        (
            {"type": "array", "items": {"type": "object"}, KEYS: ["a"]},
            ["x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"],
        ),
        (
            {"type": "array", "items": {"type": "string"}, KEYS: ["a"], SET: "set"},
            ['x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty'],
        ),
        (
            {"type": "array", SET: "map"},
            [
                "items: Required value: must be specified",
                "items: Required value: must have a schema if x-kubernetes-list-type is map",
                "x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ],
        ),
        (
            {"type": "array", "items": {"type": "string"}, SET: "map", KEYS: ["a"]},
            ['items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map'],
        ),
        (
            {
                "type": "array",
                SET: "map",
                KEYS: ["a", "a", "b", "c"],
                "items": {
                    "type": "object",
                    "required": ["b"],
                    "properties": {
                        "a": {"type": "string", "nullable": True},
                        "b": {"type": "object"},
                    },
                },
            },
            [
                (
                    "items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must "
                    "have a default or be a required property"
                ),
                (
                    "items.properties[a].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be "
                    "nullable"
                ),
                (
                    'items.properties[b].type: Invalid value: "object": must be a scalar type if parent array\'s '
                    "x-kubernetes-list-type is map"
                ),
                'x-kubernetes-list-map-keys: Invalid value: ["a","a","b","c"]: entries must all be names of item properties',
                'x-kubernetes-list-map-keys: Invalid value: ["a","a","b","c"]: must not contain duplicate entries',
            ],
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}},
            ['default: Invalid value: {"b":1}: must not have unknown fields'],
        ),
        (
            {"type": "integer", "minimum": 1, "default": 0},
            ["default: Invalid value: 0:  in body should be greater than or equal to 1"],
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"a": 1}},
            [
                'default.a: Invalid value: "integer": a in body must be of type string: "integer"',
            ],
        ),
    ],
)
def test_fields(field: dict[str, Any], wanted: list[str]) -> None:
    assert of(field) == wanted


@pytest.mark.parametrize(
    ("keyword", "value", "allowed"),
    [
        ("type", "string", "empty"),
        ("title", "t", "empty"),
        ("description", "d", "empty"),
        ("nullable", True, "false"),
        ("default", 1, "undefined"),
        ("additionalProperties", True, "undefined"),
        ("x-kubernetes-preserve-unknown-fields", True, "false"),
        ("x-kubernetes-embedded-resource", True, "false"),
        ("x-kubernetes-int-or-string", True, "false"),
        ("x-kubernetes-list-type", "set", "undefined"),
        ("x-kubernetes-list-map-keys", ["a"], "empty"),
        ("x-kubernetes-map-type", "atomic", "undefined"),
        ("x-kubernetes-validations", [{"rule": "true"}], "empty"),
    ],
)
@pytest.mark.parametrize("junctor", ["allOf", "anyOf", "oneOf", "not"])
def test_inside_junctors_only_values_are_judged(keyword: str, value: Any, allowed: str, junctor: str) -> None:
    branch = {keyword: value}
    field = {"type": "object", junctor: branch if junctor == "not" else [branch]}
    at = junctor if junctor == "not" else f"{junctor}[0]"
    assert of(field) == [f"{at}.{keyword}: Forbidden: must be {allowed} to be structural"]


def test_what_a_junctor_mentions_must_exist_outside() -> None:
    field = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"type": "object"}}},
        "allOf": [{"properties": {"a": {"minLength": 1}}}],
        "anyOf": [{"not": {"properties": {"list": {"items": {"properties": {"b": {}}}}}}}],
        "oneOf": [{"items": {"minLength": 1}}],
    }
    assert of(field) == [
        "items: Required value: because it is defined in properties[f].oneOf[0].items",
        "properties[a]: Required value: because it is defined in properties[f].allOf[0].properties[a]",
        (
            "properties[list].items.properties[b]: Required value: because it is defined in "
            "properties[f].anyOf[0].not.properties[list].items.properties[b]"
        ),
    ]


def test_metadata_is_not_for_junctors() -> None:
    schema = {"type": "object", "properties": {"metadata": {"type": "object"}}, "not": {"properties": {"metadata": {}}}}
    assert texts(schema) == ["not.properties[metadata]: Forbidden: must not be specified in a nested context"]


def test_completeness_is_asked_at_every_depth() -> None:
    inner = {"type": "object", "allOf": [{"properties": {"x": {}}}]}
    assert of({"type": "array", "items": {"type": "object", "additionalProperties": inner}}) == [
        (
            "items.additionalProperties.properties[x]: Required value: because it is defined in "
            "properties[f].items.additionalProperties.allOf[0].properties[x]"
        )
    ]


def test_a_bad_pattern_is_named_in_and_out_of_junctors() -> None:
    found = of({"type": "string", "pattern": "(", "allOf": [{"pattern": "["}]})
    assert [text.split(": ")[0] for text in found] == ["allOf[0].pattern", "pattern"]
    assert all(
        "must be a valid regular expression, but isn't: error parsing regexp: missing closing" in text for text in found
    )


def test_everything_wrong_is_reported_together_under_the_given_path() -> None:
    """The non-structural example of the Kubernetes blog on structural schemas."""
    schema = {
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"command": {"type": "string"}, "shell": {"type": "string"}},
                "oneOf": [
                    {"properties": {"command": {"type": "string"}}, "required": ["command"]},
                    {"properties": {"shell": {"type": "string"}}, "required": ["shell"]},
                ],
                "not": {"properties": {"privileged": {}}},
            }
        },
        "required": ["spec"],
    }
    assert texts(schema, ROOT) == [
        f"{ROOT}.properties[spec].oneOf[0].properties[command].type: Forbidden: must be empty to be structural",
        f"{ROOT}.properties[spec].oneOf[1].properties[shell].type: Forbidden: must be empty to be structural",
        (
            f"{ROOT}.properties[spec].properties[privileged]: Required value: because it is defined in "
            f"{ROOT}.properties[spec].not.properties[privileged]"
        ),
        f"{ROOT}.type: Required value: must not be empty at the root",
    ]


def test_a_default_of_a_type_has_no_unknown_fields_either() -> None:
    field = {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}}
    found = check(from_openapi({"type": "object", "properties": {"f": field}}), every_default=True)
    assert [error.text() for error in found] == [
        'properties[f].default: Invalid value: {"b":1}: must not have unknown fields'
    ]
