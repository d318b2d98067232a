"""What the functions of the standard library cost, if it is more than one unit.

All of these costs need the arguments alone, so they can be charged before the call; none looks at the result.

Source: ``github.com/google/cel-go/interpreter`` CostTracker.costCall, ``cel-go/checker`` coster.functionCost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from extapi.schema.cel.declarations import Operand
from extapi.schema.cel.intervals import LARGEST, ONE, UNKNOWN, Interval
from extapi.schema.cel.types import (
    AUTHORIZER,
    CIDR,
    DECISION,
    GROUP_CHECK,
    IP,
    NAMED_FORMAT,
    PATH_CHECK,
    QUANTITY,
    RESOURCE_CHECK,
    SEMVER,
    URL,
)
from extapi.schema.cel.values.sizes import size_of, tenth

_TRAVERSAL: Final = 0.1
_PATTERN: Final = 0.25
"""Part of a pattern's length that counts: an expression in it has at least four characters, presumably."""
_LONGEST_FORMAT: Final = 64
_NOMINAL: Final = frozenset((QUANTITY, AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION, SEMVER, IP, CIDR))


def first_tenth(arguments: Sequence[Any], _result: Any) -> int:
    """A tenth of the first argument's size. Needs the arguments only."""
    return tenth(size_of(arguments[0]))


def both_tenth(arguments: Sequence[Any], _result: Any) -> int:
    """A tenth of both arguments' sizes. Needs the arguments only."""
    return tenth(size_of(arguments[0]) + size_of(arguments[1]))


def smaller_tenth(arguments: Sequence[Any], _result: Any) -> int:
    """A tenth of the smaller argument's size. Needs the arguments only."""
    return tenth(min(size_of(arguments[0]), size_of(arguments[1])))


def equality(arguments: Sequence[Any], _result: Any) -> int:
    """A tenth of the smaller argument's size, and 1 for Kubernetes' own values. Needs the arguments only.

    Source: ``k8s.io/apiserver/pkg/cel/library`` CostEstimator.CallCost.
    """
    left = arguments[0]
    if hasattr(left, "cel_type"):
        return 1
    return tenth(min(size_of(left), size_of(arguments[1])))


def second_size(arguments: Sequence[Any], _result: Any) -> int:
    """The second argument's size. Needs the arguments only."""
    return size_of(arguments[1])


def substring_cost(arguments: Sequence[Any], _result: Any) -> int:
    """The product of a tenth of both sizes. Needs the arguments only."""
    return tenth(size_of(arguments[0])) * tenth(size_of(arguments[1]))


def pattern_cost(arguments: Sequence[Any], _result: Any) -> int:
    """The product of the text's and the pattern's size, each in part. Needs the arguments only."""
    return tenth(1 + size_of(arguments[0])) * math.ceil(size_of(arguments[1]) * _PATTERN)


def _size(operand: Operand) -> Interval:
    """What the expression itself says of the size: cel-go asks nobody else here."""
    return operand.computed_size() or UNKNOWN


def estimate_smaller(_target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, None]:
    """A comparison: a tenth of the smaller argument's largest size."""
    largest = min(_size(arguments[0]).max, _size(arguments[1]).max)
    return Interval(1 if largest else 0, largest).scaled(_TRAVERSAL), None


def estimate_equality(target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    """``==``: Kubernetes' own values have estimates of their own.

    Source: ``k8s.io/apiserver/pkg/cel/library`` CostEstimator.EstimateCallCost.
    """
    type_ = arguments[0].type
    if type_ == arguments[1].type:
        if type_ in _NOMINAL:
            return ONE, None
        if type_ == NAMED_FORMAT:
            return Interval(1, _LONGEST_FORMAT).scaled(_TRAVERSAL), None
        if type_ == URL:
            size = arguments[1].computed_size()
            return Interval(1, size.max if size else 1).scaled(_TRAVERSAL), None
    return estimate_smaller(target, arguments)


def estimate_first_argument(_target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, None]:
    """A tenth of the first argument, which is not the receiver."""
    return _size(arguments[0]).scaled(_TRAVERSAL), None


def estimate_second_argument(_target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, None]:
    """The second argument's size."""
    return _size(arguments[1]).scaled(1), None


def estimate_to_bytes(_target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval]:
    """String to bytes: four per character at most."""
    size = _size(arguments[0])
    # Go multiplies uint64s here, and they wrap around.
    return size.scaled(_TRAVERSAL), Interval(size.min, size.max * 4 % (LARGEST + 1))


def estimate_to_string(_target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval]:
    """Bytes to string: four per character at most."""
    size = _size(arguments[0])
    return size.scaled(_TRAVERSAL), Interval(size.min // 4, size.max)


def estimate_pattern(target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, None]:
    """A match: the product of the text's and the pattern's size, each in part."""
    if target is None:
        return ONE, None
    return _size(target).plus(ONE).scaled(_TRAVERSAL).times(_size(arguments[0]).scaled(_PATTERN)), None


def estimate_substring(target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, None]:
    """``contains``: the product of a tenth of both sizes."""
    if target is None:
        return ONE, None
    return _size(target).scaled(_TRAVERSAL).times(_size(arguments[0]).scaled(_TRAVERSAL)), None


def estimate_concatenation(_target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval]:
    """Two strings or bytes."""
    size = _size(arguments[0]).plus(_size(arguments[1]))
    return size.scaled(_TRAVERSAL), size


def estimate_lists(_target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval]:
    """Two lists: nothing is copied."""
    return ONE, _size(arguments[0]).plus(_size(arguments[1]))


def estimate_choice(_target: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval]:
    """``?:`` itself is free; the estimate of its branches is elsewhere."""
    return Interval(0, 0), _size(arguments[1]).union(_size(arguments[2]))


def estimate_nothing(_target: Operand | None, _arguments: Sequence[Operand]) -> tuple[Interval, None]:
    """``&&`` and ``||``: free but for their operands, which are estimated elsewhere."""
    return Interval(0, 0), None
