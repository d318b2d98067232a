"""The standard library of CEL, as Kubernetes has it.

Source: ``github.com/google/cel-go/common/stdlib``.
"""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.declarations import Overload
from extapi.schema.cel.library.standard_comparisons import (
    COMPARISONS,
    CROSS_TYPE_COMPARISONS,
    SAME_TYPE_COMPARISONS,
)
from extapi.schema.cel.library.standard_conversions import CONVERSIONS, SIZES
from extapi.schema.cel.library.standard_operators import ARITHMETIC, CONTAINERS, EQUALITY, LOGIC
from extapi.schema.cel.library.standard_strings import STRINGS
from extapi.schema.cel.library.standard_times import TIMES

__all__ = ["CROSS_TYPE_COMPARISONS", "STANDARD", "STANDARD_WITH_CROSS_TYPES"]

STANDARD: Final[tuple[Overload, ...]] = (
    *LOGIC,
    *EQUALITY,
    *ARITHMETIC,
    *SAME_TYPE_COMPARISONS,
    *CONTAINERS,
    *SIZES,
    *CONVERSIONS,
    *STRINGS,
    *TIMES,
)
"""The functions that every environment has, without the comparisons of different numeric types."""

STANDARD_WITH_CROSS_TYPES: Final[tuple[Overload, ...]] = (
    *LOGIC,
    *EQUALITY,
    *ARITHMETIC,
    *COMPARISONS,
    *CONTAINERS,
    *SIZES,
    *CONVERSIONS,
    *STRINGS,
    *TIMES,
)
"""The same with them, in cel-go's order: the checker prefers what comes first."""
