"""Merges and removals, as in structured-merge-diff's own tests."""

from __future__ import annotations

import pytest

from extapi.managedfields.atom import Atom, ListType, MapType
from extapi.managedfields.fieldset import FieldSet
from extapi.managedfields.items import TypedError
from extapi.managedfields.merging import merge, remove
from tests.unit.managedfields.smdcases import cases

SET = Atom(list_=ListType(Atom(scalar="string"), associative=True))
BY_KEY = Atom(list_=ListType(Atom(map_=MapType({"k": Atom(scalar="string")}, None)), associative=True, keys=("k",)))


def test_values_merge_alike() -> None:
    found = [(merge(case["left"], case["right"], atom), case["value"]) for atom, case in cases("merge")]
    assert len(found) > 200
    assert [pair for pair in found if pair[0] != pair[1]] == []


def test_the_same_is_left() -> None:
    found = [
        (remove(case["left"], FieldSet.from_json(case["fields"]), atom), case["value"])
        for atom, case in cases("remove")
    ]
    assert len(found) > 200
    assert [pair for pair in found if pair[0] != pair[1]] == []


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [  # from typed/merge_test.go, "merge set-type list"
        ("abcd", "ca", "bcda"),
        ("abcde", "ec", "abecd"),
    ],
)
def test_items_take_the_order_of_the_configuration(live: str, applied: str, merged: str) -> None:
    found = merge(list(live), list(applied), SET)
    assert sorted(found) == sorted(merged)
    assert [each for each in found if each in applied] == list(applied)


def test_a_duplicate_in_the_configuration_is_an_error() -> None:
    with pytest.raises(TypedError, match='duplicate entries for key \\[k="a"\\]'):
        merge([], [{"k": "a"}, {"k": "a"}], BY_KEY)


def test_nothing_given_is_changed() -> None:
    live, applied = [{"k": "a"}, {"k": "b"}], [{"k": "b"}]
    merge(live, applied, BY_KEY)
    remove(live, FieldSet.of(('k:{"k":"a"}',)), BY_KEY)
    assert (live, applied) == ([{"k": "a"}, {"k": "b"}], [{"k": "b"}])


def test_of_an_atomic_list_nothing_is_left() -> None:
    """``removingWalker.doList`` returns null for it, whatever is to be removed."""
    atom = Atom(map_=MapType({"l": Atom(list_=ListType(Atom(scalar="numeric")))}, None))
    assert remove({"l": [1, 2]}, FieldSet.of(("f:l", "i:0")), atom) == {"l": None}
