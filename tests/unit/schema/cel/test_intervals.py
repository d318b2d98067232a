"""Intervals. Expected values are those of cel-go 0.26's ``CostEstimate`` and ``SizeEstimate``, asked of it."""

from __future__ import annotations

import pytest

from extapi.schema.cel.intervals import LARGEST, NOTHING, ONE, UNKNOWN, Interval, fixed

Ends = tuple[int, int]


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ((1, 2), (3, 4), (4, 6)),
        ((LARGEST - 1, LARGEST), (1, 1), (LARGEST, LARGEST)),
        ((LARGEST - 1, LARGEST - 1), (2, 3), (LARGEST, LARGEST)),
        ((0, LARGEST), (5, 5), (5, LARGEST)),
    ],
)
def test_a_sum_stops_at_the_largest_number(one: Ends, other: Ends, wanted: Ends) -> None:
    assert Interval(*one).plus(Interval(*other)) == wanted
    assert Interval(*other).plus(Interval(*one)) == wanted


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ((2, 3), (4, 5), (8, 15)),
        ((2**32, 2**32), (2**31, 2**32), (2**63, LARGEST)),
        ((0, LARGEST), (0, 2), (0, LARGEST)),
        ((0, 0), (LARGEST, LARGEST), (0, 0)),
    ],
)
def test_a_product_stops_at_the_largest_number(one: Ends, other: Ends, wanted: Ends) -> None:
    assert Interval(*one).times(Interval(*other)) == wanted
    assert Interval(*other).times(Interval(*one)) == wanted


@pytest.mark.parametrize(
    ("ends", "factor", "wanted"),
    [
        ((0, 10), 0.1, (0, 1)),
        ((1, 11), 0.1, (1, 2)),
        ((3, 3), 0.25, (1, 1)),
        ((3, 7), 0.0, (0, 0)),
        ((0, LARGEST), 0.1, (0, 1844674407370955264)),  # as a float64 has it
        ((1, LARGEST), 2.0, (2, LARGEST)),
        ((LARGEST, LARGEST), 1.0, (LARGEST, LARGEST)),
        ((0, 2**53 + 1), 1.0, (0, 2**53)),
    ],
)
def test_a_scaled_interval_is_rounded_up(ends: Ends, factor: float, wanted: Ends) -> None:
    assert Interval(*ends).scaled(factor) == wanted


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [((1, 5), (3, 9), (1, 9)), ((3, 4), (1, 2), (1, 4)), ((1, 9), (2, 3), (1, 9))],
)
def test_a_union_holds_both(one: Ends, other: Ends, wanted: Ends) -> None:
    assert Interval(*one).union(Interval(*other)) == wanted
    assert Interval(*other).union(Interval(*one)) == wanted


def test_intervals_with_names() -> None:
    assert (NOTHING, ONE, UNKNOWN) == ((0, 0), (1, 1), (0, 2**64 - 1))
    assert fixed(7) == (7, 7)
