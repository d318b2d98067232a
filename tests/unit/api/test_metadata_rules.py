"""What is expected was said by k8s.io/apimachinery/pkg/api/validation v0.36.3."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.api.metadata_rules import annotation_errors, field_manager, label_errors, validate_object_meta
from extapi.errors import MOST_ERRORS

SUBDOMAIN = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
KEY = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
OWNER = {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}


def created(namespaced: bool = True, **metadata: Any) -> list[str]:
    given = {"name": "a", **({"namespace": "ns"} if namespaced else {}), **metadata}
    return [error.text() for error in validate_object_meta({"metadata": given}, namespaced=namespaced)]


def updated(old: dict[str, Any] | None = None, **metadata: Any) -> list[str]:
    base = {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
    errors = validate_object_meta({"metadata": base | metadata}, namespaced=True, old={"metadata": base | (old or {})})
    return [error.text() for error in errors]


def test_good_metadata_has_no_errors() -> None:
    assert (
        created(labels={"a": "b"}, annotations={"Ex.com/A": "x"}, finalizers=["ex.com/x"], ownerReferences=[OWNER])
        == []
    )
    assert created(namespaced=False) == []
    assert created(managedFields=[{"operation": "Apply", "manager": "m é", "fieldsType": "FieldsV1"}]) == []
    assert updated(labels={"a": "b"}, generateName="new-") == []


@pytest.mark.parametrize(
    ("metadata", "errors"),
    [
        ({"name": ""}, ["metadata.name: Required value: name or generateName is required"]),
        ({"name": "A"}, [f'metadata.name: Invalid value: "A": {SUBDOMAIN}']),
        ({"generateName": "A.", "name": "a"}, [f'metadata.generateName: Invalid value: "A.": {SUBDOMAIN}']),
        ({"namespace": ""}, ["metadata.namespace: Required value"]),
        ({"namespace": "a.b"}, ['metadata.namespace: Invalid value: "a.b": must not contain dots']),
        ({"generation": -1}, ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"labels": {"-": "_"}},
            [
                f'metadata.labels: Invalid value: "-": name part {KEY}',
                "metadata.labels: Invalid value: \"_\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ],
        ),
        ({"annotations": {"-": ""}}, [f'metadata.annotations: Invalid value: "-": name part {KEY}']),
        ({"annotations": {"a": "x" * 262143}}, []),
        ({"annotations": {"a": "x" * 262144}}, ["metadata.annotations: Too long: may not be more than 262144 bytes"]),
        ({"annotations": {"a": "é" * 131072}}, ["metadata.annotations: Too long: may not be more than 262144 bytes"]),
        ({"finalizers": ["-"]}, [f'metadata.finalizers: Invalid value: "-": name part {KEY}']),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            [
                'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set'
            ],
        ),
        (
            {"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]},
            [
                'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
                'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
                'metadata.ownerReferences.name: Invalid value: "": must not be empty',
                'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"ownerReferences": [{**OWNER, "apiVersion": "a/b/c"}]},
            ['metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty'],
        ),
        (
            {"ownerReferences": [{**OWNER, "kind": "Event"}]},
            [
                'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"n","uid":"u"}: /v1, Kind=Event is disallowed from being an owner'
            ],
        ),
        ({"ownerReferences": [{**OWNER, "kind": "Event", "apiVersion": "events.k8s.io/v1"}]}, []),
        (
            {"managedFields": [{"operation": "x", "fieldsType": "y", "manager": "m" * 129, "subresource": "s" * 257}]},
            [
                'metadata.managedFields[0].operation: Invalid value: "x": must be `Apply` or `Update`',
                'metadata.managedFields[0].fieldsType: Invalid value: "y": must be `FieldsV1`',
                "metadata.managedFields[0].manager: Too long: may not be more than 128 bytes",
                "metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes",
            ],
        ),
    ],
)
def test_each_rule_on_create(metadata: dict[str, Any], errors: list[str]) -> None:
    assert created(**metadata) == errors


def test_only_one_owner_may_be_the_controller() -> None:
    (error,) = created(ownerReferences=[{**OWNER, "controller": True}, {**OWNER, "uid": "v", "controller": True}])
    assert error.endswith(
        ': Only one reference can have Controller set to true. Found "true" in references for K/n and K/n'
    )
    assert created(ownerReferences=[{**OWNER, "controller": True}, {**OWNER, "uid": "v", "controller": False}]) == []
    (error,) = created(ownerReferences=[{**OWNER, "controller": True}, {**OWNER, "name": "m", "controller": True}])
    assert error.endswith('Found "true" in references for K/n and K/m')


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    assert created(namespaced=False, namespace="x") == ["metadata.namespace: Forbidden: not allowed on this type"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ({}, {"name": "b"}, 'metadata.name: Invalid value: "b": field is immutable'),
        ({}, {"namespace": "other"}, 'metadata.namespace: Invalid value: "other": field is immutable'),
        ({}, {"uid": "v"}, 'metadata.uid: Invalid value: "v": field is immutable'),
        ({}, {"resourceVersion": ""}, 'metadata.resourceVersion: Invalid value: "": must be specified for an update'),
        ({"generation": 2}, {"generation": 1}, "metadata.generation: Invalid value: 1: must not be decremented"),
        (
            {"creationTimestamp": "2020-01-01T00:00:00Z"},
            {},
            "metadata.creationTimestamp: Invalid value: null: field is immutable",
        ),
        (
            {},
            {"deletionTimestamp": "2020-01-01T00:00:00Z"},
            'metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable',
        ),
        (
            {},
            {"deletionGracePeriodSeconds": 0},
            "metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable",
        ),
        (
            {"deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": ["a/a"]},
            {"deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": ["a/a", "x", "b/b"]},
            'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"b/b", "x"}',
        ),
    ],
)
def test_each_rule_on_update_is_told_twice(old: dict[str, Any], new: dict[str, Any], error: str) -> None:
    # Observed of kube-apiserver: its generic and its custom resource strategy both check.
    assert updated(old, **new) == [error, error]


def test_labels_are_told_three_times_on_update() -> None:
    assert updated(labels={"-": ""}) == [f'metadata.labels: Invalid value: "-": name part {KEY}'] * 3


def test_finalizers_may_be_removed_while_deleting() -> None:
    deleting = {"deletionTimestamp": "2020-01-01T00:00:00Z"}
    assert updated({**deleting, "finalizers": ["a/a", "b/b"]}, **deleting, finalizers=["a/a"]) == []


def test_an_old_name_need_not_be_a_subdomain() -> None:
    name = {"name": "Old_Name"}
    assert updated(name, **name) == []
    assert updated({"name": "a%"}, name="a%") == ["metadata.name: Invalid value: \"a%\": may not contain '%'"]


def test_field_managers() -> None:
    assert list(field_manager("kubectl")) == []
    assert [error.text() for error in field_manager("é\x07\u00a0")] == [
        'fieldManager: Invalid value: "é\\a\\u00a0": invalid character U+0007 (at position 2)',
        'fieldManager: Invalid value: "é\\a\\u00a0": invalid character U+00A0 (at position 3)',
    ]


def test_errors_of_labels_and_annotations_alone_are_bounded() -> None:
    """A converter may answer with as many wrong ones as fit into its answer."""
    wrong = {f"not a name {number}": "x" for number in range(MOST_ERRORS + 1)}
    assert len(label_errors(wrong)) == len(annotation_errors(wrong)) == MOST_ERRORS
