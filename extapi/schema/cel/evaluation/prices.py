"""What a call has cost, whether its overload is known or only found at run time.

Source: ``cel-go/interpreter`` runtimecost.go, ``k8s.io/apiserver/pkg/cel/library`` CostEstimator.CallCost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from extapi.schema.cel.declarations import Cost, Overload
from extapi.schema.cel.syntax.nodes import Call, Literal
from extapi.schema.cel.values.values import UInt

PRICED_BY_NAME: Final = frozenset(
    """
    check serviceAccount path group resource subresource namespace name allowed reason error errored fieldSelector
    labelSelector isSorted sum max min indexOf lastIndexOf url lowerAscii upperAscii substring trim replace split join
    find findAll cidr isIP isCIDR ip ip.isCanonical masked prefixLength family isUnspecified isLoopback
    isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast containsIP containsCIDR quantity isQuantity semver
    isSemver validate format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add
    sub major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery _==_ _!=_
    """.split()  # noqa: SIM905 - a list has a line per name
)
"""Functions that have a price even if it is not known before which overload is called."""

_UNDERPRICED: Final = frozenset(
    """
    isSorted sum max min indexOf lastIndexOf contains distinct sort flatten slice reverse sets.contains
    sets.intersects sets.equivalent lists.range @sortByAssociatedKeys join split replace findAll format
    """.split()  # noqa: SIM905 - likewise
)
"""Functions that can take much longer than their price says."""

_PRIMITIVES: Final = frozenset({bool, float, int, str, UInt})
CONSTANT_PATTERNS: Final = frozenset({"matches", "find", "findAll"})
"""Functions with a pattern, which is compiled once if it is a literal."""


_PARTICULAR: Final = frozenset({"cidr_ip", "cidr_contains_ip_string", "cidr_contains_cidr_string"})
"""Overloads with a price of their own, which only they have."""


def is_underpriced(node: Call) -> bool:
    """Whether a call can take much longer than its price says, so that the clock is looked at after it."""
    if node.function == "_+_":
        return any(each.id == "add_list" for each in node.overloads)  # sums of strings cost what they take
    return node.function in _UNDERPRICED


def priced(overloads: Sequence[Overload]) -> Cost:
    """The price of a call whose overload is one of several: that of the function."""
    if len(overloads) == 1:
        return overloads[0].cost
    return next((each.cost for each in overloads if each.id not in _PARTICULAR), overloads[0].cost)


def call_cost(node: Call, arguments: Sequence[Any], result: Any) -> int:
    """The cost of a call without its arguments."""
    overloads = node.overloads
    if len(overloads) != 1 and node.function not in PRICED_BY_NAME:
        return 1
    cost = priced(overloads)
    return cost if isinstance(cost, int) else cost(arguments, result)


def is_constant_set(node: Call) -> bool:
    """Whether a call of ``in`` asks for a member of a list of literals, which is free."""
    within = node.args[1]
    return (
        isinstance(within, Literal)
        and len(node.overloads) == 1
        and node.overloads[0].id == "in_list"
        and all(type(each) in _PRIMITIVES for each in within.value)
    )


def constant_pattern(node: Call) -> bool:
    """Whether a call has a regular expression that is written as a literal.

    cel-go compiles it once, and then evaluates arguments one by one until one fails.
    """
    if node.function not in CONSTANT_PATTERNS:
        return False
    pattern = node.args[0] if node.target is not None else node.args[1]
    return isinstance(pattern, Literal) and type(pattern.value) is str


_SINGLETONS: Final = frozenset(
    """
    _+_ _-_ _*_ _/_ _%_ -_ _<_ _<=_ _>_ _>=_ @in !_ size type dyn matches sort @sortByAssociatedKeys
    """.split()  # noqa: SIM905 - likewise
)
"""Functions that are one piece of Go for all overloads."""
_PLANNED: Final = 2
"""Up to so many arguments, cel-go has a plan of its own for a call."""


def stops_at_error(node: Call, count: int) -> bool:
    """Whether the arguments after one that failed are not evaluated.

    cel-go evaluates both operands of a sum, but goes through the arguments of a call one by one if there are three, if it
    looks for the overload only then, or if it has compiled a pattern.
    """
    if count > _PLANNED or constant_pattern(node):
        return True
    return len(node.overloads) != 1 and node.function not in _SINGLETONS
