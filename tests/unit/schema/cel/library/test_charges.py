"""What walking and making lists costs. Expected values follow ``k8s.io/apiserver/pkg/cel/library`` cost.go by hand."""

from __future__ import annotations

import pytest

from extapi.schema.cel.intervals import LARGEST, UNKNOWN, Interval
from extapi.schema.cel.library.charges import (
    deep_walk,
    deep_walk_estimate,
    difference,
    first_of,
    listing,
    listing_estimate,
    literal_int,
    matching,
    matching_estimate,
    walk,
    walk_estimate,
)
from extapi.schema.cel.types import INT, STRING, list_of
from extapi.schema.cel.values.values import UInt
from tests.unit.schema.cel.library.calling import Written


def test_walking_costs_a_tenth_rounded_up() -> None:
    assert [walk()(["a" * size], None) for size in (0, 1, 10, 11)] == [0, 1, 1, 2]
    assert [walk(2)(["a" * size], None) for size in (0, 1, 5, 6)] == [0, 1, 1, 2]
    assert walk_estimate()(None, [Written(STRING, Interval(0, 11))]) == ((0, 2), None)
    assert walk_estimate(2, sized=True)(Written(STRING, Interval(6, 11)), []) == ((2, 3), (6, 11))


def test_walking_through_a_list_costs_what_its_elements_do() -> None:
    assert deep_walk([["a" * 25, "é" * 5, "b"]], None) == 3
    assert deep_walk([[1, 2, 3]], None) == 3
    assert deep_walk_estimate(Written(list_of(INT), Interval(2, 3)), []) == ((2, 3), None)
    assert deep_walk_estimate(Written(STRING, Interval(5, 15)), []) == ((1, 2), None)


def test_matching_costs_text_times_pattern() -> None:
    assert matching(0, 1) == 1
    assert matching(19, 9) == 2 * 3
    assert matching_estimate(Interval(0, 19), Interval(1, 9)) == (1, 6)


def test_making_a_list_costs_eleven_and_its_elements() -> None:
    assert listing(2.1, 9) == 18 + 11
    assert listing_estimate(2.1, Interval(0, 9)) == ((11, 19 + 11), (0, 9))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (Written(INT, value=3), 3),
        (Written(INT, value=-3), 0),
        (Written(INT), 7),
        (Written(INT, value=UInt(3)), 7),
        (Written(INT, value=True), 7),
    ],
)
def test_only_an_int_literal_counts(written: Written, expected: int) -> None:
    assert literal_int(written, 7) == expected


def test_a_difference_below_zero_begins_again_at_the_largest_number() -> None:
    assert difference(5, 2) == (3, 3)
    assert difference(2, 3) == (LARGEST, LARGEST)


def test_the_first_argument_is_the_receiver_if_there_is_one() -> None:
    one, other = Written(INT), Written(STRING)
    assert first_of(one, [other]) is one
    assert first_of(None, [other]) is other
    assert UNKNOWN == (0, LARGEST)
