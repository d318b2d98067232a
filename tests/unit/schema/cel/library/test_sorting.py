"""Sorting by keys. The orders of equal keys are those of Go's ``sort.Slice``, asked of Kubernetes 1.36.3."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.sorting import sorted_by
from extapi.schema.cel.values.values import UInt


def test_items_come_in_the_order_of_their_keys() -> None:
    assert sorted_by(["a", "b", "c"], [2.5, -1.0, 0.0]) == ["b", "c", "a"]
    assert sorted_by([], []) == []


_SIZES = (
    "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got 2 and 1 "
    "elements respectively"
)


@pytest.mark.parametrize(
    ("items", "keys", "text"),
    [
        (
            [1, 2],
            [1],
            _SIZES,
        ),
        ([1], [None], "list elements must be comparable"),
        ([1, 2], [[1], [2]], "list elements must be comparable"),
        ([1, 2], [1, UInt(2)], "list elements must have the same type"),
        ([1, 2], [1, True], "list elements must have the same type"),
    ],
)
def test_keys_need_one_type_with_an_order(items: list[Any], keys: list[Any], text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        sorted_by(items, keys)
    assert str(caught.value) == text


def test_a_short_list_keeps_the_order_of_equal_keys() -> None:
    items = list(range(12))
    assert sorted_by(items, [each % 2 for each in items]) == [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]


def test_a_longer_list_has_equal_keys_where_go_leaves_them() -> None:
    items = list(range(14))
    assert sorted_by(items, [each % 2 for each in items]) == [8, 12, 2, 0, 4, 10, 6, 3, 7, 9, 5, 11, 1, 13]


def test_nan_stays_where_no_comparison_moves_it() -> None:
    items = list(range(12))
    keys = [each % 5 / (each % 2) if each % 2 else (each % 5 and float("inf")) or float("nan") for each in items]
    assert sorted_by(items, keys) == [0, 5, 1, 7, 3, 9, 2, 4, 6, 8, 10, 11]
