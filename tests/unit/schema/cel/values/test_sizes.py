from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values.concatenation import concatenate
from extapi.schema.cel.values.sizes import size_of, tenth, traversal
from extapi.schema.cel.values.values import NONE, UInt, some


class Address:
    def cel_size(self) -> int:
        return 16


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("\u65e5\u672c", 2),
        (b"abc", 3),
        ([1, 2], 2),
        ({"a": 1}, 1),
        (5, 1),
        (UInt(5), 1),
        (None, 1),
        (some("abc"), 3),
        (NONE, 1),
        (Address(), 16),
        (EvaluationError("no such key: k"), 1),
        (concatenate([1] * 50, [2] * 50), 100),
    ],
)
def test_sizes(value: Any, size: int) -> None:
    assert size_of(value) == size


@pytest.mark.parametrize(("number", "expected"), [(0, 0), (1, 1), (10, 1), (11, 2), (30, 3), (100, 10), (1001, 101)])
def test_tenths_are_rounded_up(number: int, expected: int) -> None:
    assert tenth(number) == expected


@pytest.mark.parametrize(
    ("value", "cost"),
    [
        ("x" * 9, 0),
        ("x" * 19, 1),
        ("\u65e5" * 10, 3),
        (b"x" * 20, 2),
        (5, 1),
        ([1, 2, "x" * 10], 3),
        ({"x" * 10: [1, 2]}, 3),
        ([], 0),
    ],
)
def test_traversals(value: Any, cost: int) -> None:
    assert traversal(value) == cost
