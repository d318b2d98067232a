from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from extapi.schema.default import default, null_dropper, null_keeping_defaulter
from extapi.schema.structural import from_openapi

SCHEMA = from_openapi(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "default": {},
                "properties": {
                    "toppings": {"type": "array", "default": ["tomato"], "items": {"type": "string"}},
                    "size": {"type": "integer", "default": 0},
                    "note": {"type": "string"},
                    "maybe": {"type": "string", "nullable": True},
                    "maybeSet": {"type": "string", "nullable": True, "default": "x"},
                    "deep": {"type": "object", "properties": {"a": {"type": "object", "default": {"b": [{"c": 1}]}}}},
                    "items": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}},
                    },
                    "filled": {"type": "array", "items": {"type": "string", "default": "-"}},
                    "map": {
                        "type": "object",
                        "additionalProperties": {
                            "type": "object",
                            "properties": {"n": {"type": "integer", "default": 1}},
                        },
                    },
                    "defaultMap": {"type": "object", "additionalProperties": {"type": "string", "default": "d"}},
                    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "either": {
                        "x-kubernetes-preserve-unknown-fields": True,
                        "properties": {"n": {"type": "integer", "default": 1}},
                        "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 2}}},
                    },
                },
            },
            "status": {"type": "object", "properties": {"cost": {"type": "string", "default": "0"}}},
        },
    }
)
FILLED = {"toppings": ["tomato"], "size": 0, "maybeSet": "x"}


@pytest.mark.parametrize(
    ("obj", "filled"),
    [
        ({}, {"spec": FILLED}),
        ({"spec": None}, {"spec": FILLED}),
        ({"spec": {}}, {"spec": FILLED}),
        ({"status": None}, {"spec": FILLED}),
        ({"status": {}}, {"spec": FILLED, "status": {"cost": "0"}}),
        ({"spec": 5}, {"spec": 5}),
    ],
)
def test_an_absent_and_a_null_object_are_defaulted_alike(obj: dict[str, Any], filled: dict[str, Any]) -> None:
    default(obj, SCHEMA)
    assert obj == filled


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"toppings": []}, {"toppings": []}),
        ({"toppings": None, "size": None}, {}),
        ({"size": 7}, {"size": 7}),
        ({"note": None}, {}),
        ({"maybe": None}, {"maybe": None}),
        ({"maybeSet": None}, {"maybeSet": None}),
        ({"deep": {}}, {"deep": {"a": {"b": [{"c": 1}]}}}),
        ({"deep": {"a": {}}}, {"deep": {"a": {}}}),
        ({"items": [{}, {"n": 2}, {"n": None}, None]}, {"items": [{"n": 1}, {"n": 2}, {"n": 1}, None]}),
        ({"items": {}}, {"items": {}}),
        ({"filled": [None, "a"]}, {"filled": ["-", "a"]}),
        ({"filled": "no list"}, {"filled": "no list"}),
        ({"map": {"a": {}, "b": None, "c": {"n": 3}}}, {"map": {"a": {"n": 1}, "c": {"n": 3}}}),
        ({"defaultMap": {"a": None}}, {"defaultMap": {"a": "d"}}),
        ({"open": {"a": None}}, {"open": {"a": None}}),
        ({"either": {}}, {"either": {"n": 1}}),
        ({"either": [{}]}, {"either": [{"n": 2}]}),
    ],
)
def test_defaults_and_nulls(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    obj = {"spec": given}
    default(obj, SCHEMA)
    assert obj == {"spec": FILLED | wanted}


def test_nulls_alone_are_dropped_where_they_have_no_default() -> None:
    """``PruneNonNullableNullsWithoutDefaults``: after a conversion nothing is filled in, and a null with a default stays."""
    obj: dict[str, Any] = {"a": None, "b": None, "c": None, "list": [None, {"a": None}], "map": {"x": {"a": None}}}
    inner = {"type": "object", "properties": {"a": {"type": "string"}, "d": {"type": "string", "default": "d"}}}
    schema = from_openapi(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": "string", "default": "b"},
                "c": {"type": "string", "nullable": True},
                "d": {"type": "string", "default": "d"},
                "list": {"type": "array", "items": {**inner, "default": {}}},
                "map": {"type": "object", "additionalProperties": inner},
            },
        }
    )
    null_dropper(schema)(obj)
    assert obj == {"b": None, "c": None, "list": [None, {}], "map": {"x": {}}}


def test_nulls_of_what_is_applied_stay_for_validation_but_where_there_is_no_type() -> None:
    types = {"text": {"type": "string"}, "any": {"x-kubernetes-preserve-unknown-fields": True}, "size": {"type": "integer", "default": 0}}  # fmt: skip
    obj: dict[str, Any] = {"text": None, "any": None, "size": None}
    null_keeping_defaulter(from_openapi({"type": "object", "properties": types}))(obj)
    assert obj == {"text": None, "size": 0}


def test_objects_do_not_share_their_defaults() -> None:
    first: dict[str, Any] = {"spec": {"deep": {}}}
    second: dict[str, Any] = {"spec": {"deep": {}}}
    default(first, SCHEMA)
    default(second, SCHEMA)
    first["spec"]["deep"]["a"]["b"][0]["c"] = 2
    first["spec"]["toppings"].append("salami")
    assert second["spec"] == FILLED | {"deep": {"a": {"b": [{"c": 1}]}}}


values = st.recursive(
    st.none() | st.integers(0, 3) | st.just("s"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "n", "a", "map", "items", "deep", "filled"]), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(["map", "items", "deep", "filled", "open", "either", "note"]), values))
def test_defaulting_twice_is_defaulting_once(spec: dict[str, Any]) -> None:
    obj = {"spec": spec}
    default(obj, SCHEMA)
    once = repr(obj)
    default(obj, SCHEMA)
    assert repr(obj) == once
