"""Intervals of costs and sizes, in uint64 arithmetic that stops at the largest number.

Source: ``cel-go/checker`` CostEstimate and SizeEstimate.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

LARGEST: Final = 2**64 - 1
"""The largest cost or size. It stands for "unknown"."""
_TWO_TO_64: Final = 2.0**64


class Interval(NamedTuple):
    """The least and the most that a cost or a size can be."""

    min: int
    max: int

    def plus(self, other: Interval) -> Interval:
        """The sum of both."""
        return Interval(min(self[0] + other[0], LARGEST), min(self[1] + other[1], LARGEST))

    def times(self, other: Interval) -> Interval:
        """The product of both."""
        return Interval(min(self[0] * other[0], LARGEST), min(self[1] * other[1], LARGEST))

    def scaled(self, factor: float) -> Interval:
        """Both ends multiplied by ``factor`` and rounded up."""
        return Interval(_scaled(self[0], factor), _scaled(self[1], factor))

    def union(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self[0], other[0]), max(self[1], other[1]))


def _scaled(number: int, factor: float) -> int:
    value = float(number)
    if value > 0 and factor > 0 and value > LARGEST / factor:
        return LARGEST
    product = math.ceil(value * factor)
    return LARGEST if product >= _TWO_TO_64 else product


def fixed(number: int) -> Interval:
    """Exactly that."""
    return Interval(number, number)


NOTHING: Final = Interval(0, 0)
ONE: Final = Interval(1, 1)
UNKNOWN: Final = Interval(0, LARGEST)
