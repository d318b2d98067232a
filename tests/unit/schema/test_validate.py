"""Expected texts are those of behaviour J22 to J26 and of a running kube-apiserver; none is made up here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from extapi.errors import MOST_ERRORS, FieldError, FieldErrorType
from extapi.schema.structural import MISSING, Structural, from_openapi
from extapi.schema.validate import _Walk, status_validator, validate, validator


def of(spec: dict[str, Any]) -> Structural:
    return from_openapi({"type": "object", "properties": {"spec": spec}})


def texts(spec: dict[str, Any], value: Any, old: Any = MISSING) -> list[str]:
    before = None if old is MISSING else {"spec": old}
    return [error.text() for error in validate({"spec": value}, of(spec), before)]


def field(schema: dict[str, Any], value: Any) -> list[str]:
    return texts({"type": "object", "properties": {"f": schema}}, {"f": value})


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        ({"type": "integer"}, "x", 'spec.f: Invalid value: "string": spec.f in body must be of type integer: "string"'),
        (
            {"type": "integer"},
            True,
            'spec.f: Invalid value: "boolean": spec.f in body must be of type integer: "boolean"',
        ),
        ({"type": "string"}, 5, 'spec.f: Invalid value: "integer": spec.f in body must be of type string: "integer"'),
        ({"type": "string"}, None, 'spec.f: Invalid value: "null": spec.f in body must be of type string: "null"'),
        ({"type": "boolean"}, [], 'spec.f: Invalid value: "array": spec.f in body must be of type boolean: "array"'),
        (
            {"type": "array", "items": {}},
            {},
            'spec.f: Invalid value: "object": spec.f in body must be of type array: "object"',
        ),
        ({"type": "object"}, 1.5, 'spec.f: Invalid value: "number": spec.f in body must be of type object: "number"'),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            'spec.f: Invalid value: "boolean": spec.f in body must be of type integer,string: "boolean"',
        ),
        # With a format, Go names the format of the value instead of its type.
        (
            {"type": "string", "format": "date-time"},
            5,
            'spec.f: Invalid value: "int64": spec.f in body must be of type date-time: "int64"',
        ),
        (
            {"type": "integer", "format": "int64"},
            False,
            'spec.f: Invalid value: "": spec.f in body must be of type int64: ""',
        ),
        (
            {"type": "string", "format": "date-time"},
            "now",
            'spec.f: Invalid value: "now": spec.f in body must be of type date-time: "now"',
        ),
        (
            {"type": "string", "format": "byte"},
            [],
            'spec.f: Invalid value: "array": spec.f in body must be of type string: "array"',
        ),
        (
            {"type": "integer", "minimum": 1},
            0,
            "spec.f: Invalid value: 0: spec.f in body should be greater than or equal to 1",
        ),
        (
            {"type": "integer", "maximum": 2},
            3,
            "spec.f: Invalid value: 3: spec.f in body should be less than or equal to 2",
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            1,
            "spec.f: Invalid value: 1: spec.f in body should be greater than 1",
        ),
        (
            {"type": "number", "maximum": 2.5, "exclusiveMaximum": True},
            2.5,
            "spec.f: Invalid value: 2.5: spec.f in body should be less than 2.5",
        ),
        (
            {"type": "number", "minimum": 1000000},
            2.5,
            "spec.f: Invalid value: 2.5: spec.f in body should be greater than or equal to 1e+06",
        ),
        ({"type": "integer", "multipleOf": 2}, 3, "spec.f: Invalid value: 3: spec.f in body should be a multiple of 2"),
        (
            {"type": "number", "multipleOf": 0.1},
            0.25,
            "spec.f: Invalid value: 0.25: spec.f in body should be a multiple of 0.1",
        ),
        (
            {"type": "string", "minLength": 2},
            "ä",
            'spec.f: Invalid value: "ä": spec.f in body should be at least 2 chars long',
        ),
        ({"type": "string", "maxLength": 2}, "abc", "spec.f: Too long: may not be more than 2 bytes"),
        ({"type": "string", "maxLength": 1}, "abc", "spec.f: Too long: may not be more than 1 byte"),
        (
            {"type": "string", "pattern": "^a+$"},
            "b",
            "spec.f: Invalid value: \"b\": spec.f in body should match '^a+$'",
        ),
        ({"type": "string", "enum": ["a", "b"]}, "x", 'spec.f: Unsupported value: "x": supported values: "a", "b"'),
        ({"type": "integer", "enum": [1, 2]}, 3, 'spec.f: Unsupported value: 3: supported values: "1", "2"'),
        ({"type": "boolean", "enum": [True]}, False, 'spec.f: Unsupported value: false: supported values: "true"'),
        (
            {"type": "string", "nullable": True, "enum": ["a", None]},
            None,
            'spec.f: Unsupported value: null: supported values: "a", "null"',
        ),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            [],
            "spec.f: Invalid value: 0: spec.f in body should have at least 1 items",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            ["a", "b", "c"],
            "spec.f: Too many: 3: must have at most 2 items",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            ["a", "b"],
            "spec.f: Too many: 2: must have at most 1 item",
        ),
        (
            {"type": "object", "minProperties": 1},
            {},
            "spec.f: Invalid value: 0: spec.f in body should have at least 1 properties",
        ),
        ({"type": "object", "maxProperties": 0}, {"a": 1}, "spec.f: Too many: 1: must have at most 0 items"),
        ({"type": "object", "required": ["x"]}, {}, "spec.f.x: Required value"),
        (
            {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
            [{"x": "a"}, {"x": 1}],
            'spec.f[1].x: Invalid value: "integer": spec.f[1].x in body must be of type string: "integer"',
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"k": 1},
            'spec.f.k: Invalid value: "integer": spec.f.k in body must be of type string: "integer"',
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"k": 1},
            'spec.f: Invalid value: "k": spec.f.k in body is a forbidden property',
        ),
        (
            {"type": "integer", "format": "int32"},
            2**31,
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.f',
        ),
        (
            {"type": "number", "format": "float"},
            1e300,
            '<nil>: Invalid value: "": Checked value must be of type number with format float in spec.f',
        ),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            ["a", "b", "a", "a"],
            'spec.f[2]: Duplicate value: "a"',
        ),
        (
            {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}},
                "x-kubernetes-list-type": "set",
            },
            [[1], [1]],
            "spec.f[1]: Duplicate value: [1]",
        ),
        (
            {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {"type": "integer"},
                    "x-kubernetes-list-type": "set",
                },
            },
            {"x": [1, 1]},
            "spec.f[x][1]: Duplicate value: 1",
        ),
    ],
)
def test_one_broken_rule(schema: dict[str, Any], value: Any, wanted: str) -> None:
    assert field(schema, value) == [wanted]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 5.0),
        ({"type": "integer", "format": "int32"}, 2**31 - 1),
        ({"type": "number"}, 5),
        ({"type": "number", "multipleOf": 0.1}, 0.3),
        ({"type": "number", "format": "float"}, 1.5),
        ({"type": "integer", "multipleOf": 3}, 9),
        ({"type": "string", "nullable": True}, None),
        ({"type": "string", "format": "unknown-format"}, "anything"),
        ({"type": "integer", "format": "date"}, 5),
        ({"type": "string", "maxLength": 2}, "ää"),
        ({"type": "string", "pattern": "b"}, "abc"),
        ({"type": "number", "enum": [1]}, 1.0),
        ({"x-kubernetes-preserve-unknown-fields": True}, {"a": [None, 1, True, "x", 1.5]}),
        ({"x-kubernetes-preserve-unknown-fields": True}, None),
        ({"x-kubernetes-preserve-unknown-fields": True, "format": "date"}, [1]),
        ({"x-kubernetes-preserve-unknown-fields": True, "minLength": 1}, True),
        ({"x-kubernetes-int-or-string": True}, "80%"),
        ({"x-kubernetes-int-or-string": True}, 80),
        ({"type": "array", "items": {"type": "boolean"}, "x-kubernetes-list-type": "set"}, [True, False]),
        (
            {"x-kubernetes-preserve-unknown-fields": True, "type": "array", "x-kubernetes-list-type": "set"},
            [1, True, "1"],
        ),
        ({"type": "object", "minProperties": 1, "maxProperties": 1}, {"a": 1}),
    ],
)
def test_values_that_break_nothing(schema: dict[str, Any], value: Any) -> None:
    assert field(schema, value) == []


def test_all_errors_are_reported_at_once() -> None:
    spec = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": "string"}, "n": {"type": "integer", "minimum": 1}, "s": {"type": "string"}},
    }
    assert texts(spec, {"n": 0, "s": 1}) == [
        "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1",
        'spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer"',
        "spec.a: Required value",
        "spec.b: Required value",
    ]


MANY = MOST_ERRORS + 10
BOUNDED: dict[str, tuple[dict[str, Any], Any]] = {
    "items": ({"type": "array", "items": {"type": "string"}}, [1] * MANY),
    "members": ({"type": "object", "additionalProperties": {"type": "string"}}, {str(n): 1 for n in range(MANY)}),
    "closed": ({"type": "object", "additionalProperties": False}, {str(n): 1 for n in range(MANY)}),
    "set": ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, ["a", "b"] * MANY),
    "embedded": (
        {"type": "array", "items": {"type": "object", "x-kubernetes-embedded-resource": True}},
        [{"apiVersion": "v1", "kind": ""}] * MANY,
    ),
}


@pytest.mark.parametrize(("schema", "value"), BOUNDED.values(), ids=BOUNDED)
def test_a_list_or_map_is_searched_for_so_many_errors(schema: dict[str, Any], value: Any) -> None:
    assert 1 <= len(texts(schema, value)) <= MOST_ERRORS


def test_unchanged_errors_do_not_use_up_the_bound() -> None:
    """What was wrong before is let pass, however much of it there is; the next thing that is wrong is found."""
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    old = {f"a{index}": 1 for index in range(2 * MOST_ERRORS)}
    assert texts(schema, old, old) == []
    assert texts(schema, {**old, "new": 1}, old) == [
        'spec.new: Invalid value: "integer": spec.new in body must be of type string: "integer"'
    ]


def test_a_path_is_cut_where_a_key_is_far_too_long() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
    (error,) = validate({"spec": {"k" * 5000: ["a", 1]}}, of(schema))
    assert error.path == f"spec.{'k' * 1019}...[1]"


def test_a_fraction_where_an_integer_is_wanted_breaks_two_rules() -> None:
    assert field({"type": "integer"}, 1.5) == [
        'spec.f: Invalid value: "number": spec.f in body must be of type integer: "number"',
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.f',
    ]


def test_an_integer_beyond_int64_is_a_number() -> None:
    assert field({"type": "string"}, 2**63) == [
        'spec.f: Invalid value: "number": spec.f in body must be of type string: "number"'
    ]
    assert field({"type": "number"}, 2**63) == []


def test_the_causes_of_type_errors_say_so() -> None:
    schema = of({"type": "object", "properties": {"f": {"type": "integer"}}})
    (error,) = validate({"spec": {"f": "x"}}, schema)
    assert error.type is FieldErrorType.TYPE_INVALID
    (error,) = validate({}, from_openapi({"type": "object", "required": ["spec"]}))
    assert error == FieldError.required("spec")


EITHER = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}


@pytest.mark.parametrize(
    ("junctor", "value", "wanted"),
    [
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            [
                '<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found none valid',
                "spec.f.a: Required value",
            ],
        ),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": "", "b": ""},
            [
                '<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found 2 valid alternatives'
            ],
        ),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": ""}, []),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            [
                '<nil>: Invalid value: "": "spec.f" must validate at least one schema (anyOf)',
                "spec.f.a: Required value",
            ],
        ),
        # The branch that holds in more of its rules says what is missing.
        (
            {"anyOf": [{"required": ["a", "b"]}, {"properties": {"a": {"minLength": 1}}, "required": ["b"]}]},
            {"a": "x"},
            [
                '<nil>: Invalid value: "": "spec.f" must validate at least one schema (anyOf)',
                "spec.f.b: Required value",
            ],
        ),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": ""}, []),
        (
            {"allOf": [{"required": ["a"]}, {"minProperties": 0}]},
            {},
            ["spec.f.a: Required value", '<nil>: Invalid value: "": "spec.f" must validate all the schemas (allOf)'],
        ),
        (
            {"allOf": [{"required": ["a"]}]},
            {},
            [
                "spec.f.a: Required value",
                '<nil>: Invalid value: "": "spec.f" must validate all the schemas (allOf). None validated',
            ],
        ),
        ({"allOf": [{"required": ["a"]}]}, {"a": ""}, []),
        # What is fine in one junctor is fine beside an error in another.
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "anyOf": [{"minProperties": 1}], "maxProperties": 0},
            {"a": ""},
            ["spec.f: Too many: 1: must have at most 0 items"],
        ),
        (
            {"allOf": [{"minProperties": 1}], "not": {"required": ["b"]}, "maxProperties": 0},
            {"a": ""},
            ["spec.f: Too many: 1: must have at most 0 items"],
        ),
        (
            {"not": {"required": ["a"]}},
            {"a": ""},
            ['<nil>: Invalid value: "": "spec.f" must not validate the schema (not)'],
        ),
        ({"not": {"required": ["a"]}}, {}, []),
    ],
)
def test_junctors_are_errors_without_a_field(junctor: dict[str, Any], value: Any, wanted: list[str]) -> None:
    assert field(EITHER | junctor, value) == wanted


TOPPINGS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1}},
    },
}


def test_a_map_list_prints_the_keys_of_a_duplicate() -> None:
    items = [{"name": "a", "quantity": 1}, {"name": "a", "quantity": 2}, {"name": "b"}, {"name": "b"}, {"name": "b"}]
    assert field(TOPPINGS, items) == [
        'spec.f[1]: Duplicate value: {"name":"a"}',
        'spec.f[3]: Duplicate value: {"name":"b"}',
    ]


def test_items_without_keys_are_duplicates_of_each_other() -> None:
    assert field(TOPPINGS, [{}, {}]) == [
        "spec.f[0].name: Required value",
        "spec.f[1].name: Required value",
        "spec.f[1]: Duplicate value: {}",
    ]


def test_an_item_of_a_map_list_must_be_an_object() -> None:
    assert field(TOPPINGS, [{"name": "a"}, 5]) == [
        'spec.f[1]: Invalid value: "integer": spec.f[1] in body must be of type object: "integer"',
        "spec.f[1]: Invalid value: 5: must be an object for an array of list-type map",
    ]


def test_several_keys_together_tell_items_apart() -> None:
    ports = TOPPINGS | {"x-kubernetes-list-map-keys": ["name", "quantity"]}
    assert field(ports, [{"name": "a", "quantity": 1}, {"name": "a", "quantity": 2}]) == []
    assert field(ports, [{"name": "a", "quantity": 1}, {"name": "a", "quantity": 1}]) == [
        'spec.f[1]: Duplicate value: {"name":"a","quantity":1}'
    ]
    assert field(ports, [{"name": "a"}, None]) == [
        'spec.f[1]: Invalid value: "null": spec.f[1] in body must be of type object: "null"'
    ]


SPEC = {
    "type": "object",
    "required": ["must"],
    "properties": {
        "must": {"type": "string"},
        "toppings": TOPPINGS,
        "atomic": {"type": "array", "items": {"type": "integer", "maximum": 3}},
        "map": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 3}},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "open": {"type": "object", "maxProperties": 0, "x-kubernetes-preserve-unknown-fields": True},
    },
}
TOO_MUCH = "in body should be less than or equal to 3"


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        # What did not change is let pass, what changed is not.
        ({"must": "", "map": {"a": 5}}, {"must": "", "map": {"a": 5, "b": 1}}, []),
        (
            {"must": "", "map": {"a": 5}},
            {"must": "", "map": {"a": 6}},
            [f"spec.map.a: Invalid value: 6: spec.map.a {TOO_MUCH}"],
        ),
        (
            {"must": "", "map": {}},
            {"must": "", "map": {"a": 6}},
            [f"spec.map.a: Invalid value: 6: spec.map.a {TOO_MUCH}"],
        ),
        # True is not 1, although Python says so.
        (
            {"must": "", "map": {"a": 1}},
            {"must": "", "map": {"a": True}},
            ['spec.map.a: Invalid value: "boolean": spec.map.a in body must be of type integer: "boolean"'],
        ),
        # Map lists correlate by key, whatever the order.
        (
            {"must": "", "toppings": [{"name": "a", "quantity": 0}, {"name": "b"}]},
            {"must": "", "toppings": [{"name": "b"}, {"name": "a", "quantity": 0}]},
            [],
        ),
        (
            {"must": "", "toppings": [{"name": "a", "quantity": 0}]},
            {"must": "", "toppings": [{"name": "a", "quantity": -1}]},
            [
                "spec.toppings[0].quantity: Invalid value: -1: spec.toppings[0].quantity in body should be greater than or equal to 1"
            ],
        ),
        (
            {"must": "", "toppings": [{"name": "b", "quantity": 0}]},
            {"must": "", "toppings": [{"name": "a", "quantity": 0}]},
            [
                "spec.toppings[0].quantity: Invalid value: 0: spec.toppings[0].quantity in body should be greater than or equal to 1"
            ],
        ),
        # Of several old items with one key the first counts (``MapList``).
        (
            {"must": "", "toppings": [{"name": "a", "quantity": 0}, {"name": "a", "quantity": -1}]},
            {"must": "", "toppings": [{"name": "a", "quantity": 0}]},
            [],
        ),
        (
            {"must": "", "toppings": [{"name": "a", "quantity": 0}, {"name": "a", "quantity": -1}]},
            {"must": "", "toppings": [{"name": "a", "quantity": -1}]},
            [
                "spec.toppings[0].quantity: Invalid value: -1: spec.toppings[0].quantity in body should be greater than or equal to 1"
            ],
        ),
        # Other lists only as a whole.
        ({"must": "", "atomic": [5]}, {"must": "x", "atomic": [5]}, []),
        (
            {"must": "", "atomic": [5]},
            {"must": "", "atomic": [5, 1]},
            [f"spec.atomic[0]: Invalid value: 5: spec.atomic[0] {TOO_MUCH}"],
        ),
        ({}, {}, []),
        ({}, {"map": {}}, ["spec.must: Required value"]),
        # An object with members that the schema does not know counts as changed.
        (
            {"must": "", "open": {"a": 1}},
            {"must": "", "open": {"a": 1}},
            ["spec.open: Too many: 1: must have at most 0 items"],
        ),
        # Duplicates are let pass if there were any before.
        ({"must": "", "set": ["a", "a"]}, {"must": "", "set": ["b", "b"]}, []),
        ({"must": "", "set": ["a"]}, {"must": "", "set": ["b", "b"]}, ['spec.set[1]: Duplicate value: "b"']),
        ({"must": "", "toppings": "x"}, {"must": "y", "toppings": "x"}, []),
        (7, {"must": 1}, ['spec.must: Invalid value: "integer": spec.must in body must be of type string: "integer"']),
    ],
)
def test_ratcheting(old: Any, new: Any, wanted: list[str]) -> None:
    assert texts(SPEC, new, old) == wanted


def test_kind_and_api_version_never_ratchet() -> None:
    schema = from_openapi(
        {"type": "object", "properties": {"kind": {"type": "string", "maxLength": 1}, "a": {"type": "string"}}}
    )
    old = {"kind": "Long", "a": "x"}
    assert [error.text() for error in validate({"kind": "Long", "a": "y"}, schema, old)] == [
        "kind: Too long: may not be more than 1 byte"
    ]


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
KIND_RULE = (
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric "
    "characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  "
    "or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, []),
        ({}, ["spec.f.apiVersion: Required value", "spec.f.kind: Required value"]),
        (
            {"apiVersion": "", "kind": ""},
            [
                'spec.f.apiVersion: Invalid value: "": must not be empty',
                'spec.f.kind: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"apiVersion": 1, "kind": []},
            [
                "spec.f.apiVersion: Invalid value: 1: must be a string",
                "spec.f.kind: Invalid value: []: must be a string",
            ],
        ),
        (
            {"apiVersion": "a/b/c", "kind": "K_"},
            [
                'spec.f.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                f'spec.f.kind: Invalid value: "K_": {KIND_RULE}',
            ],
        ),
    ],
)
def test_embedded_objects_need_an_api_version_and_a_kind(value: Any, wanted: list[str]) -> None:
    assert field(EMBEDDED, value) == wanted


def test_embedded_objects_are_found_in_lists_and_maps() -> None:
    lists = {"type": "array", "items": {"type": "object", "additionalProperties": EMBEDDED}}
    assert field(lists, [{"k": {"apiVersion": "v1"}}]) == ["spec.f[0][k].kind: Required value"]


def test_a_pattern_that_does_not_compile_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="missing"):
        validator(of({"type": "string", "pattern": "("}))


def test_a_long_map_list_is_compared_in_linear_time() -> None:
    """Twenty thousand items: comparing each with each would take minutes."""
    items = [{"name": f"t{i}", "quantity": 0} for i in range(20_000)]
    moved = [*reversed(items), {"name": "new", "quantity": 0}]
    assert texts({"type": "object", "properties": {"f": TOPPINGS}}, {"f": moved}, {"f": items}) == [
        "spec.f[20000].quantity: Invalid value: 0: spec.f[20000].quantity in body should be greater than or equal to 1"
    ]


def test_an_item_without_its_keys_has_no_old_one() -> None:
    schema = {"type": "object", "properties": {"f": TOPPINGS, "g": {"type": "string"}}}
    old = {"f": [{"quantity": 0}], "g": ""}
    assert texts(schema, {**old, "g": "changed"}, old) == [
        "spec.f[0].quantity: Invalid value: 0: spec.f[0].quantity in body should be greater than or equal to 1",
        "spec.f[0].name: Required value",
    ]


scalars = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([1.5, 5.0, "", "a", "ab", "2020-01-01"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
leaves = st.sampled_from(
    [
        {"type": "string", "minLength": 1},
        {"type": "string", "format": "date", "nullable": True},
        {"type": "integer", "minimum": 0, "maximum": 2},
        {"type": "integer", "multipleOf": 2},
        {"type": "number", "exclusiveMinimum": True, "minimum": 1},
        {"type": "boolean"},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True, "enum": [1, "a", None]},
        {"type": "string", "enum": ["a", "ab"], "not": {"minLength": 2}},
    ]
)
schemas = st.recursive(
    leaves,
    lambda inner: (
        inner.map(lambda items: {"type": "array", "items": items, "maxItems": 2})
        | inner.map(lambda items: {"type": "array", "items": items, "x-kubernetes-list-type": "set"})
        | inner.map(lambda sub: {"type": "object", "additionalProperties": sub, "minProperties": 1})
        | st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3).map(
            lambda sub: {
                "type": "object",
                "properties": sub,
                "required": sorted(sub)[:1],
                "oneOf": [{"required": ["b"]}, {"required": ["c"]}, {"maxProperties": 1}],
            }
        )
    ),
    max_leaves=6,
)


@given(schemas, values)
def test_the_fast_answer_and_the_close_look_agree(schema: dict[str, Any], value: Any) -> None:
    node = from_openapi({"type": "object", "properties": {"f": schema}})
    obj = {"f": value}
    closely = bool(_Walk({}).check(node, obj, "", MISSING).errors)
    found = validate(obj, node)
    duplicates = [error for error in found if error.type is FieldErrorType.DUPLICATE]
    assert bool(found) == (closely or bool(duplicates))


@given(schemas, values)
def test_an_update_that_changes_nothing_breaks_no_rule_of_known_fields(schema: dict[str, Any], value: Any) -> None:
    node = from_openapi({"type": "object", "properties": {"f": schema}})
    errors = validate({"f": value}, node, {"f": value})
    # Objects with members that the schema does not know do not correlate.
    assert not errors or isinstance(value, (dict, list))


STATUS = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "l": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    },
}


@pytest.mark.parametrize(
    ("obj", "old", "wanted"),
    [
        # As 1.36.3 answers to writes of the status of Kueue's LocalQueue and Rook's OperatorConfig.
        ({"status": {"n": []}}, {}, ['status.n: Invalid value: "array": n in body must be of type integer: "array"']),
        ({"status": True}, {}, ['status: Invalid value: "boolean":  in body must be of type object: "boolean"']),
        # Only the status is looked at, and of that what has changed.
        ({"spec": 5, "status": {"n": "x"}}, {"status": {"n": "x"}}, []),
        ({"spec": 5}, {"status": {}}, []),
        ({"status": {"l": ["a", "a"]}}, {}, ['status.l[1]: Duplicate value: "a"']),
        ({"status": {"l": ["a", "a", "b"]}}, {"status": {"l": ["a", "a"]}}, []),
    ],
)
def test_a_write_of_the_status_is_judged_from_the_status_on(
    obj: dict[str, Any], old: dict[str, Any], wanted: list[str]
) -> None:
    schema = from_openapi({"type": "object", "properties": {"spec": {"type": "object"}, "status": STATUS}})
    assert [error.text() for error in status_validator(schema)(obj, old)] == wanted


def test_a_write_of_a_status_without_schema_has_no_errors() -> None:
    assert status_validator(from_openapi({"type": "object"}))({"status": 5}, {}) == []


def test_nothing_is_of_a_type_that_does_not_exist() -> None:
    """As 1.36.3 says of the default of a misspelled type."""
    assert field({"type": "strin"}, "x") == [
        'spec.f: Invalid value: "string": spec.f in body must be of type strin: "string"'
    ]


def test_enums_of_lists_and_objects_are_told_as_json() -> None:
    """Source: ``apiextensions-apiserver/pkg/apiserver/validation/validation.go`` kubeOpenAPIResultToFieldErrors."""
    enum = [{"b": 1, "a": "<"}, [None, True], 2.5, "x"]
    assert field({"x-kubernetes-preserve-unknown-fields": True, "enum": enum}, 1) == [
        r'spec.f: Unsupported value: 1: supported values: "{\"a\":\"\\u003c\",\"b\":1}", "[null,true]", "2.5", "x"'
    ]
