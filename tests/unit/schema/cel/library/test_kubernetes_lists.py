"""Kubernetes' functions of lists. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.library.kubernetes_lists import KUBERNETES_LISTS
from extapi.schema.cel.library.quantity import parse_quantity
from extapi.schema.cel.types import INT, STRING, list_of
from extapi.schema.cel.values.values import Duration, Timestamp, UInt
from tests.unit.schema.cel.library.calling import Refused, Written, call, estimate, judge, untested

CASES: list[tuple[Any, ...]] = [
    ("list_int_is_sorted_bool", ([1, 2, 2],), True, 3, (3, 3)),
    ("list_uint_is_sorted_bool", ([UInt(2), UInt(1)],), False, 2, (2, 2)),
    ("list_double_is_sorted_bool", ([1.5, float("nan"), 0.5],), True, 3, (3, 3)),
    ("list_bool_is_sorted_bool", ([False, True],), True, 2, (2, 2)),
    ("list_duration_is_sorted_bool", ([Duration(1), Duration(3)],), True, 2, (2, 2)),
    ("list_string_is_sorted_bool", (["aaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb"],), True, 2, (2, 3689348814741910530)),
    ("list_bytes_is_sorted_bool", ([b"b", b"a"],), False, 0, (2, 3689348814741910530)),
    ("list_timestamp_is_sorted_bool", ([Timestamp(1_000_000_000), Timestamp(0)],), False, 2, (2, 2)),
    ("list_int_is_sorted_bool", ([],), True, 0, (0, 0)),
    ("list_int_sum_int", ([1, -3, 5],), 3, 3, (3, 3)),
    ("list_int_sum_int", ([9223372036854775807, 1],), Refused("integer overflow"), 2, (2, 2)),
    ("list_int_sum_int", ([],), 0, 0, (0, 0)),
    ("list_uint_sum_uint", ([UInt(18446744073709551615), UInt(1)],), Refused("unsigned integer overflow"), 2, (2, 2)),
    ("list_uint_sum_uint", ([UInt(3), UInt(4)],), UInt(7), 2, (2, 2)),
    ("list_double_sum_double", ([0.1, 0.2, 0.3, 1e16, -1e16],), 0.0, 5, (5, 5)),
    ("list_duration_sum_duration", ([Duration(5), Duration(-7)],), Duration(-2), 2, (2, 2)),
    (
        "list_duration_sum_duration",
        ([Duration(9223372036854775807), Duration(1)],),
        Refused("integer overflow"),
        2,
        (2, 2),
    ),
    ("list_int_max_int", ([1, 5, 2],), 5, 3, (3, 3)),
    ("list_uint_max_uint", ([UInt(2), UInt(1)],), UInt(2), 2, (2, 2)),
    ("list_double_max_double", ([1.5, float("nan"), 0.5],), 1.5, 3, (3, 3)),
    ("list_bool_max_bool", ([False, True],), True, 2, (2, 2)),
    ("list_duration_max_duration", ([Duration(1), Duration(3)],), Duration(3), 2, (2, 2)),
    ("list_string_max_string", (["a", "bbbbbbbbbbbbbbbbbbbb"],), "bbbbbbbbbbbbbbbbbbbb", 2, (2, 3689348814741910530)),
    ("list_bytes_max_bytes", ([b"b", b"a"],), b"b", 0, (2, 3689348814741910530)),
    ("list_timestamp_max_timestamp", ([Timestamp(1_000_000_000), Timestamp(0)],), Timestamp(1000000000), 2, (2, 2)),
    ("list_int_max_int", ([],), Refused("max called on empty list"), 0, (0, 0)),
    ("list_int_min_int", ([1, 5, 2],), 1, 3, (3, 3)),
    ("list_uint_min_uint", ([UInt(2), UInt(1)],), UInt(1), 2, (2, 2)),
    ("list_double_min_double", ([1.5, float("nan"), 0.5],), 0.5, 3, (3, 3)),
    ("list_bool_min_bool", ([True, False],), False, 2, (2, 2)),
    ("list_duration_min_duration", ([Duration(1), Duration(3)],), Duration(1), 2, (2, 2)),
    ("list_string_min_string", (["bbbbbbbbbbbbbbbbbbbb", "a"],), "a", 2, (2, 3689348814741910530)),
    ("list_bytes_min_bytes", ([b"b", b"a"],), b"a", 0, (2, 3689348814741910530)),
    ("list_timestamp_min_timestamp", ([Timestamp(1_000_000_000), Timestamp(0)],), Timestamp(0), 2, (2, 2)),
    ("list_string_min_string", ([],), Refused("min called on empty list"), 0, (0, 0)),
    ("list_a_index_of_int", ([1, 2, 2], 2), 1, 3, (3, 3)),
    ("list_a_index_of_int", (["a", "b"], "c"), -1, 0, (2, 3689348814741910530)),
    ("list_a_index_of_int", ([[1], [2]], [2]), 1, 2, (2, 2)),
    ("list_a_last_index_of_int", ([1, 2, 2], 2), 2, 3, (3, 3)),
    (
        "list_a_last_index_of_int",
        (["aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"], "aaaaaaaaaaaaaaaaaaaa"),
        0,
        5,
        (2, 3689348814741910530),
    ),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(KUBERNETES_LISTS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(KUBERNETES_LISTS, CASES) == set()


@pytest.mark.parametrize(
    ("identifier", "items", "expected"),
    [
        ("list_int_is_sorted_bool", [1, "a", UInt(2)], True),
        ("list_int_is_sorted_bool", [1, UInt(3), 2.5], False),
        ("list_int_min_int", [2, 1.5, UInt(3)], 1.5),
        ("list_int_max_int", [2, "a", UInt(3)], UInt(3)),
        ("list_int_max_int", [2, None], Refused("no such overload")),
        ("list_int_max_int", [None], Refused("no such overload")),
        ("list_int_is_sorted_bool", [None], Refused("no such overload")),
        ("list_int_sum_int", [1, 1.5], Refused("no such overload")),
        ("list_double_sum_double", [1.5, 1], Refused("no such overload")),
    ],
)
def test_lists_of_several_types_have_the_order_that_their_values_have(
    identifier: str, items: list[Any], expected: Any
) -> None:
    assert call(KUBERNETES_LISTS, identifier, items) == expected


def test_a_list_of_any_size_is_estimated_by_its_elements() -> None:
    several = Written(list_of(INT), Interval(2, 5))
    assert estimate(KUBERNETES_LISTS, "list_int_sum_int", several) == (2, 5)
    assert estimate(KUBERNETES_LISTS, "list_string_min_string", Written(list_of(STRING), Interval(2, 5))) == (
        2,
        9223372036854776325,
    )


def test_values_that_cannot_be_compared_are_different() -> None:
    items = [parse_quantity("1"), parse_quantity("2")]
    assert call(KUBERNETES_LISTS, "list_a_index_of_int", items, "1") == -1
    assert call(KUBERNETES_LISTS, "list_a_last_index_of_int", items, parse_quantity("1")) == 0
