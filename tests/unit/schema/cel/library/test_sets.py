"""Functions of two lists as sets. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.library.sets import SETS
from extapi.schema.cel.types import INT, list_of
from extapi.schema.cel.values.values import UInt
from tests.unit.schema.cel.library.calling import Written, call, cost, estimate, judge, untested

CASES: list[tuple[Any, ...]] = [
    ("list_sets_contains_list", ([1, 2, 3], [3, 1]), True, 7, (7, 7)),
    ("list_sets_contains_list", ([1, 2], [3]), False, 3, (3, 3)),
    ("list_sets_contains_list", ([], []), True, 1, (1, 1)),
    ("list_sets_contains_list", ([[1], [2, 3]], [[2, 3]]), True, 3, (3, 3)),
    ("list_sets_equivalent_list", ([1, 2], [2, 1, 1]), True, 13, (13, 13)),
    ("list_sets_equivalent_list", ([1, 2], [2]), False, 5, (5, 5)),
    ("list_sets_equivalent_list", ([2], [1, 2]), False, 5, (5, 5)),
    ("list_sets_intersects_list", (["a", "b"], ["c", "b"]), True, 5, (5, 5)),
    ("list_sets_intersects_list", ([1], []), False, 1, (1, 1)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(SETS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(SETS, CASES) == set()


def test_numbers_of_several_types_are_the_same_members() -> None:
    assert call(SETS, "list_sets_equivalent_list", [1, UInt(2)], [2.0, 1.0, 2]) is True
    assert call(SETS, "list_sets_contains_list", [1], [True]) is False


def test_a_thousand_objects_are_found_in_a_thousand() -> None:
    items = [{"name": f"n{number}", "ports": [number]} for number in range(1000)]
    assert call(SETS, "list_sets_equivalent_list", items, items[::-1]) is True
    assert cost(SETS, "list_sets_equivalent_list", items, items) == 2_000_001


def test_an_estimate_is_the_product_of_both_sizes() -> None:
    operands = (Written(list_of(INT), Interval(1, 4)), Written(list_of(INT), Interval(2, 10)))
    assert estimate(SETS, "list_sets_contains_list", *operands) == (3, 41)
    assert estimate(SETS, "list_sets_equivalent_list", *operands) == (5, 81)
