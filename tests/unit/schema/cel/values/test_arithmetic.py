"""What the cases of the standard library leave out: lists of schemas, and the edges of times."""

from __future__ import annotations

import math
from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values import arithmetic
from extapi.schema.cel.values.concatenation import ConcatList
from extapi.schema.cel.values.time import parse_timestamp
from extapi.schema.cel.values.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    MapList,
    SetList,
    Timestamp,
    UInt,
)


@pytest.mark.parametrize(
    ("function", "left", "right", "expected"),
    [
        (arithmetic.add_int, INT_MAX, 1, "integer overflow"),
        (arithmetic.add_int, INT_MAX - 1, 1, INT_MAX),
        (arithmetic.subtract_int, INT_MIN, 1, "integer overflow"),
        (arithmetic.multiply_int, 2**32, 2**31, "integer overflow"),
        (arithmetic.multiply_int, -(2**32), 2**31, INT_MIN),
        (arithmetic.divide_int, 7, 0, "division by zero"),
        (arithmetic.divide_int, -7, 2, -3),
        (arithmetic.divide_int, 7, -2, -3),
        (arithmetic.divide_int, -7, -2, 3),
        (arithmetic.divide_int, 0, -2, 0),
        (arithmetic.divide_int, INT_MIN, -1, "integer overflow"),
        (arithmetic.divide_int, INT_MIN, 1, INT_MIN),
        (arithmetic.modulo_int, 7, 0, "modulus by zero"),
        (arithmetic.modulo_int, -7, 2, -1),
        (arithmetic.modulo_int, 7, -2, 1),
        (arithmetic.modulo_int, INT_MIN, -1, "integer overflow"),
        (arithmetic.add_uint, UINT_MAX, 1, "unsigned integer overflow"),
        (arithmetic.subtract_uint, 1, 2, "unsigned integer overflow"),
        (arithmetic.multiply_uint, 2**32, 2**32, "unsigned integer overflow"),
        (arithmetic.divide_uint, 7, 0, "division by zero"),
        (arithmetic.modulo_uint, 7, 0, "modulus by zero"),
        (arithmetic.divide_double, 1.0, 0.0, math.inf),
        (arithmetic.divide_double, -1.0, 0.0, -math.inf),
        (arithmetic.divide_double, 1.0, -0.0, -math.inf),
    ],
)
def test_numbers(function: Any, left: Any, right: Any, expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(EvaluationError, match=rf"^{expected}$"):
            function(left, right)
    else:
        assert function(left, right) == expected


def test_types_of_results() -> None:
    assert type(arithmetic.add_uint(UInt(1), UInt(2))) is UInt
    assert type(arithmetic.modulo_uint(UInt(1), UInt(2))) is UInt
    assert type(arithmetic.add_durations(Duration(1), Duration(2))) is Duration
    assert math.isnan(arithmetic.divide_double(0.0, 0.0))


def test_the_sum_of_a_time_keeps_its_zone() -> None:
    start = parse_timestamp("2023-07-14T10:00:00+02:00")
    for moved in (
        arithmetic.add_to_timestamp(start, Duration(1)),
        arithmetic.add_to_duration(Duration(1), start),
        arithmetic.subtract_from_timestamp(start, Duration(1)),
    ):
        assert type(moved) is Timestamp
        assert moved.offset == 7200


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (arithmetic.TIMESTAMP_MAX, arithmetic.TIMESTAMP_MIN, "integer overflow"),
        (Timestamp(INT_MAX), Timestamp(0), INT_MAX),
        (Timestamp(INT_MAX + 1), Timestamp(0), "integer overflow"),
        # In Go the seconds overflow before the nanoseconds are added.
        (Timestamp(INT_MIN), Timestamp(0), "integer overflow"),
        (Timestamp(-9_223_372_036 * 10**9), Timestamp(0), -9_223_372_036 * 10**9),
    ],
)
def test_differences_of_times(left: Timestamp, right: Timestamp, expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(EvaluationError, match=rf"^{expected}$"):
            arithmetic.subtract_timestamps(left, right)
    else:
        assert arithmetic.subtract_timestamps(left, right) == expected


def test_the_least_duration_cannot_be_subtracted() -> None:
    with pytest.raises(EvaluationError, match=r"^integer overflow$"):
        arithmetic.subtract_from_timestamp(Timestamp(0), Duration(INT_MIN))
    with pytest.raises(EvaluationError, match=r"^timestamp overflow$"):
        arithmetic.add_to_timestamp(arithmetic.TIMESTAMP_MAX, 1)


def test_lists_follow_each_other() -> None:
    assert arithmetic.add_lists([1], [2, 1]) == [1, 2, 1]
    assert type(arithmetic.add_lists(["a"] * 100, ["b"] * 100)) is ConcatList
    right = [2]
    assert arithmetic.add_lists([], right) is right
    assert arithmetic.add_lists(right, []) is right
    assert type(arithmetic.add_lists([], SetList(["a"]))) is list


def test_sets_are_united() -> None:
    united = arithmetic.add_lists(SetList(["b", "a"]), ["c", "a", "c"])
    assert type(united) is SetList
    assert list(united) == ["b", "a", "c"]
    same = SetList(["a"])
    assert arithmetic.add_lists(same, ["a"]) is same
    assert list(arithmetic.add_lists(SetList([1]), [True])) == [1, True]


def test_lists_with_keys_are_merged() -> None:
    left = MapList([{"k": "a", "v": 1}, {"k": "b", "v": 1}], ("k",))
    merged = arithmetic.add_lists(left, [{"k": "c", "v": 2}, {"k": "a", "v": 2}])
    assert isinstance(merged, MapList)
    assert merged.keys == ("k",)
    assert list(merged) == [{"k": "a", "v": 2}, {"k": "b", "v": 1}, {"k": "c", "v": 2}]
    assert list(left) == [{"k": "a", "v": 1}, {"k": "b", "v": 1}]


def test_a_new_key_that_comes_twice_is_appended_twice() -> None:
    # unstructuredMapList.Add does not note what it has appended.
    merged = arithmetic.add_lists(MapList([], ("k",)), [{"k": "a", "v": 1}, {"k": "a", "v": 2}])
    assert list(merged) == [{"k": "a", "v": 1}, {"k": "a", "v": 2}]
