"""Partial objects, made whole for code that knows only whole ones."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.partial import completed, without_nulls
from extapi.schema.structural import from_openapi

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["name", "mode", "count", "ports", "host", "level"],
    "properties": {
        "name": {"type": "string"},
        "mode": {"type": "string", "enum": ["On", "Off"]},
        "count": {"type": "integer", "default": 3},
        "ports": {"type": "array", "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}}},
        "host": {"type": "object", "required": ["fast"], "properties": {"fast": {"type": "boolean"}}},
        "level": {"x-kubernetes-int-or-string": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "foot": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "base": {"type": "object", "nullable": True},
        "text": {"type": "string"},
    },
}  # fmt: skip
SCHEMA = from_openapi({"type": "object", "required": ["spec"], "properties": {"spec": SPEC}})
LEAST = {"name": "", "mode": "On", "ports": [], "host": {"fast": False}, "level": 0}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"labels": None, "foot": None, "ports": None}, {"labels": {}, "foot": {}, "ports": []}),
        ({"base": None}, {"base": None}),  # it may be null
        ({"text": None, "host": None}, {}),  # nothing empty fits
        ({"unknown": None, "labels": {"a": None}}, {"unknown": None, "labels": {}}),
        ({"ports": [{"a": None}, None]}, {"ports": [{}, None]}),
    ],
)
def test_nulls_are_empty_values(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert without_nulls({"spec": given}, SCHEMA) == {"spec": wanted}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, {"spec": LEAST}),
        ({"spec": None}, {"spec": LEAST}),
        ({"spec": {**LEAST, "name": None, "level": None}}, {"spec": LEAST}),
        ({"spec": {**LEAST, "name": "x", "host": None, "ports": [{}]}}, {"spec": {**LEAST, "name": "x", "ports": [{"a": 0}]}}),
    ],
)  # fmt: skip
def test_required_fields_have_the_least_value(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert completed(given, SCHEMA) == wanted


@pytest.mark.parametrize("metadata", [None, {"labels": None}])
def test_metadata_have_no_nulls(metadata: Any) -> None:
    assert without_nulls({"metadata": metadata}, SCHEMA) == {"metadata": {}}


def test_the_object_stays_as_it_is_and_is_the_result_if_it_is_whole() -> None:
    partial: dict[str, Any] = {"spec": {"labels": None, "foot": {"size": None}}}
    completed(partial, SCHEMA)
    assert partial == {"spec": {"labels": None, "foot": {"size": None}}}
    whole = {"spec": {**LEAST, "labels": {"a": "b"}}}
    assert completed(whole, SCHEMA) is whole
