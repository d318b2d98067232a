"""What calls cost that walk through text, lists or a regular expression: at run time, and before.

Costs are functions of the arguments only, never of the result. So whoever runs a call can charge for it first.

Source: ``k8s.io/apiserver/pkg/cel/library`` CostEstimator, ``cel-go/ext`` lists.go and sets.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from extapi.schema.cel.declarations import NOT_LITERAL, Estimate, Operand
from extapi.schema.cel.intervals import LARGEST, ONE, Interval, fixed
from extapi.schema.cel.values.sizes import size_of, tenth, traversal

LIST: Final = 10
"""What it costs to make a list (``cel-go/common`` ListCreateBaseCost)."""
STRUCT: Final = 40
"""What it costs to make an object (``cel-go/common`` StructCreateBaseCost)."""
_PER_CHARACTER: Final = 0.1
_PER_PATTERN_CHARACTER: Final = 0.25

RunCost = Callable[[Sequence[Any], Any], int]


def first_of(receiver: Operand | None, arguments: Sequence[Operand]) -> Operand:
    """The receiver, or the first argument of a function without one."""
    return arguments[0] if receiver is None else receiver


def walk(times: int = 1) -> RunCost:
    """The first argument is walked through that often."""

    def cost(arguments: Sequence[Any], _result: Any) -> int:
        return tenth(size_of(arguments[0]) * times)

    return cost


def walk_estimate(times: int = 1, *, sized: bool = False) -> Estimate:
    """The same, before. With ``sized``, the result is as large as what is walked through."""
    factor = times * _PER_CHARACTER

    def estimate(receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
        size = first_of(receiver, arguments).size()
        return size.scaled(factor), size if sized else None

    return estimate


def deep_walk(arguments: Sequence[Any], _result: Any) -> int:
    """The first argument is walked through, its strings and elements too."""
    return traversal(arguments[0])


def deep_walk_estimate(receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    """The same, before: each element of a list costs 1, and one of text what its size says."""
    first = first_of(receiver, arguments)
    element = first.element()
    if element is None:
        return first.size().scaled(_PER_CHARACTER), None
    each = ONE
    if element.type.kind in {"string", "bytes"}:
        each = each.plus(element.size().scaled(_PER_CHARACTER))
    return first.size().times(each), None


def matching(size: int, pattern: int) -> int:
    """A text is matched against a pattern, both of that size.

    One is added to the size of the text, so that an empty text does not make an expensive pattern free.
    """
    return math.ceil((1.0 + size) * _PER_CHARACTER) * math.ceil(pattern * _PER_PATTERN_CHARACTER)


def matching_estimate(size: Interval, pattern: Interval) -> Interval:
    """The same, before."""
    return size.plus(ONE).scaled(_PER_CHARACTER).times(pattern.scaled(_PER_PATTERN_CHARACTER))


def listing(factor: float, size: int) -> int:
    """A list is made, at ``factor`` per element."""
    return int(size * factor) + 1 + LIST


def listing_estimate(factor: float, size: Interval) -> tuple[Interval, Interval]:
    """The same, before; the size of the result is ``size``.

    Source: ``cel-go/ext`` estimateAllocatingListCall.
    """
    return size.scaled(factor).plus(fixed(1 + LIST)), size


def literal_int(operand: Operand, otherwise: int) -> int:
    """The value of an int literal as a size, and 0 for one below; ``otherwise`` for all else.

    Source: ``cel-go/ext`` nodeAsIntValue.
    """
    value = operand.literal()
    if value is NOT_LITERAL or type(value) is not int:
        return otherwise
    return max(value, 0)


def difference(end: int, start: int) -> Interval:
    """That many, in uint64 arithmetic: below 0 it begins again at the largest number, as it does in Go."""
    return fixed((end - start) & LARGEST)
