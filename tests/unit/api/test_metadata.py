"""What is expected was said by sigs.k8s.io/json reading into metav1.ObjectMeta (v0.36.3) and writing it back."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.api.metadata import coerce, dedupe_owner_references, finalizer_warnings
from extapi.errors import BadRequest


@pytest.mark.parametrize(
    ("given", "metadata", "unknown"),
    [
        (None, {}, []),
        ({}, {}, []),
        ({"name": "a", "namespace": "", "labels": {}, "finalizers": [], "generation": 0}, {"name": "a"}, []),
        ({"labels": {"a": None, "b": "c"}}, {"labels": {"a": "", "b": "c"}}, []),
        ({"labels": None, "creationTimestamp": None, "deletionGracePeriodSeconds": None}, {}, []),
        (
            {"deletionGracePeriodSeconds": 0, "generation": 5.0, "selfLink": "x"},
            {"deletionGracePeriodSeconds": 0, "generation": 5, "selfLink": "x"},
            [],
        ),
        ({"zoo": 1, "foo": {}, "Name": "x"}, {}, ["metadata.Name", "metadata.foo", "metadata.zoo"]),
        ({"finalizers": ["a", None]}, {"finalizers": ["a", ""]}, []),
        (
            {"ownerReferences": [{"foo": 1, "name": "n", "controller": None, "blockOwnerDeletion": False}]},
            {"ownerReferences": [{"apiVersion": "", "kind": "", "name": "n", "uid": "", "blockOwnerDeletion": False}]},
            ["metadata.ownerReferences[0].foo"],
        ),
        (
            {"ownerReferences": [None, {"uid": ""}]},
            {"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}] * 2},
            [],
        ),
        ({"ownerReferences": []}, {}, []),
        (
            {
                "managedFields": [
                    {
                        "manager": "",
                        "operation": "Apply",
                        "time": "2020-01-01T01:00:00+01:00",
                        "fieldsV1": {"f:a": {}},
                        "x": 1,
                    }
                ]
            },
            {"managedFields": [{"operation": "Apply", "time": "2020-01-01T00:00:00Z", "fieldsV1": {"f:a": {}}}]},
            ["metadata.managedFields[0].x"],
        ),
        ({"creationTimestamp": "0001-01-01T00:00:00Z"}, {}, []),
        ({"creationTimestamp": "2020-02-10T23:00:00.5Z"}, {"creationTimestamp": "2020-02-10T23:00:00Z"}, []),
    ],
)
def test_metadata_is_read_as_go_reads_it(given: Any, metadata: dict[str, Any], unknown: list[str]) -> None:
    assert coerce(given) == (metadata, unknown)
    assert coerce(given, drop_malformed=True).metadata == metadata


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("x", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        (5, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
        ([], "json: cannot unmarshal array into Go value of type v1.ObjectMeta"),
        (True, "json: cannot unmarshal bool into Go value of type v1.ObjectMeta"),
        ({"name": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        ({"name": {}}, "json: cannot unmarshal object into Go struct field ObjectMeta.name of type string"),
        ({"uid": True}, "json: cannot unmarshal bool into Go struct field ObjectMeta.uid of type types.UID"),
        (
            {"generation": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64",
        ),
        (
            {"generation": 2**63},
            "json: cannot unmarshal number 9223372036854776000 into Go struct field ObjectMeta.generation of type int64",
        ),
        ({"generation": "x"}, "json: cannot unmarshal string into Go struct field ObjectMeta.generation of type int64"),
        (
            {"deletionGracePeriodSeconds": True},
            "json: cannot unmarshal bool into Go struct field ObjectMeta.deletionGracePeriodSeconds of type int64",
        ),
        (
            {"labels": [1]},
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        ({"labels": {"a": 5}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
        (
            {"finalizers": "x"},
            "json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string",
        ),
        (
            {"finalizers": ["a", 5]},
            "json: cannot unmarshal number into Go struct field ObjectMeta.finalizers of type string",
        ),
        (
            {"ownerReferences": {}},
            "json: cannot unmarshal object into Go struct field ObjectMeta.ownerReferences of type []v1.OwnerReference",
        ),
        (
            {"ownerReferences": [5]},
            "json: cannot unmarshal number into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
        ),
        (
            {"ownerReferences": [{"controller": "x"}]},
            "json: cannot unmarshal string into Go struct field OwnerReference.ownerReferences.controller of type bool",
        ),
        (
            {"ownerReferences": [{"uid": True}]},
            "json: cannot unmarshal bool into Go struct field OwnerReference.ownerReferences.uid of type types.UID",
        ),
        (
            {"managedFields": [{"operation": 5}]},
            "json: cannot unmarshal number into Go struct field ManagedFieldsEntry.managedFields.operation of type v1.ManagedFieldsOperationType",
        ),
        (
            {"creationTimestamp": 5},
            "json: cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string",
        ),
        ({"creationTimestamp": "x"}, 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
    ],
)
def test_wrong_types_are_bad_requests_in_gos_words(given: Any, error: str) -> None:
    with pytest.raises(BadRequest) as caught:
        coerce(given)
    assert str(caught.value) == error


def test_wrong_types_from_storage_are_dropped_field_by_field() -> None:
    given = {"name": "a", "labels": {"a": 5}, "generation": "x", "foo": 1, "creationTimestamp": "x"}
    assert coerce(given, drop_malformed=True) == ({"name": "a"}, ["metadata.foo"])
    assert coerce("x", drop_malformed=True) == ({}, [])


def test_what_is_given_is_not_changed() -> None:
    given = {"labels": {"a": None}, "foo": 1}
    coerce(given)
    assert given == {"labels": {"a": None}, "foo": 1}


def test_duplicate_owners_are_taken_out_with_a_warning() -> None:
    one = {"apiVersion": "v1", "kind": "K", "name": "a", "uid": "1"}
    two = {**one, "uid": "2"}
    other = {**one, "name": "b"}
    obj = {"metadata": {"ownerReferences": [one, dict(one), two, other, dict(two)]}}
    assert dedupe_owner_references(obj) == (
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
        "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: 1, 2"
    )
    assert obj["metadata"]["ownerReferences"] == [one, two, other]
    assert dedupe_owner_references(obj) is None
    assert dedupe_owner_references({"metadata": {}}) is None
    obj = {"metadata": {"ownerReferences": [one, one]}}
    assert dedupe_owner_references(obj, after_admission=True) == (
        ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner "
        "references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) "
        "observed: 1"
    )


def test_an_owner_that_differs_in_a_flag_is_another() -> None:
    """Owners are compared whole, not by their uids."""
    one = {"apiVersion": "v1", "kind": "K", "name": "a", "uid": "1"}
    owners = [one, {**one, "controller": True}, {**one, "controller": False}, {**one, "blockOwnerDeletion": True}]
    assert dedupe_owner_references({"metadata": {"ownerReferences": owners}}) is None


def test_new_finalizers_without_a_domain_are_warned_of() -> None:
    obj = {"metadata": {"finalizers": ["b.c", "a", "orphan", "foregroundDeletion", "kubernetes", "ex.com/x", "old"]}}
    assert finalizer_warnings(obj, {"metadata": {"finalizers": ["old"]}}) == [
        'metadata.finalizers: "a": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers',
        'metadata.finalizers: "b.c": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers',
    ]
    assert len(finalizer_warnings(obj)) == 3
    assert finalizer_warnings({"metadata": {}}) == []
    (invalid,) = finalizer_warnings({"metadata": {"finalizers": ["/x"]}})
    assert invalid == 'metadata.finalizers: "/x": prefix part must be non-empty'
