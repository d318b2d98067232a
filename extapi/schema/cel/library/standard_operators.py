"""The operators of CEL, without those that compare which comes first.

Logic, choice, indexing and equality are no ordinary calls: what evaluates an expression has its own way for each, and
their functions here only say so. Their types, ids and costs are here.

Source: ``github.com/google/cel-go/common/stdlib``.
"""

from __future__ import annotations

import operator
from typing import Any, Final, NoReturn

from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.library.standard_costs import (
    both_tenth,
    equality,
    estimate_choice,
    estimate_concatenation,
    estimate_equality,
    estimate_lists,
    estimate_nothing,
    estimate_second_argument,
    estimate_smaller,
    second_size,
    smaller_tenth,
)
from extapi.schema.cel.values.arithmetic import (
    add_durations,
    add_int,
    add_lists,
    add_to_duration,
    add_to_timestamp,
    add_uint,
    divide_double,
    divide_int,
    divide_uint,
    modulo_int,
    modulo_uint,
    multiply_int,
    multiply_uint,
    negate_int,
    subtract_durations,
    subtract_from_timestamp,
    subtract_int,
    subtract_timestamps,
    subtract_uint,
)
from extapi.schema.cel.values.equality import contains, equal, has_key


def elsewhere(*_arguments: Any) -> NoReturn:
    """Stand for what is not evaluated as a call.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("this operator is not evaluated as a call")


def _not_equal(left: Any, right: Any) -> bool:
    return not equal(left, right)


def _not_strictly_false(value: Any) -> bool:
    """Whether a loop goes on: an error, which is not a bool, does not end it."""
    return value if type(value) is bool else True


LOGIC: Final[tuple[Overload, ...]] = (
    overload("conditional", "_?_:_(bool, A, A) -> A", elsewhere, cost=0, estimate=estimate_choice, strict=False),
    overload("logical_and", "_&&_(bool, bool) -> bool", elsewhere, cost=0, estimate=estimate_nothing, strict=False),
    overload("logical_or", "_||_(bool, bool) -> bool", elsewhere, cost=0, estimate=estimate_nothing, strict=False),
    overload("logical_not", "!_(bool) -> bool", operator.not_),
    overload("not_strictly_false", "@not_strictly_false(bool) -> bool", _not_strictly_false, strict=False),
)
"""Logical operators."""

EQUALITY: Final[tuple[Overload, ...]] = (
    overload("equals", "_==_(A, A) -> bool", equal, cost=equality, estimate=estimate_equality),
    overload("not_equals", "_!=_(A, A) -> bool", _not_equal, cost=smaller_tenth, estimate=estimate_smaller),
)
"""Whether two values are equal."""

ARITHMETIC: Final[tuple[Overload, ...]] = (
    overload(
        "add_bytes",
        "_+_(bytes, bytes) -> bytes",
        operator.add,
        cost=both_tenth,
        estimate=estimate_concatenation,
    ),
    overload("add_double", "_+_(double, double) -> double", operator.add),
    overload("add_duration_duration", "_+_(duration, duration) -> duration", add_durations),
    overload("add_duration_timestamp", "_+_(duration, timestamp) -> timestamp", add_to_duration),
    overload("add_timestamp_duration", "_+_(timestamp, duration) -> timestamp", add_to_timestamp),
    overload("add_int64", "_+_(int, int) -> int", add_int),
    overload("add_list", "_+_(list(A), list(A)) -> list(A)", add_lists, estimate=estimate_lists),
    overload(
        "add_string",
        "_+_(string, string) -> string",
        operator.add,
        cost=both_tenth,
        estimate=estimate_concatenation,
    ),
    overload("add_uint64", "_+_(uint, uint) -> uint", add_uint),
    overload("divide_double", "_/_(double, double) -> double", divide_double),
    overload("divide_int64", "_/_(int, int) -> int", divide_int),
    overload("divide_uint64", "_/_(uint, uint) -> uint", divide_uint),
    overload("modulo_int64", "_%_(int, int) -> int", modulo_int),
    overload("modulo_uint64", "_%_(uint, uint) -> uint", modulo_uint),
    overload("multiply_double", "_*_(double, double) -> double", operator.mul),
    overload("multiply_int64", "_*_(int, int) -> int", multiply_int),
    overload("multiply_uint64", "_*_(uint, uint) -> uint", multiply_uint),
    overload("negate_double", "-_(double) -> double", operator.neg),
    overload("negate_int64", "-_(int) -> int", negate_int),
    overload("subtract_double", "_-_(double, double) -> double", operator.sub),
    overload("subtract_duration_duration", "_-_(duration, duration) -> duration", subtract_durations),
    overload("subtract_int64", "_-_(int, int) -> int", subtract_int),
    overload("subtract_timestamp_duration", "_-_(timestamp, duration) -> timestamp", subtract_from_timestamp),
    overload("subtract_timestamp_timestamp", "_-_(timestamp, timestamp) -> duration", subtract_timestamps),
    overload("subtract_uint64", "_-_(uint, uint) -> uint", subtract_uint),
)
"""Sums, quotients and the like."""

CONTAINERS: Final[tuple[Overload, ...]] = (
    overload("index_list", "_[_](list(A), int) -> A", elsewhere),
    overload("index_map", "_[_](map(A, B), A) -> B", elsewhere),
    overload(
        "in_list",
        "@in(A, list(A)) -> bool",
        contains,
        cost=second_size,
        estimate=estimate_second_argument,
    ),
    overload("in_map", "@in(A, map(A, B)) -> bool", has_key),
)
"""Elements of lists and maps."""

OPERATORS: Final[tuple[Overload, ...]] = (*LOGIC, *EQUALITY, *ARITHMETIC, *CONTAINERS)
"""All of these."""
