"""Costs and estimates, as cel-go counts them for literals of these sizes in the environment of Kubernetes 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.declarations import NOT_LITERAL, Operand, Overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.intervals import LARGEST, ONE, UNKNOWN, Interval, fixed
from extapi.schema.cel.library.standard import STANDARD_WITH_CROSS_TYPES
from extapi.schema.cel.types import IP, NAMED_FORMAT, QUANTITY, STRING, URL, Type, list_of

BY_ID = {each.id: each for each in STANDARD_WITH_CROSS_TYPES}
UNLIMITED = Interval(1, LARGEST).scaled(0.1)


class Sized:
    """An operand of a known size, or of an unknown one."""

    def __init__(self, size: Interval | None, type_: Type = STRING) -> None:
        self.type = type_
        self._size = size

    def size(self) -> Interval:
        raise AssertionError("cel-go asks the expression alone")

    def computed_size(self) -> Interval | None:
        return self._size

    def element(self) -> Operand | None:
        return None

    def literal(self) -> Any:
        return NOT_LITERAL


def cost(overload: Overload, *arguments: Any) -> int:
    return overload.cost if isinstance(overload.cost, int) else overload.cost(arguments, None)


def estimate(overload: Overload, *operands: Operand) -> tuple[Interval, Interval | None]:
    if overload.estimate is None:
        return ONE, None
    return overload.estimate(operands[0], operands[1:]) if overload.member else overload.estimate(None, operands)


@pytest.mark.parametrize(
    ("identifier", "first", "second", "expected", "estimated"),
    [
        ("add_string", 0, 0, 0, (0, 0)),
        ("add_string", 1, 0, 1, (1, 1)),
        ("add_string", 10, 11, 3, (3, 3)),
        ("add_string", 101, 1000, 111, (111, 111)),
        ("less_string", 0, 0, 0, (0, 0)),
        ("less_string", 10, 11, 1, (1, 1)),
        ("less_string", 101, 1000, 11, (1, 11)),
        ("greater_equals_string", 1000, 33, 4, (1, 4)),
        ("equals", 1, 0, 0, (0, 0)),
        ("equals", 101, 1000, 11, (1, 11)),
        ("not_equals", 1000, 33, 4, (1, 4)),
        ("contains_string", 0, 1, 0, (0, 0)),
        ("contains_string", 10, 11, 2, (2, 2)),
        ("contains_string", 101, 1000, 1100, (1100, 1100)),
        ("starts_with_string", 0, 1, 0, (1, 1)),
        ("starts_with_string", 101, 1000, 11, (100, 100)),
        ("ends_with_string", 1000, 33, 100, (4, 4)),
        ("matches_string", 0, 0, 0, (0, 0)),
        ("matches_string", 0, 1, 1, (1, 1)),
        ("matches_string", 10, 11, 6, (6, 6)),
        ("matches_string", 101, 1000, 2750, (2750, 2750)),
        ("matches", 101, 1000, 1, (1, 1)),
    ],
)
def test_strings(identifier: str, first: int, second: int, expected: int, estimated: tuple[int, int]) -> None:
    overload = BY_ID[identifier]
    assert cost(overload, "x" * first, "y" * second) == expected
    assert estimate(overload, Sized(fixed(first)), Sized(fixed(second)))[0] == estimated


def test_code_points_count() -> None:
    assert cost(BY_ID["string_to_bytes"], "\u00e9" * 21) == 3
    assert cost(BY_ID["bytes_to_string"], "\u00e9".encode() * 21) == 5


def test_sizes_of_conversions() -> None:
    assert estimate(BY_ID["string_to_bytes"], Sized(Interval(3, 11))) == ((1, 2), (3, 44))
    assert estimate(BY_ID["bytes_to_string"], Sized(Interval(3, 11))) == ((1, 2), (0, 11))


def test_four_times_an_unknown_size_overflows_as_in_go() -> None:
    assert estimate(BY_ID["string_to_bytes"], Sized(None))[1] == (0, LARGEST - 3)


def test_lists() -> None:
    assert cost(BY_ID["in_list"], "a", ["b"] * 25) == 25
    assert estimate(BY_ID["in_list"], Sized(fixed(1)), Sized(fixed(25)))[0] == (25, 25)
    assert cost(BY_ID["add_list"], ["a"], ["b"] * 25) == 1
    assert estimate(BY_ID["add_list"], Sized(fixed(1)), Sized(Interval(0, 25))) == (ONE, (1, 26))


def test_a_failed_argument_counts_as_one() -> None:
    failed = EvaluationError("no such key: k")
    assert cost(BY_ID["add_string"], failed, "x" * 10) == 2
    assert cost(BY_ID["in_list"], "x", failed) == 1
    assert cost(BY_ID["equals"], failed, "x" * 100) == 1


def test_the_size_of_a_sum_is_the_sum_of_the_sizes() -> None:
    assert estimate(BY_ID["add_string"], Sized(Interval(1, 5)), Sized(Interval(2, 6))) == ((1, 2), (3, 11))
    assert estimate(BY_ID["add_string"], Sized(None), Sized(fixed(1)))[1] == (1, LARGEST)


def test_logic_is_free_and_a_choice_is_as_large_as_its_branches() -> None:
    assert estimate(BY_ID["logical_and"], Sized(ONE), Sized(ONE))[0] == (0, 0)
    assert estimate(BY_ID["conditional"], Sized(ONE), Sized(fixed(2)), Sized(fixed(9))) == ((0, 0), (2, 9))


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (QUANTITY, (1, 1)),
        (IP, (1, 1)),
        (NAMED_FORMAT, (1, 7)),
        (URL, (1, 1)),
        (list_of(STRING), UNLIMITED),
    ],
)
def test_equality_of_kubernetes_values(type_: Type, expected: tuple[int, int]) -> None:
    assert estimate(BY_ID["equals"], Sized(None, type_), Sized(None, type_))[0] == expected


def test_inequality_has_no_estimate_of_its_own() -> None:
    assert estimate(BY_ID["not_equals"], Sized(None, QUANTITY), Sized(None, QUANTITY))[0] == UNLIMITED


def test_equality_of_kubernetes_values_costs_one() -> None:
    class Value:
        cel_type = IP

        def cel_size(self) -> int:
            return 16

    assert cost(BY_ID["equals"], Value(), Value()) == 1
    assert cost(BY_ID["not_equals"], Value(), Value()) == 2


def test_unknown_sizes_stay_unknown() -> None:
    overload = BY_ID["starts_with_string"]
    assert estimate(overload, Sized(fixed(3)), Sized(None))[0] == UNKNOWN.scaled(0.1)
