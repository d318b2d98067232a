"""Which overload of a function fits values, where the checker could not tell.

Source: ``github.com/google/cel-go/common/decls`` OverloadDecl.matchesRuntimeSignature and MaybeNoSuchOverload,
``cel-go/interpreter`` evalUnary and evalBinary, ``cel-go/common/types`` Type.IsAssignableRuntimeType.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.types import Type
from extapi.schema.cel.values.arithmetic import negate_int
from extapi.schema.cel.values.equality import compare
from extapi.schema.cel.values.values import Duration, type_name

_ANY: Final = frozenset(("dyn", "parameter"))
_ADD: Final = frozenset(
    ("bytes", "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int", "list", "string", "uint")
)
_COMPARE: Final = frozenset(
    ("bool", "bytes", "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int", "string", "uint")
)
_MULTIPLY: Final = frozenset(("double", "int", "uint"))
_TRAITS: Final[Mapping[str, frozenset[str]]] = {
    "_+_": _ADD,
    "_-_": frozenset(("double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int", "uint")),
    "_*_": _MULTIPLY,
    "_/_": _MULTIPLY,
    "_%_": frozenset(("int", "uint")),
    "-_": frozenset(("bool", "double", "google.protobuf.Duration", "int")),
    "_<_": _COMPARE,
    "_<=_": _COMPARE,
    "_>_": _COMPARE,
    "_>=_": _COMPARE,
    "sort": frozenset(("list",)),
    "@sortByAssociatedKeys": frozenset(("list",)),
    "size": frozenset(("bytes", "list", "map", "string")),
    "matches": frozenset(("string",)),
}
"""Functions that cel-go asks of the first argument's type: what types have an answer."""
_PATTERNS: Final = frozenset(("matches", "find", "findAll"))
_SINGLETONS: Final = frozenset(("sort", "@sortByAssociatedKeys"))
"""Functions whose overloads all do the same, so that cel-go asks only whether the first argument is a list."""
_ORDERING: Final = frozenset(("_<_", "_<=_", "_>_", "_>=_"))
_RECEIVERS: Final = frozenset(("google.protobuf.Duration", "google.protobuf.Timestamp", "string"))
"""Types that cel-go asks in another way then, so that the error says less."""
_UNGUARDED: Final = frozenset(("!_", "@in", "contains", "endsWith", "startsWith"))
"""Functions that look at types themselves, and say nothing about them."""


def _negate_duration(value: int) -> Duration:
    return Duration(negate_int(value))


def _comparison(function: str, test: Callable[[int, int], bool]) -> Overload:
    def call(left: Any, right: Any) -> bool:
        return test(compare(left, right), 0)

    return overload("", f"{function}(dyn, dyn) -> bool", call)


_UNDECLARED: Final[tuple[Overload, ...]] = (
    overload("", "-_(duration) -> duration", _negate_duration),
    _comparison("_<_", operator.lt),
    _comparison("_<=_", operator.le),
    _comparison("_>_", operator.gt),
    _comparison("_>=_", operator.ge),
)
"""What works in cel-go although it is not declared, since it asks the value."""


def matches(candidate: Overload, values: Sequence[Any]) -> bool:
    """Whether values have the types of an overload. Of a list or map only the first element is looked at."""
    arguments = candidate.arguments
    return len(arguments) == len(values) and (not candidate.guarded or all(map(_fits, arguments, values)))


def _fits(type_: Type, value: Any) -> bool:
    if type_.kind in _ANY:
        return True
    if type_.name != type_name(value):
        return False
    if type_.kind == "list":
        return not value or _fits(type_.parameters[0], next(iter(value)))
    if type_.kind == "map":
        if not value:
            return True
        key, element = next(iter(value.items()))
        return _fits(type_.parameters[0], key) and _fits(type_.parameters[1], element)
    return True


def dispatch(candidates: Sequence[Overload], values: Sequence[Any]) -> Overload:
    """The first overload that fits.

    Args:
        candidates: Overloads of one function, at least one, in the order of their declaration.
        values: The arguments, receiver first.

    Raises:
        EvaluationError: None fits.
    """
    if candidates[0].function in _SINGLETONS and isinstance(values[0], list):
        return candidates[0]
    for candidate in candidates:
        if matches(candidate, values):
            return candidate
    function = candidates[0].function
    for candidate in _UNDECLARED:
        if candidate.function == function and matches(candidate, values) and _are_comparable(*map(type_name, values)):
            return candidate
    raise EvaluationError(_no_such_overload(function, values))


def _are_comparable(first: str, second: str = "") -> bool:
    return first in _COMPARE and second in {first, ""}


def _no_such_overload(function: str, values: Sequence[Any]) -> str:
    if function in _UNGUARDED or (function in _PATTERNS and type(values[1]) is str):
        # A pattern that is a constant, as nearly all are, has been compiled, and asks nobody's type.
        return "no such overload"
    if function in _ORDERING and type(values[0]) is float and math.isnan(values[0]):
        return "NaN values cannot be ordered"
    names = list(map(type_name, values))
    able = _TRAITS.get(function)
    if able is None:
        return f"no such overload: {function}({', '.join(names)})"
    if names[0] in able or names[0] in _RECEIVERS:
        return "no such overload"
    return f"no such overload: {function}"
