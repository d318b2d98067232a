"""The operators that compare: ``<``, ``<=``, ``>``, ``>=``.

Source: ``github.com/google/cel-go/common/stdlib``, costs in ``cel-go/interpreter`` runtimecost.go and ``cel-go/checker``
cost.go.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

from extapi.schema.cel.declarations import Cost, Estimate, Overload, overload
from extapi.schema.cel.library.standard_costs import estimate_smaller, smaller_tenth
from extapi.schema.cel.values.equality import compare

_TYPES: Final = (
    ("bool", "bool", "bool"),
    ("int64", "int", "int"),
    ("int64_double", "int", "double"),
    ("int64_uint64", "int", "uint"),
    ("uint64", "uint", "uint"),
    ("uint64_double", "uint", "double"),
    ("uint64_int64", "uint", "int"),
    ("double", "double", "double"),
    ("double_int64", "double", "int"),
    ("double_uint64", "double", "uint"),
    ("string", "string", "string"),
    ("bytes", "bytes", "bytes"),
    ("timestamp", "timestamp", "timestamp"),
    ("duration", "duration", "duration"),
)
"""Suffix of the id and the two types, in cel-go's order."""
_LONG: Final = frozenset(("string", "bytes"))
_DIRECT: Final = frozenset(
    ("bool", "int64", "uint64", "string", "bytes", "timestamp", "duration", "int64_uint64", "uint64_int64")
)
"""Types that Python orders as Go does."""


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """The comparison of numbers of which one is a double: NaN has no place, and Go rounds large ints."""

    def call(left: Any, right: Any) -> bool:
        return test(compare(left, right), 0)

    return call


def _function(symbol: str, name: str, test: Callable[[Any, Any], bool]) -> Iterable[Overload]:
    mixed = _ordered(test)
    for suffix, left, right in _TYPES:
        long = left in _LONG
        cost: Cost = smaller_tenth if long else 1
        estimate: Estimate | None = estimate_smaller if long else None
        yield overload(
            f"{name}_{suffix}",
            f"_{symbol}_({left}, {right}) -> bool",
            test if suffix in _DIRECT else mixed,
            cost=cost,
            estimate=estimate,
        )


COMPARISONS: Final[tuple[Overload, ...]] = (
    *_function("<", "less", operator.lt),
    *_function("<=", "less_equals", operator.le),
    *_function(">", "greater", operator.gt),
    *_function(">=", "greater_equals", operator.ge),
)
"""All comparisons in cel-go's order, those of different numeric types among them."""
CROSS_TYPE_COMPARISONS: Final[tuple[Overload, ...]] = tuple(
    each for each in COMPARISONS if each.arguments[0] != each.arguments[1]
)
"""Comparisons of different numeric types, which came with Kubernetes 1.28."""
SAME_TYPE_COMPARISONS: Final[tuple[Overload, ...]] = tuple(
    each for each in COMPARISONS if each.arguments[0] == each.arguments[1]
)
"""Comparisons of values of one type."""
