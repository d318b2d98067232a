"""Functions of lists. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.library.lists import LISTS
from extapi.schema.cel.types import INT, STRING, list_of
from extapi.schema.cel.values.values import Duration, Timestamp, UInt
from tests.unit.schema.cel.library.calling import Refused, Written, call, cost, estimate, judge, untested

CASES: list[tuple[Any, ...]] = [
    ("list_slice", ([1, 2, 3, 4], 1, 3), [2, 3], 13, (13, 13)),
    ("list_slice", ([1, 2], 0, 0), [], 11, (11, 11)),
    ("list_slice", ([1, 2], -1, 1), Refused("cannot slice(-1, 1), negative indexes not supported"), 12, (12, 12)),
    ("list_slice", ([1, 2], 0, 5), Refused("cannot slice(0, 5), list is length 2"), 12, (16, 16)),
    ("list_flatten", ([[1], [], [2, 3]],), [1, 2, 3], 14, (14, 14)),
    ("list_flatten", ([],), [], 11, (11, 11)),
    ("list_flatten_int", ([[1, 2], [3]], 0), [[1, 2], [3]], 11, (11, 11)),
    ("list_flatten_int", ([[[1]], [[2], [3]]], 2), [1, 2, 3], 15, (15, 15)),
    ("list_flatten_int", ([[1]], -1), Refused("level must be non-negative"), 10, (11, 11)),
    ("list_int_sort", ([3, 1, 2],), [1, 2, 3], 29, (29, 29)),
    ("list_uint_sort", ([UInt(2), UInt(1)],), [UInt(1), UInt(2)], 19, (19, 19)),
    ("list_double_sort", ([1.5, -0.5],), [-0.5, 1.5], 19, (19, 19)),
    ("list_bool_sort", ([True, False],), [False, True], 19, (19, 19)),
    ("list_google.protobuf.Duration_sort", ([Duration(3), Duration(1)],), [Duration(1), Duration(3)], 19, (19, 19)),
    (
        "list_google.protobuf.Timestamp_sort",
        ([Timestamp(1_000_000_000), Timestamp(0)],),
        [Timestamp(0), Timestamp(1000000000)],
        19,
        (19, 19),
    ),
    ("list_string_sort", (["bbbbbbbbbbbb", "a"],), ["a", "bbbbbbbbbbbb"], 19, (20, 20)),
    ("list_bytes_sort", ([b"b", b"a"],), [b"a", b"b"], 19, (20, 20)),
    ("list_int_sort", ([],), [], 11, (11, 11)),
    ("lists_range", (4,), [0, 1, 2, 3], 15, (15, 15)),
    ("lists_range", (0,), [], 11, (11, 11)),
    ("lists_range", (-5,), [], 11, (11, 11)),
    ("list_reverse", ([1, 2, 3],), [3, 2, 1], 14, (14, 14)),
    ("list_reverse", ([],), [], 11, (11, 11)),
    ("list_distinct", ([1, 2, 1, 3, 2],), [1, 2, 3], 61, (61, 61)),
    ("list_distinct", (["a", "b", "a"],), ["a", "b"], 29, (29, 29)),
    ("list_distinct", ([],), [], 11, (11, 11)),
    ("list_distinct", ([[1, 2], [2, 1], [1, 2]],), [[1, 2], [2, 1]], 29, (29, 29)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(LISTS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(LISTS, CASES) == {each.id for each in LISTS if each.id.endswith("sortByAssociatedKeys")}


def test_a_sort_by_keys_charges_for_the_keys() -> None:
    for name in ("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp"):
        identifier = f"list_{name}_sortByAssociatedKeys"
        assert call(LISTS, identifier, ["a", "b", "c"], [3, 1, 2]) == ["b", "c", "a"]
        assert cost(LISTS, identifier, ["a", "b", "c"], [3, 1, 2]) == 29
        operands = (Written(list_of(STRING), Interval(9, 9)), Written(list_of(INT), Interval(2, 3)))
        assert estimate(LISTS, identifier, *operands) == (19, 29)
    for name in ("string", "bytes"):
        identifier = f"list_{name}_sortByAssociatedKeys"
        assert cost(LISTS, identifier, [1, 2, 3], ["b", "a", "c"]) == 29
        assert estimate(LISTS, identifier, Written(list_of(INT)), Written(list_of(STRING), Interval(3, 3))) == (30, 30)


@pytest.mark.parametrize(
    ("identifier", "operands", "estimated"),
    [
        ("list_slice", (Written(list_of(INT), Interval(0, 7)), Written(INT, value=2), Written(INT)), (16, 16)),
        ("list_slice", (Written(list_of(INT)), Written(INT, value=3), Written(INT, value=2)), (2**64 - 1, 2**64 - 1)),
        ("list_flatten_int", (Written(list_of(INT), Interval(2, 5)), Written(INT, value=3)), (17, 26)),
        ("lists_range", (Written(INT),), (2**64 - 1, 2**64 - 1)),
        ("list_distinct", (Written(list_of(INT), Interval(2, 5)),), (19, 61)),
        ("list_reverse", (Written(list_of(INT), Interval(2, 5)),), (13, 16)),
    ],
)
def test_an_estimate_follows_the_size(
    identifier: str, operands: tuple[Written, ...], estimated: tuple[int, int]
) -> None:
    assert estimate(LISTS, identifier, *operands) == estimated


def test_a_slice_begins_before_its_end() -> None:
    assert call(LISTS, "list_slice", [1, 2], 2, 1) == Refused(
        "cannot slice(2, 1), start index must be less than or equal to end index"
    )
    assert cost(LISTS, "list_slice", [1, 2], 2, 1) == 12


def test_numbers_of_several_types_are_the_same() -> None:
    assert call(LISTS, "list_distinct", [1, UInt(1), 1.0, True, "1", None, None]) == [1, True, "1", None]


def test_a_list_that_refers_to_itself_many_times_is_flattened_without_recursion() -> None:
    items: list[Any] = [1]
    for _ in range(5000):
        items = [items]
    assert call(LISTS, "list_flatten_int", items, 10_000) == [1]
