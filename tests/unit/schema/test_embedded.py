"""What ``apiextensions-apiserver/pkg/apiserver/schema/objectmeta`` does with objects inside of objects (behaviour J15, J19)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.errors import BadRequest
from extapi.schema.embedded import coerce_embedded, holds_embedded, validate_embedded
from extapi.schema.schema import Schema
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


LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
DNS1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
    "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("inner", "texts"),
    [
        (pod(namespace="B_"), [f'spec.inner.metadata.namespace: Invalid value: "B_": {LABEL}']),
        (pod(namespace="a.b"), ['spec.inner.metadata.namespace: Invalid value: "a.b": must not contain dots']),
        (pod(name="a/b"), ["spec.inner.metadata.name: Invalid value: \"a/b\": may not contain '/'"]),
        (pod(name=".."), ["spec.inner.metadata.name: Invalid value: \"..\": may not be '..'"]),
        (pod(generateName="%"), ["spec.inner.metadata.generateName: Invalid value: \"%\": may not contain '%'"]),
        (pod(generateName=".."), []),
        (pod(name="A b", generateName="E f", namespace="c"), []),
        (pod(), []),
        ({"apiVersion": "v1", "kind": "\u0130\u212a"}, []),
        (
            {"apiVersion": "v1", "kind": "A" * 64},
            [
                (
                    f'spec.inner.kind: Invalid value: "{"A" * 64}": may have mixed case, but should otherwise match: '
                    "must be no more than 63 characters"
                )
            ],
        ),
        (
            {"apiVersion": "v1", "kind": "1"},
            [f'spec.inner.kind: Invalid value: "1": may have mixed case, but should otherwise match: {DNS1035}'],
        ),
        (
            {"apiVersion": "a/b/c", "kind": "A"},
            ['spec.inner.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        (
            {},
            ["spec.inner.apiVersion: Required value", "spec.inner.kind: Required value"],
        ),
    ],
)
def test_names_and_namespaces_are_judged(inner: Any, texts: list[str]) -> None:
    """``validateEmbeddedResource``; each of these is also asked of a running kube-apiserver (``tests/differential``)."""
    node = from_openapi(SHAPES["spec.inner"])
    assert [error.text() for error in validate_embedded(around("spec.inner", inner), node)] == texts


def test_labels_are_judged() -> None:
    node = from_openapi(SHAPES["spec.inner"])
    bad = around("spec.inner", pod(name="A b", labels={"a": "c d"}))
    assert [error.path for error in validate_embedded(bad, node)] == ["spec.inner.metadata.labels"]


def test_malformed_metadata_that_no_client_sent_is_told() -> None:
    """A default, a conversion or a plugin may have made it; what clients send is coerced before."""
    node = from_openapi(SHAPES["spec.inner"])
    (error,) = validate_embedded(around("spec.inner", pod(labels={"a": 1})), node)
    assert error.text() == (
        'spec.inner.metadata: Invalid value: {"labels":{"a":1}}: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    )


def test_what_was_wrong_before_may_stay() -> None:
    """Objects may have been stored before a field was marked, or before a rule was known."""
    validate = Schema(from_openapi(SHAPES["list[0]"])).validate
    old = {"list": [pod(namespace="B_")], "status": {}}
    assert validate({"list": [pod(namespace="B_")], "status": {"ready": True}}, old) == []
    assert [error.path for error in validate({"list": [pod(namespace="C_")]}, old)] == ["list[0].metadata.namespace"]
    assert [error.path for error in validate(old)] == ["list[0].metadata.namespace"]


def test_in_a_definition_what_was_wrong_before_is_told_again() -> None:
    """``customresource/strategy.go`` ValidateUpdate: "We don't make a difference between update and create for those"."""
    validate = Schema(from_openapi(SHAPES["list[0]"]), defined=True).validate
    old = {"list": [pod(namespace="B_")], "status": {}}
    assert [error.path for error in validate({**old, "status": {"ready": True}}, old)] == ["list[0].metadata.namespace"]
