"""What ``apiextensions-apiserver/pkg/apiserver/schema/objectmeta`` does with objects inside of objects (spec J15, J19)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.errors import BadRequest
from extapi.schema.embedded import coerce_embedded, holds_embedded, validate_embedded
from extapi.schema.structural import from_openapi

INNER = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
PLAIN = from_openapi({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}})
SHAPES = {
    "spec.inner": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"inner": INNER}}}},
    "list[0]": {"type": "object", "properties": {"list": {"type": "array", "items": INNER}}},
    "map[key]": {"type": "object", "properties": {"map": {"type": "object", "additionalProperties": INNER}}},
}


def around(path: str, inner: Any) -> dict[str, Any]:
    shapes: dict[str, dict[str, Any]] = {
        "spec.inner": {"spec": {"inner": inner}},
        "list[0]": {"list": [inner]},
        "map[key]": {"map": {"key": inner}},
    }
    return shapes[path]


def pod(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


@pytest.mark.parametrize("path", SHAPES)
def test_embedded_objects_are_found_wherever_they_are(path: str) -> None:
    node = from_openapi(SHAPES[path])
    inner = pod(name="p", labels={"a": None}, nope=1)
    assert holds_embedded(node)
    assert coerce_embedded(around(path, inner), node) == [f"{path}.metadata.nope"]
    assert inner["metadata"] == {"name": "p", "labels": {"a": ""}}


def test_a_schema_without_them_is_left_alone() -> None:
    assert not holds_embedded(PLAIN)
    assert coerce_embedded({"a": ["x"], "b": {"metadata": 1}}, PLAIN) == []


def test_null_metadata_becomes_empty_and_missing_metadata_stays_away() -> None:
    node = from_openapi(SHAPES["spec.inner"])
    empty: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": None}
    coerce_embedded(around("spec.inner", empty), node)
    assert empty["metadata"] == {}
    missing = {"apiVersion": "v1", "kind": "Pod"}
    coerce_embedded(around("spec.inner", missing), node)
    assert "metadata" not in missing


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (
            {"metadata": 1},
            "spec.inner.metadata: Invalid value: 1: json: cannot unmarshal number into Go value of type v1.ObjectMeta",
        ),
        (
            {"metadata": {"labels": {"a": 1}}},
            (
                'spec.inner.metadata: Invalid value: {"labels":{"a":1}}: '
                "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
            ),
        ),
        ({"apiVersion": 1}, "spec.inner.apiVersion: Invalid value: 1: must be a string"),
        ({"kind": []}, "spec.inner.kind: Invalid value: []: must be a string"),
    ],
)
def test_wrong_types_are_refused_in_the_words_of_a_running_1_36_3(inner: Any, message: str) -> None:
    with pytest.raises(BadRequest) as raised:
        coerce_embedded(around("spec.inner", inner), from_openapi(SHAPES["spec.inner"]))
    assert raised.value.message == message


def test_labels_are_judged_and_names_are_not() -> None:
    node = from_openapi(SHAPES["spec.inner"])
    bad = around("spec.inner", pod(name="A b", namespace="C d", generateName="E f", labels={"a": "c d"}))
    assert [error.path for error in validate_embedded(bad, node)] == ["spec.inner.metadata.labels"]
    assert list(validate_embedded(around("spec.inner", pod(name="A b")), node)) == []


def test_malformed_metadata_that_no_client_sent_breaks_nothing() -> None:
    node = from_openapi(SHAPES["spec.inner"])
    assert list(validate_embedded(around("spec.inner", pod(labels={"a": 1})), node)) == []
