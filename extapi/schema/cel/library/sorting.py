"""Sorting in the order of keys, with the results of Go's ``sort.Slice``.

Go's algorithm is not stable: equal keys come in the order that its steps leave. So lists with equal keys go through the
same steps; all others are sorted by Python.

Source: ``cel-go/ext`` sortListByAssociatedKeys, ``sort`` zsortfunc.go.
"""

from __future__ import annotations

import operator
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.pdqsort import INSERTION_LENGTH, sorted_order
from extapi.schema.cel.values.values import Duration, Timestamp, UInt

ORDERED: Final = frozenset((bool, int, UInt, float, str, bytes, Duration, Timestamp))
"""Types whose values have an order."""


def sorted_by(items: list[Any], keys: list[Any]) -> list[Any]:
    """The items in the order of their keys.

    Raises:
        EvaluationError: There are not as many keys as items, or they have no order, or different types.
    """
    if len(items) != len(keys):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got "
            f"{len(items)} and {len(keys)} elements respectively"
        )
    if not items:
        return items
    kind = type(keys[0])
    if kind not in ORDERED:
        raise EvaluationError("list elements must be comparable")
    if any(type(each) is not kind for each in keys):
        raise EvaluationError("list elements must have the same type")
    order = sorted(range(len(keys)), key=keys.__getitem__) if _keeps_ties(keys) else sorted_order(keys)
    return [items[index] for index in order]


def _keeps_ties(keys: list[Any]) -> bool:
    """Whether a stable sort does as Go does: the list is short, or no two keys are equal. NaN has no place at all."""
    if not all(map(operator.eq, keys, keys)):
        return False
    return len(keys) <= INSERTION_LENGTH or len(set(keys)) == len(keys)
