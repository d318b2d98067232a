"""``sets.contains``, ``sets.equivalent`` and ``sets.intersects``, of two lists. From Kubernetes 1.29 on.

They cost the product of both sizes, and take linear time.

Source: ``cel-go/ext`` sets.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from extapi.schema.cel.declarations import Cost, Estimate, Operand, Overload, overload
from extapi.schema.cel.intervals import ONE, Interval
from extapi.schema.cel.library.membership import Members
from extapi.schema.cel.values.sizes import size_of


def _contains(members: list[Any], part: list[Any]) -> bool:
    found = Members(members)
    return all(each in found for each in part)


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    found = Members(right)
    return any(each in found for each in left)


def _cost(factor: int) -> Cost:
    def cost(arguments: Sequence[Any], _result: Any) -> int:
        return 1 + size_of(arguments[0]) * size_of(arguments[1]) * factor

    return cost


def _estimate(factor: int) -> Estimate:
    def estimate(_receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
        return arguments[0].size().times(arguments[1].size()).scaled(factor).plus(ONE), None

    return estimate


SETS: Final[tuple[Overload, ...]] = (
    overload(
        "list_sets_contains_list",
        "sets.contains(list(T), list(T)) -> bool",
        _contains,
        cost=_cost(1),
        estimate=_estimate(1),
    ),
    overload(
        "list_sets_equivalent_list",
        "sets.equivalent(list(T), list(T)) -> bool",
        _equivalent,
        cost=_cost(2),
        estimate=_estimate(2),
    ),
    overload(
        "list_sets_intersects_list",
        "sets.intersects(list(T), list(T)) -> bool",
        _intersects,
        cost=_cost(1),
        estimate=_estimate(1),
    ),
)
