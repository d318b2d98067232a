"""How a configuration is merged. Expected values are kube-apiserver 1.36.3's (tests/kubernetes/mutations.py)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.admission.mutations.applying import applied, configuration
from extapi.admission.mutations.made import Foreign, MutationError
from extapi.managedfields.atom import DEDUCED, atom_of
from extapi.schema.cel.types import struct
from extapi.schema.cel.values.made import MadeObject

TEXT: dict[str, Any] = {"type": "string"}
TYPE = atom_of(
    {
        "type": "object",
        "properties": {
            "apiVersion": TEXT,
            "kind": TEXT,
            "spec": {
                "type": "object",
                "properties": {
                    "title": TEXT,
                    "notes": {"type": "array", "items": TEXT},
                    "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                    "point": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": {"type": "integer"}}},
                    "items": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {"type": "object", "properties": {"name": TEXT, "notes": {"type": "array", "items": TEXT}}},
                    },
                },
            },
        },
    }
)  # fmt: skip
HEAD = {"apiVersion": "a/v1", "kind": "A"}
OBJ = {**HEAD, "spec": {"title": "x", "tags": ["a"], "items": [{"name": "one"}]}}


def refused(obj: Any, patch: Any) -> str:
    with pytest.raises(MutationError) as caught:
        applied(obj, patch, TYPE)
    return str(caught.value)


def test_it_is_merged_into_a_copy() -> None:
    found = applied(OBJ, {"spec": {"title": "y", "tags": ["b"], "items": [{"name": "two"}]}}, TYPE)
    assert found["spec"] == {"title": "y", "tags": ["a", "b"], "items": [{"name": "one"}, {"name": "two"}]}
    found["spec"]["items"][0]["name"] = "changed"
    assert OBJ["spec"] == {"title": "x", "tags": ["a"], "items": [{"name": "one"}]}


def test_version_and_kind_stay() -> None:
    assert applied(OBJ, {"apiVersion": "b/v2", "kind": "B"}, TYPE) == OBJ


@pytest.mark.parametrize(
    ("patch", "where"),
    [
        ({"spec": {"notes": ["x"]}}, ".spec.notes"),
        ({"spec": {"notes": []}}, ".spec.notes"),
        ({"spec": {"point": {"x": 1}}}, ".spec.point"),
        ({"spec": {"items": [{"name": "a"}, {"name": "b", "notes": []}]}}, ".spec.items[1].notes"),
        ({"spec": {"point": {}, "notes": ["x"]}}, ".spec.point, .spec.notes"),
    ],
)
def test_what_is_atomic_is_not_set(patch: Any, where: str) -> None:
    text = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
    assert refused(OBJ, patch) == text + where


def test_what_does_not_fit_the_type() -> None:
    patch = "error applying patch: failed to convert patch object to typed object: "
    assert refused(OBJ, {"spec": {"wrong": 1}}) == f"{patch}.spec.wrong: field not declared in schema"
    assert refused(OBJ, {"spec": {"title": Foreign("uint64")}}) == f"{patch}.spec.title: expected string, got uint64"
    assert refused(OBJ, {"spec": {"tags": ["a", "a"]}}) == f'{patch}.spec.tags: duplicate entries for key [="a"]'
    original = "error applying patch: failed to convert original object to typed object: "
    assert refused({**HEAD, "spec": {"title": 1}}, {}) == f"{original}.spec.title: expected string, got number"


def test_an_object_may_have_duplicates() -> None:
    assert applied({**HEAD, "spec": {"tags": ["a", "a"]}}, {"spec": {"title": "x"}}, TYPE)["spec"]["title"] == "x"


def test_what_no_type_fits_does_not_fit_an_unknown_one() -> None:
    with pytest.raises(MutationError, match=r"expected any scalar, got time\.Time"):
        applied(HEAD, {"since": Foreign("time.Time")}, DEDUCED)


def test_an_expression_that_names_a_type_wrongly() -> None:
    with pytest.raises(MutationError, match="type mismatch"):
        configuration(MadeObject(struct("Object"), {"a": MadeObject(struct("Object.b"), {})}))
