"""``sort_cases.json`` has lists of keys, and the indices of their elements as Go's ``sort.Slice`` orders them.

The orders were asked of Kubernetes 1.36.3, with ``sortBy``.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from extapi.schema.cel.library.pdqsort import sorted_order

CASES = json.loads(Path(__file__).with_name("sort_cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_equal_keys_are_where_go_leaves_them(case: dict[str, Any]) -> None:
    assert sorted_order(case["keys"]) == case["order"]


@pytest.mark.parametrize("length", [0, 1, 13, 49, 50, 300, 2000])
def test_keys_come_in_order(length: int) -> None:
    random = Random(length)  # noqa: S311 - a list to sort
    for most in (2, 50, 10_000):
        keys = [random.randrange(most) for _ in range(length)]
        order = sorted_order(keys)
        assert [keys[index] for index in order] == sorted(keys)
        assert sorted(order) == list(range(length))


def test_a_list_that_defeats_its_pivots_is_sorted_in_time() -> None:
    compared = 0

    class Counted(int):
        def __lt__(self, other: int) -> bool:
            nonlocal compared
            compared += 1
            return int.__lt__(self, other)

    half = [Counted(number) for number in range(1000)]
    keys = [*half, *reversed(half)]
    assert [keys[index] for index in sorted_order(keys)] == sorted(map(int, keys))
    assert compared < 100_000
