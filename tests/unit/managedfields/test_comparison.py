"""The differences of values, as in structured-merge-diff's own tests."""

from __future__ import annotations

from extapi.managedfields.atom import DEDUCED
from extapi.managedfields.comparison import compare
from tests.unit.managedfields.smdcases import cases


def test_the_same_differences_are_found() -> None:
    wrong = []
    for atom, case in cases("compare"):
        found = compare(case["left"], case["right"], atom)
        sets = {name: getattr(found, name).to_json() for name in ("added", "modified", "removed")}
        if sets != {name: case[name] for name in sets}:
            wrong.append((case, sets))
    assert wrong == []


def test_the_deepest_object_leaves_room_on_the_stack() -> None:
    old: object = 1
    new: object = 2
    for _ in range(200):
        old, new = {"a": old}, {"a": new}
    found = compare(old, new, DEDUCED)
    assert next(found.modified.paths()) == ("f:a",) * 200
