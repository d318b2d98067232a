"""How the operations that an expression makes are applied. Expected values are kube-apiserver 1.36.3's."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.admission.mutations.made import MAX_MADE, MutationError
from extapi.admission.mutations.patching import operations, patched
from extapi.codec.jsonpatch import MAX_COPIED
from extapi.codec.patches import MAX_OPERATIONS
from extapi.errors import InternalError
from extapi.schema.cel.types import struct
from extapi.schema.cel.values.made import MadeObject, MadeOperation

OBJ: dict[str, Any] = {"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}, "spec": {"list": [1, 2]}}


def add(path: str, value: Any) -> MadeOperation:
    return MadeOperation("add", path, value=value)


def changed(*made: MadeOperation) -> Any:
    return patched(OBJ, operations(made))


def test_operations() -> None:
    assert operations([MadeOperation("move", "/b", "/a"), add("/c", None), MadeOperation()]) == [
        {"op": "move", "path": "/b", "from": "/a"},
        {"op": "add", "path": "/c", "value": None},
        {"op": "", "path": ""},
    ]


def test_they_are_applied_to_a_copy() -> None:
    assert changed(add("/spec/list/-", 3), add("/spec/x", MadeObject(struct("Object.x"), {"y": 1})))["spec"] == {
        "list": [1, 2, 3],
        "x": {"y": 1},
    }
    assert OBJ["spec"] == {"list": [1, 2]}


def test_a_value_that_is_added_twice_is_changed_once() -> None:
    value = {"k": 1}
    found = changed(add("/spec/a", value), add("/spec/b", value), add("/spec/a/k", 2))
    assert (found["spec"]["a"], found["spec"]["b"], value) == ({"k": 2}, {"k": 1}, {"k": 1})


def test_a_test_that_fails_leaves_the_object_as_it_is() -> None:
    assert changed(add("/spec/x", 1), MadeOperation("test", "/spec/x", value=2), add("/spec/y", 1)) is OBJ


def test_an_operation_that_does_not_apply() -> None:
    with pytest.raises(MutationError) as caught:
        changed(MadeOperation("remove", "/spec/missing"))
    assert str(caught.value) == (
        "JSON Patch: error in remove for path: '/spec/missing': Unable to remove nonexistent key: missing: missing value"
    )


@pytest.mark.parametrize("made", [MadeOperation("replace", "", value=[]), MadeOperation("remove", "/kind")])
def test_what_is_left_is_an_object(made: MadeOperation) -> None:
    with pytest.raises(InternalError):
        changed(made)


def test_a_misnamed_object() -> None:
    with pytest.raises(MutationError, match="type mismatch: unexpected type name"):
        operations([add("/a", MadeObject(struct("Object.a"), {"b": MadeObject(struct("Object.b"), {})}))])


def test_there_are_not_too_many() -> None:
    with pytest.raises(MutationError, match=f"the allowed maximum operations in a JSON patch is {MAX_OPERATIONS}"):
        operations([add("/a", 1)] * (MAX_OPERATIONS + 1))


def test_a_large_value_is_not_repeated() -> None:
    """It costs the expression next to nothing to repeat the object of the request for each operation."""
    with pytest.raises(MutationError, match=f"the expression makes more than {MAX_MADE} bytes"):
        operations([add("/a", "x" * 100_000)] * 1000)


def test_copies_that_double_are_bounded() -> None:
    with pytest.raises(MutationError, match=f"exceeding the limit {MAX_COPIED}"):
        changed(add("/spec/a", "x" * 1000), *([MadeOperation("copy", "/spec/list/-", "/spec")] * 40))


def test_depth_is_bounded() -> None:
    with pytest.raises(MutationError, match="JSON Patch: the document is nested too deeply"):
        changed(*_deeper())


def _deeper() -> list[MadeOperation]:
    path, made = "/spec", []
    for _ in range(199):
        path += "/a"
        made.append(add(path, {}))
    return [*made, MadeOperation("copy", "/spec/b", "/spec"), MadeOperation("move", path + "/b", "/spec/b")]
