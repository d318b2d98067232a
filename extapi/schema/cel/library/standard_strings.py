"""``contains``, ``startsWith``, ``endsWith`` and ``matches``.

Source: ``github.com/google/cel-go/common/stdlib``.
"""

from __future__ import annotations

import operator
from typing import Final

from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.library.regular_expressions import matches
from extapi.schema.cel.library.standard_costs import (
    estimate_first_argument,
    estimate_pattern,
    estimate_substring,
    first_tenth,
    pattern_cost,
    substring_cost,
)

STRINGS: Final[tuple[Overload, ...]] = (
    overload(
        "contains_string",
        ".contains(string, string) -> bool",
        operator.contains,
        cost=substring_cost,
        estimate=estimate_substring,
    ),
    overload(
        "ends_with_string",
        ".endsWith(string, string) -> bool",
        str.endswith,
        cost=first_tenth,
        estimate=estimate_first_argument,
    ),
    overload(
        "starts_with_string",
        ".startsWith(string, string) -> bool",
        str.startswith,
        cost=first_tenth,
        estimate=estimate_first_argument,
    ),
    # cel-go forgot to count what the function that is no method costs.
    overload("matches", "matches(string, string) -> bool", matches),
    overload(
        "matches_string",
        ".matches(string, string) -> bool",
        matches,
        cost=pattern_cost,
        estimate=estimate_pattern,
    ),
)
"""Functions of strings."""
