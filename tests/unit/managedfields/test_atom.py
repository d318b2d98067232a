"""The types of OpenAPI schemas; facts of kube-openapi's schemaconv/openapi.go, smd.go and their tests."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.managedfields.atom import DEDUCED, UNTYPED_ATOMIC, Atom, atom_of

PRESERVE = "x-kubernetes-preserve-unknown-fields"


@pytest.mark.parametrize(
    ("schema", "scalar"),
    [
        ({"type": "integer"}, "numeric"),
        ({"type": "number"}, "numeric"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "byte"}, "string"),
        ({"type": "string", "format": "date-time"}, "untyped"),
        ({"type": "string", "format": "int-or-string"}, "untyped"),
        ({"x-kubernetes-int-or-string": True}, "untyped"),
    ],
)
def test_scalars(schema: dict[str, Any], scalar: str) -> None:
    assert atom_of(schema).scalar == scalar


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, (False, ())),
        ({"x-kubernetes-list-type": "atomic"}, (False, ())),
        ({"x-kubernetes-list-type": "set"}, (True, ())),
        ({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b", "a"]}, (True, ("b", "a"))),
        ({"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"}, (True, ("name",))),
        ({"x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "n"}, (True, ("n",))),
        ({"x-kubernetes-patch-strategy": "merge"}, (True, ())),
        ({"x-kubernetes-patch-strategy": "retainKeys"}, (False, ())),
        ({"x-kubernetes-list-type": "atomic", "x-kubernetes-patch-strategy": "merge"}, (False, ())),
    ],
)
def test_lists(more: dict[str, Any], expected: tuple[bool, tuple[str, ...]]) -> None:
    found = atom_of({"type": "array", "items": {"type": "string"}, **more}).list
    assert found is not None
    assert (found.associative, found.keys) == expected


@pytest.mark.parametrize(
    ("schema", "element"),
    [
        ({}, DEDUCED),
        ({"properties": {"a": {"type": "string"}}}, None),
        ({"properties": {"a": {"type": "string"}}, PRESERVE: True}, DEDUCED),
        ({"properties": {"a": {"type": "string"}}, "additionalProperties": True}, DEDUCED),
        ({"additionalProperties": False}, None),
    ],
)
def test_fields_that_are_not_declared(schema: dict[str, Any], element: Atom | None) -> None:
    found = atom_of({"type": "object", **schema}).map
    assert found is not None
    assert found.element is element
    assert found.at("unknown") is element


def test_unknown_fields_are_preserved_in_what_is_below() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}}}
    found = atom_of({"type": "object", PRESERVE: True, "properties": {"inner": inner}}).map
    assert found is not None
    below = found.fields["inner"].map
    assert below is not None
    assert below.element is DEDUCED


def test_a_list_without_items_is_merged_as_a_whole() -> None:
    found = atom_of({}).list
    assert found is not None
    assert found.element is UNTYPED_ATOMIC
    assert not found.associative


def test_references_may_form_a_circle_and_change_the_map_type() -> None:
    models = {
        "Node": {
            "type": "object",
            "properties": {
                "next": {"$ref": "#/components/schemas/Node"},
                "whole": {"allOf": [{"$ref": "#/components/schemas/Node"}], "x-kubernetes-map-type": "atomic"},
            },
        }
    }
    node = atom_of({"$ref": "#/components/schemas/Node"}, models)
    assert node.map is not None
    assert node.map.fields["next"] is node
    whole = node.map.fields["whole"].map
    assert (node.map.atomic, whole is not None and whole.atomic) == (False, True)


def test_quantities_and_raw_extensions_are_what_kubernetes_says_they_are() -> None:
    quantity = atom_of({"$ref": "#/x/io.k8s.apimachinery.pkg.api.resource.Quantity"})
    raw = atom_of({"$ref": "#/x/io.k8s.apimachinery.pkg.runtime.RawExtension"})
    assert (quantity.scalar, quantity.map, raw) == ("untyped", None, UNTYPED_ATOMIC)


def test_defaults_of_keys() -> None:
    items = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}}}
    found = atom_of({"type": "array", "items": items}).list
    assert found is not None
    assert (found.default("a"), found.default("b"), found.default("c")) == ("x", None, None)


@pytest.mark.parametrize("schema", [{"type": "object", "properties": {"a": {"type": "file"}}}, {"$ref": "#/x/Gone"}])
def test_what_is_no_schema(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"file|Gone"):
        atom_of(schema)
