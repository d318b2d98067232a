"""Warnings of formats that are checked by nobody, as kube-apiserver's strategy gives them."""

from __future__ import annotations

from extapi.crd.validation import warnings
from tests.differential.definitions.building import Manifest, definition, root, version, whole


def of(*formats: tuple[str, str]) -> Manifest:
    return whole(root(properties={f"f{i}": {"type": kind, "format": name} for i, (kind, name) in enumerate(formats)}))


def test_formats_are_known_by_the_type_of_the_value() -> None:
    known = [("string", "date-time"), ("string", "ipv4"), ("integer", "int32"), ("number", "double")]
    assert warnings(of(*known)) == []
    odd = [("string", "color"), ("integer", "float"), ("number", "int32"), ("boolean", "date"), ("string", 'a"b')]
    assert warnings(of(*odd)) == [
        'unrecognized format "color"',
        'unrecognized format "float"',
        'unrecognized format "int32"',
        'unrecognized format "date"',
        'unrecognized format "a\\"b"',
    ]


def test_each_is_told_once_and_not_again_when_it_was_there() -> None:
    assert warnings(of(("string", "color"), ("string", "color"))) == ['unrecognized format "color"']
    assert warnings(of(("string", "color"), ("string", "shape")), of(("string", "color"))) == [
        'unrecognized format "shape"'
    ]


def test_all_versions_and_all_parts_of_a_schema_are_looked_at() -> None:
    schema = root(
        properties={
            "a": {"type": "array", "items": {"type": "string", "format": "one"}},
            "b": {"type": "object", "additionalProperties": {"type": "string", "format": "two"}},
            "c": {"type": "string", "anyOf": [{"format": "three"}], "not": {"format": "four"}},
        }
    )
    two = definition(versions=[version(), version("v2", storage=False, schema={"openAPIV3Schema": schema})])
    assert sorted(warnings(two)) == sorted(f'unrecognized format "{name}"' for name in ("one", "two", "three", "four"))
