"""Functions of lists: ``slice``, ``flatten``, ``sort``, ``sortBy``, ``lists.range``, ``reverse`` and ``distinct``.

They are cel-go's extended lists in version 3, from Kubernetes 1.34 on. ``sortBy`` is a macro; what it expands to calls
``@sortByAssociatedKeys``. ``first`` and ``last`` are
among the functions of optional values.

Source: ``cel-go/ext`` lists.go, ``cel-go/cel`` optionalLib.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from extapi.schema.cel.declarations import Estimate, Operand, Overload, overload
from extapi.schema.cel.errors import EvaluationError, PanicError
from extapi.schema.cel.intervals import LARGEST, ONE, Interval, fixed
from extapi.schema.cel.library.charges import RunCost, difference, listing, listing_estimate, literal_int
from extapi.schema.cel.library.membership import Members
from extapi.schema.cel.library.sorting import sorted_by
from extapi.schema.cel.values.showing import go_type
from extapi.schema.cel.values.sizes import size_of
from extapi.schema.cel.values.values import type_name

_Estimated = tuple[Interval, Interval | None]

COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
"""The types that have an order, in Go's sequence."""
_IDS: Final = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}
"""Overload ids have the names that types have at run time."""


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items[start:end])


def _flatten_to(items: list[Any], depth: int) -> list[Any]:
    if not isinstance(items, list):
        raise EvaluationError(_no_flattening(items, "int"))
    return _flatten(items, depth)


def _no_flattening(value: Any, argument: str = "") -> str:
    return f"no such overload: {'map(dyn, dyn)' if isinstance(value, dict) else type_name(value)}.flatten({argument})"


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if not isinstance(items, list):
        raise EvaluationError(_no_flattening(items))
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    found: list[Any] = []
    rest = [(iter(items), depth)]
    while rest:
        several, left = rest[-1]
        for each in several:
            if left and isinstance(each, list):
                rest.append((iter(each), left - 1))
                break
            found.append(each)
        else:
            rest.pop()
    return found


def _sort(items: list[Any]) -> list[Any]:
    return sorted_by(items, items)


def _range(number: int) -> list[int]:
    return list(range(number))


def _reverse(items: list[Any]) -> list[Any]:
    return items[::-1]


def _distinct(items: list[Any]) -> list[Any]:
    found = Members()
    return [each for each in items if found.add(each)]


def _slice_cost(arguments: Sequence[Any], _result: Any) -> int:
    items, start, end = arguments
    bounds = type(start) is int and type(end) is int and 0 <= start <= end <= size_of(items)
    return listing(1, end - start if bounds else 1)


_LEAST: Final = -(2.0**63)
_PANIC: Final = "interface conversion: *types.Err is not traits.Lister: missing method Add"
"""What cel-go says if the list to be sorted is an error: it panics while it counts the cost."""


def _flatten_cost(arguments: Sequence[Any], _result: Any) -> int:
    depth = arguments[1] if len(arguments) > 1 else 1
    if type(depth) is not int:  # cel-go panics while it counts the cost
        raise PanicError(f"interface conversion: ref.Val is {go_type(depth)}, not types.Int")
    factor = float(size_of(arguments[0])) * depth
    if factor < _LEAST:
        return int(-_LEAST)  # what becomes of such a number in Go
    return (int(factor) + listing(0, 0)) & LARGEST


def _range_cost(arguments: Sequence[Any], _result: Any) -> int:
    number = arguments[0]
    return listing(1, max(number, 0) if type(number) is int else 1)


def _reverse_cost(arguments: Sequence[Any], _result: Any) -> int:
    return listing(1, size_of(arguments[0]) if isinstance(arguments[0], list) else 1)


def _self_comparison(index: int) -> RunCost:
    """Each element of that argument is compared with all.

    Source: ``cel-go/ext`` trackListSelfCompare.
    """

    def cost(arguments: Sequence[Any], _result: Any) -> int:
        items = arguments[index]
        if isinstance(items, EvaluationError):
            raise PanicError(_PANIC)
        if not isinstance(items, list) or not items:
            return listing(2, 0)
        return listing(2.1 if isinstance(items[0], (str, bytes)) else 2, len(items) ** 2)

    return cost


_DISTINCT_COST: Final = _self_comparison(0)
_ADDING: Final = (str, bytes, int, float)
"""Types of values that can be added."""


def _distinct_cost(arguments: Sequence[Any], result: Any) -> int:
    value = arguments[0]
    if not isinstance(value, (list, EvaluationError)):  # likewise
        method = "Contains" if isinstance(value, _ADDING) and not isinstance(value, bool) else "Add"
        raise PanicError(f"interface conversion: {go_type(value)} is not traits.Lister: missing method {method}")
    return _DISTINCT_COST(arguments, result)


def _slice_estimate(receiver: Operand | None, arguments: Sequence[Operand]) -> _Estimated:
    if receiver is None:
        return ONE, None
    start = literal_int(arguments[0], 0)
    end = literal_int(arguments[1], receiver.size().max)
    return listing_estimate(1, difference(end, start))


def _flatten_estimate(receiver: Operand | None, arguments: Sequence[Operand]) -> _Estimated:
    if receiver is None:
        return ONE, None
    depth = literal_int(arguments[0], LARGEST) if arguments else 1
    return listing_estimate(float(depth), receiver.size())


def _range_estimate(_receiver: Operand | None, arguments: Sequence[Operand]) -> _Estimated:
    return listing_estimate(1, fixed(literal_int(arguments[0], LARGEST)))


def _of_receiver(cost: Callable[[Interval], _Estimated]) -> Estimate:
    def estimate(receiver: Operand | None, _arguments: Sequence[Operand]) -> _Estimated:
        return cost(receiver.size()) if receiver is not None else (ONE, None)

    return estimate


def _of_keys(cost: Callable[[Interval], _Estimated]) -> Estimate:
    def estimate(_receiver: Operand | None, arguments: Sequence[Operand]) -> _Estimated:
        return cost(arguments[0].size())

    return estimate


def _square(factor: float) -> Callable[[Interval], _Estimated]:
    return lambda size: listing_estimate(factor, size.times(size))


def _factor(name: str) -> float:
    return 2.1 if name in {"string", "bytes"} else 2.0


LISTS: Final[tuple[Overload, ...]] = (
    overload("list_slice", ".slice(list(T), int, int) -> list(T)", _slice, cost=_slice_cost, estimate=_slice_estimate),
    overload(
        "list_flatten",
        ".flatten(list(list(T))) -> list(T)",
        _flatten,
        cost=_flatten_cost,
        estimate=_flatten_estimate,
        guarded=False,
    ),
    overload(
        "list_flatten_int",
        ".flatten(list(dyn), int) -> list(dyn)",
        _flatten_to,
        cost=_flatten_cost,
        estimate=_flatten_estimate,
        guarded=False,
    ),
    *(
        overload(
            f"list_{_IDS.get(name, name)}_sort",
            f".sort(list({name})) -> list({name})",
            _sort,
            cost=_self_comparison(0),
            estimate=_of_receiver(_square(_factor(name))),
        )
        for name in COMPARABLE
    ),
    *(
        overload(
            f"list_{_IDS.get(name, name)}_sortByAssociatedKeys",
            f".@sortByAssociatedKeys(list(T), list({name})) -> list(T)",
            sorted_by,
            cost=_self_comparison(1),
            estimate=_of_keys(_square(_factor(name))),
        )
        for name in COMPARABLE
    ),
    overload("lists_range", "lists.range(int) -> list(int)", _range, cost=_range_cost, estimate=_range_estimate),
    overload(
        "list_reverse",
        ".reverse(list(T)) -> list(T)",
        _reverse,
        cost=_reverse_cost,
        estimate=_of_receiver(lambda size: listing_estimate(1, size)),
    ),
    overload(
        "list_distinct",
        ".distinct(list(T)) -> list(T)",
        _distinct,
        cost=_distinct_cost,
        estimate=_of_receiver(_square(2.0)),
    ),
)
