"""Which values count as one. Equality is that of CEL, as ``cel-go/ext`` distinctList and setsContains use it."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.library.membership import Members
from extapi.schema.cel.library.quantity import QuantityValue, parse_quantity
from extapi.schema.cel.values.values import NONE, Duration, MapList, SetList, TypeValue, UInt, some


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (1, UInt(1), True),
        (1, True, False),
        (1, "1", False),
        (b"a", "a", False),
        (1, Duration(1), False),
        (None, None, True),
        (float("nan"), float("nan"), False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1], [1.0], True),
        ({"a": [1]}, {"a": [1.0]}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        (SetList([1, 2]), SetList([2, 1]), True),
        (SetList([1, 2]), SetList([2, 3]), False),
        ([SetList([1, 2])], [SetList([2, 1])], True),
        (MapList([{"k": 1}, {"k": 2}], ("k",)), MapList([{"k": 2}, {"k": 1}], ("k",)), True),
        (some([1]), some([1.0]), True),
        (some(None), NONE, False),
        (TypeValue("int"), TypeValue("int"), True),
        (TypeValue("int"), TypeValue("uint"), False),
        (2**63 - 1, 2.0**63, True),
    ],
)
def test_values_are_the_same_member_if_they_are_equal(left: Any, right: Any, same: bool) -> None:
    members = Members([left])
    assert (right in members) is same
    assert members.add(right) is not same
    if not isinstance(right, float):  # NaN is not even equal to itself
        assert right in members


def test_a_set_is_found_by_a_plain_list_in_any_order() -> None:
    members = Members([[1, 2], [3, 4]])
    assert SetList([2, 1]) in members
    assert SetList([2, 3]) not in members
    assert members.add([5, 6])
    assert SetList([6, 5]) in members


def test_permutations_are_told_apart_without_comparing_each_with_each() -> None:
    start = list(range(500))
    members = Members()
    for turn in range(500):
        assert members.add(start[turn:] + start[:turn])
    assert start in members


def test_values_that_cannot_be_compared_are_different() -> None:
    total = QuantityValue(parse_quantity("1").amount, computed=True)
    members = Members([total])
    assert members.add(parse_quantity("1"))  # Go cannot compare anything with a sum
