"""Kubernetes' functions of lists: ``isSorted``, ``sum``, ``min``, ``max``, ``indexOf`` and ``lastIndexOf``.

In all versions of Kubernetes.

Source: ``k8s.io/apiserver/pkg/cel/library`` lists.go.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from extapi.schema.cel.declarations import Call, Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.charges import deep_walk, deep_walk_estimate
from extapi.schema.cel.library.lists import COMPARABLE
from extapi.schema.cel.library.sorting import ORDERED
from extapi.schema.cel.values.equality import NO_SUCH_OVERLOAD, certainly_equal, compare
from extapi.schema.cel.values.values import INT_MAX, INT_MIN, UINT_MAX, Duration, UInt


def _is_sorted(items: list[Any]) -> bool:
    if len(set(map(type, items))) <= 1:
        if items and type(items[0]) not in ORDERED:
            raise EvaluationError(NO_SUCH_OVERLOAD)
        return not any(map(operator.gt, items, islice(items, 1, None)))
    for index, each in enumerate(items):
        if type(each) not in ORDERED:
            raise EvaluationError(NO_SUCH_OVERLOAD)
        if index and _compared(items[index - 1], each) == 1:
            return False
    return True


def _compared(left: Any, right: Any) -> int | None:
    """Their order; None if they have none, which Go ignores."""
    try:
        return compare(left, right)
    except EvaluationError:
        return None


def _extreme(name: str, native: Callable[[list[Any]], Any], replaces: int) -> Call:
    def extreme(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        kinds = set(map(type, items))
        if not kinds <= ORDERED:
            raise EvaluationError(NO_SUCH_OVERLOAD)
        if len(kinds) == 1:
            return native(items)
        found = items[0]
        for each in items:
            if _compared(found, each) == replaces:
                found = each
        return found

    return extreme


def _sum(of: type[int], least: int, most: int, overflow: str) -> Call:
    def total(items: list[Any]) -> Any:
        found = 0
        for each in items:
            if type(each) is not of:
                raise EvaluationError(NO_SUCH_OVERLOAD)
            found += each
            if not least <= found <= most:
                raise EvaluationError(overflow)
        return of(found)

    return total


def _sum_doubles(items: list[Any]) -> float:
    found = 0.0
    for each in items:  # Python's sum is more exact than adding one by one
        if type(each) is not float:
            raise EvaluationError(NO_SUCH_OVERLOAD)
        found += each
    return found


def _index_of(items: list[Any], item: Any) -> int:
    for index, each in enumerate(items):
        if certainly_equal(each, item):
            return index
    return -1


def _last_index_of(items: list[Any], item: Any) -> int:
    for index in range(len(items) - 1, -1, -1):
        if certainly_equal(items[index], item):
            return index
    return -1


_SUMS: Final[dict[str, Call]] = {
    "int": _sum(int, INT_MIN, INT_MAX, "integer overflow"),
    "uint": _sum(UInt, 0, UINT_MAX, "unsigned integer overflow"),
    "double": _sum_doubles,
    "duration": _sum(Duration, INT_MIN, INT_MAX, "integer overflow"),
}


def _declared(identifier: str, signature: str, call: Call) -> Overload:
    return overload(identifier, signature, call, cost=deep_walk, estimate=deep_walk_estimate)


KUBERNETES_LISTS: Final[tuple[Overload, ...]] = (
    *(_declared(f"list_{name}_is_sorted_bool", f".isSorted(list({name})) -> bool", _is_sorted) for name in COMPARABLE),
    *(_declared(f"list_{name}_sum_{name}", f".sum(list({name})) -> {name}", call) for name, call in _SUMS.items()),
    *(
        _declared(f"list_{name}_max_{name}", f".max(list({name})) -> {name}", _extreme("max", max, -1))
        for name in COMPARABLE
    ),
    *(
        _declared(f"list_{name}_min_{name}", f".min(list({name})) -> {name}", _extreme("min", min, 1))
        for name in COMPARABLE
    ),
    _declared("list_a_index_of_int", ".indexOf(list(A), A) -> int", _index_of),
    _declared("list_a_last_index_of_int", ".lastIndexOf(list(A), A) -> int", _last_index_of),
)
