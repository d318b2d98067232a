from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from extapi.errors import MOST_ERRORS
from extapi.schema.prune import prune, pruner
from extapi.schema.structural import from_openapi

SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "foo": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}},
        "open": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"shut": {"type": "object", "properties": {"x": {"type": "string"}}}},
        },
        "openList": {
            "type": "array",
            "x-kubernetes-preserve-unknown-fields": True,
            "items": {"type": "object", "properties": {"shut": {"type": "object", "properties": {}}}},
        },
        "openAny": {"type": "array", "x-kubernetes-preserve-unknown-fields": True},
        "true": {"type": "object", "additionalProperties": True},
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object", "properties": {}}},
        },
        "openEmbedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "lists": {"type": "array", "items": {"type": "array", "items": {"type": "object"}}},
    },
}
SCHEMA = from_openapi({"type": "object", "properties": {"spec": SPEC}})


def of(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x", "unknown": {"a": 1}}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "left", "unknown"),
    [
        ({"foo": "a"}, {"foo": "a"}, []),
        ({"bar": 1, "foo": "a"}, {"foo": "a"}, ["spec.bar"]),
        (None, None, []),
        ({"list": [{"x": 1}, {"y": 2}, 5]}, {"list": [{"x": 1}, {}, 5]}, ["spec.list[1].y"]),
        ({"map": {"k": {"x": "", "y": {}}}}, {"map": {"k": {"x": ""}}}, ["spec.map.k.y"]),
        ({"open": {"a": {"b": 1}}}, {"open": {"a": {"b": 1}}}, []),
        ({"open": {"shut": {"x": "", "y": 1}}}, {"open": {"shut": {"x": ""}}}, ["spec.open.shut.y"]),
        ({"openList": [{"a": 1}]}, {"openList": [{"a": 1}]}, []),
        ({"openList": [{"a": 1, "shut": {"b": 1}}]}, {"openList": [{"a": 1, "shut": {}}]}, ["spec.openList[0].shut.b"]),
        ({"openAny": [{"a": [{"b": 1}]}]}, {"openAny": [{"a": [{"b": 1}]}]}, []),
        # Values under `additionalProperties: true` have no schema: their members are unknown, scalars stay.
        ({"true": {"a": 1, "b": {"c": 1}}}, {"true": {"a": 1, "b": {}}}, ["spec.true.b.c"]),
        ({"true": {"b": [[{"c": 1}], 2]}}, {"true": {"b": [[{}], 2]}}, ["spec.true.b[0][0].c"]),
        ({"foo": {"deep": 1}}, {"foo": {}}, ["spec.foo.deep"]),
        ({"foo": [{"deep": 1}]}, {"foo": [{}]}, ["spec.foo[0].deep"]),
        (
            {"embedded": {"apiVersion": "v1", "kind": "P", "metadata": {"any": {"x": 1}}, "spec": {"y": 1}, "z": 1}},
            {"embedded": {"apiVersion": "v1", "kind": "P", "metadata": {"any": {"x": 1}}, "spec": {}}},
            ["spec.embedded.spec.y", "spec.embedded.z"],
        ),
        ({"openEmbedded": {"metadata": {"a": 1}, "z": 1}}, {"openEmbedded": {"metadata": {"a": 1}, "z": 1}}, []),
        ({"lists": [[{"a": 1}], []]}, {"lists": [[{}], []]}, ["spec.lists[0][0].a"]),
        ({"apiVersion": "v1"}, {}, ["spec.apiVersion"]),
    ],
)
def test_unknown_fields_go_and_are_named(spec: Any, left: Any, unknown: list[str]) -> None:
    obj = of(spec)
    assert prune(obj, SCHEMA) == unknown
    assert obj == of(left)


def test_unknown_fields_at_the_root_have_no_leading_dot_and_are_sorted() -> None:
    obj = of({}) | {"zeta": 1, "alpha": {"b": 1}}
    assert prune(obj, SCHEMA) == ["alpha", "zeta"]
    assert obj == of({})


def test_an_open_root_keeps_everything() -> None:
    schema = from_openapi({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    obj: dict[str, Any] = {"a": {"b": [1, {"c": None}]}}
    assert prune(obj, schema) == []
    assert obj == {"a": {"b": [1, {"c": None}]}}


keys = st.sampled_from(
    ["foo", "list", "map", "open", "openList", "openAny", "true", "embedded", "lists", "x", "shut", "spec", "metadata"]
)
values = st.recursive(
    st.none() | st.integers(0, 3) | st.just("s"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(keys, values, max_size=5))
def test_pruning_twice_is_pruning_once_and_only_removes(spec: dict[str, Any]) -> None:
    run = pruner(SCHEMA)
    obj = of(copy.deepcopy(spec))
    unknown = run(obj)
    again = copy.deepcopy(obj)
    assert run(again) == []
    assert again == obj
    assert (obj == of(spec)) == (unknown == [])


def test_all_unknown_fields_go_and_some_are_named() -> None:
    structural = from_openapi({"type": "object", "properties": {"spec": SPEC}})
    obj = {"spec": {"map": {"k" * 5000: {f"a{index}": 1 for index in range(MOST_ERRORS + 5)} | {"x": "y"}}}}
    unknown = prune(obj, structural)
    assert obj == {"spec": {"map": {"k" * 5000: {"x": "y"}}}}
    assert len(unknown) == MOST_ERRORS
    assert all(len(path) < 1100 and path.startswith("spec.map.kkk") for path in unknown)
