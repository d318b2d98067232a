from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.structural import KEYWORDS, MAX_DEPTH, MISSING, Structural, from_openapi, replace

FULL: dict[str, Any] = {
    "type": "object",
    "description": "d",
    "title": "t",
    "required": ["a"],
    "externalDocs": {"url": "https://example.com"},
    "example": {"a": None},
    "properties": {
        "a": {"type": "string", "nullable": True, "default": "", "pattern": "^a", "minLength": 1, "maxLength": 2},
        "n": {
            "type": "number",
            "minimum": 0,
            "exclusiveMinimum": True,
            "maximum": 5.5,
            "exclusiveMaximum": True,
            "multipleOf": 0.5,
            "format": "double",
            "enum": [1, None],
        },
        "l": {
            "type": "array",
            "items": {"type": "object", "properties": {"k": {"type": "string", "default": ""}}},
            "minItems": 0,
            "maxItems": 3,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
        "m": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1, "maxProperties": 2},
        "open": {"type": "object", "additionalProperties": True},
        "shut": {"type": "object", "additionalProperties": False, "x-kubernetes-map-type": "atomic"},
        "flag": {"type": "boolean", "default": False},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "no": {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "emb": {"type": "object", "x-kubernetes-embedded-resource": True, "uniqueItems": True},
    },
    "allOf": [{"required": ["a"]}],
    "oneOf": [{"required": ["n"]}, {"not": {"required": ["l"]}}],
    "x-kubernetes-validations": [{"rule": "true"}],
    "$ref": "#/nowhere",
}


def test_every_keyword_survives_the_way_in_and_out() -> None:
    assert from_openapi(FULL).to_openapi() == FULL


def test_the_keywords_come_out_in_a_fixed_order() -> None:
    backwards = dict(reversed(FULL.items()))
    assert list(from_openapi(backwards).to_openapi()) == list(from_openapi(FULL).to_openapi())


def test_null_means_not_there_except_for_values() -> None:
    node = from_openapi({"type": "string", "properties": None, "minLength": None, "default": None})
    assert node == Structural(type="string", default=None)


def test_a_default_that_is_not_there_prints_its_name() -> None:
    assert repr(Structural().default) == "MISSING"
    assert Structural().default is MISSING


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": 5}, "type: must be a string"),
        ({"nullable": "yes"}, "nullable: must be a boolean"),
        ({"minLength": 1.5}, "minLength: must be an integer"),
        ({"minLength": True}, "minLength: must be an integer"),
        ({"minimum": "1"}, "minimum: must be a number"),
        ({"minimum": False}, "minimum: must be a number"),
        ({"required": "a"}, "required: must be an array"),
        ({"required": [1]}, "required: must be an array of strings"),
        ({"x-kubernetes-validations": ["rule"]}, "x-kubernetes-validations: must be an array of objects"),
        (
            {
                "x-kubernetes-validations": [
                    {"rule": None, "message": "", "other": 1},
                    {"rule": 1, "optionalOldSelf": "a"},
                ]
            },
            (
                "x-kubernetes-validations[1].rule: must be a string\n"
                "x-kubernetes-validations[1].optionalOldSelf: must be a boolean"
            ),
        ),
        ({"externalDocs": []}, "externalDocs: must be an object"),
        ({"properties": []}, "properties: must be an object"),
        ({"properties": {"a": 1}}, "properties[a]: must be an object"),
        ({"items": 1}, "items: must be an object"),
        ({"allOf": {}}, "allOf: must be an array"),
        ({"anyOf": [{}, 1]}, "anyOf[1]: must be an object"),
        ({"additionalProperties": 1}, "additionalProperties: must be an object"),
    ],
)
def test_a_keyword_of_the_wrong_shape_is_named(schema: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        from_openapi(schema)
    assert str(caught.value) == text


def test_all_wrong_shapes_are_named_together_with_their_place() -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        from_openapi({"type": 1, "properties": {"a": {"items": {"type": 2}}}}, "spec")
    assert str(caught.value) == "spec.type: must be a string\nspec.properties[a].items.type: must be a string"


def test_a_schema_that_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="<nil>: must be an object"):
        from_openapi([])  # type: ignore[arg-type]  # what a manifest may hold


def test_nesting_is_bounded() -> None:
    def nested(depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string"}
        for _ in range(depth):
            schema = {"type": "array", "items": schema}
        return schema

    assert from_openapi(nested(MAX_DEPTH)).to_openapi() == nested(MAX_DEPTH)
    with pytest.raises(ValueError, match=f"must not nest deeper than {MAX_DEPTH} schemas"):
        from_openapi(nested(MAX_DEPTH + 1))


def test_an_array_of_items_is_kept_as_unsupported() -> None:
    assert from_openapi({"type": "array", "items": [{}]}).unsupported == {"items": [{}]}


def test_each_keyword_has_a_field_of_its_own() -> None:
    assert len(set(KEYWORDS.values())) == len(KEYWORDS)


def test_types_of_int_or_string() -> None:
    assert Structural(int_or_string=True).types == ("integer", "string")
    assert Structural(type="array").types == ("array",)
    assert Structural().types == ()


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({"type": "string", "description": "d", "format": "date", "nullable": True, "enum": ["a"], "title": "t"}, True),
        ({"type": "integer"}, True),
        ({"type": "object"}, False),
        ({"type": "array"}, False),
        ({"type": "null"}, False),
        ({"description": "d"}, False),
        ({"type": "string", "default": 1}, False),
        ({"type": "string", "pattern": "("}, False),
        ({"type": "string", "properties": {}}, False),
        ({"type": "string", "x-kubernetes-validations": [{"rule": "1"}]}, False),
        ({"type": "string", "x-kubernetes-list-type": "set"}, False),
        ({"type": "string", "$ref": "a"}, False),
    ],
)
def test_checks_pass_by_what_cannot_be_wrong(schema: dict[str, Any], plain: bool) -> None:
    node = from_openapi(schema)
    assert node.plain is plain
    assert node == Structural(**{name: getattr(node, name) for name in Structural.__dataclass_fields__})
    assert not replace(node, default=1).plain
