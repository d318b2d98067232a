"""``find`` and ``findAll``. In all versions of Kubernetes.

Source: ``k8s.io/apiserver/pkg/cel/library`` regex.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from extapi.schema.cel.declarations import Operand, Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.intervals import ONE, Interval
from extapi.schema.cel.library.charges import matching, matching_estimate
from extapi.schema.cel.library.regular_expressions import RegularExpression, compiled
from extapi.schema.cel.values.sizes import size_of


def _compiled(pattern: str) -> RegularExpression:
    try:
        return compiled(pattern)
    except ValueError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return _compiled(pattern).find(text)


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return _compiled(pattern).find_all(text, limit)


def _cost(arguments: Sequence[Any], _result: Any) -> int:
    return matching(size_of(arguments[0]), size_of(arguments[1]))


def _estimate(receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    if receiver is None:
        return ONE, None
    size = receiver.size()
    return matching_estimate(size, arguments[0].size()), Interval(0, size.max)


REGEX: Final[tuple[Overload, ...]] = (
    overload("string_find_string", ".find(string, string) -> string", _find, cost=_cost, estimate=_estimate),
    overload(
        "string_find_all_string",
        ".findAll(string, string) -> list(string)",
        _find_all,
        cost=_cost,
        estimate=_estimate,
    ),
    overload(
        "string_find_all_string_int",
        ".findAll(string, string, int) -> list(string)",
        _find_all,
        cost=_cost,
        estimate=_estimate,
    ),
)
