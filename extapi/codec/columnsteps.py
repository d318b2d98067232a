"""The steps of a path that :mod:`extapi.codec.columnpath` reads: each finds results in those of the step before.

Source: ``k8s.io/client-go/util/jsonpath``, and for comparisons ``third_party/forked/golang/template``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

MISSING: Final[Any] = object()
"""No result, where None is one (a JSON null)."""
MAX_RESULTS: Final = 10_000
"""Results of one step. Repeated descent could find each value many times; a path with more has no result at all."""
INT64: Final = range(-(2**63), 2**63)

Step: TypeAlias = Callable[[Sequence[Any]], list[Any]]
"""Finds the results of one step in those of the step before."""


class StepError(Exception):
    """The path does not fit the object; the cell stays empty. ``found``: what Go's function returns beside its error."""

    def __init__(self, found: Sequence[Any] = ()) -> None:
        super().__init__()
        self.found = found


class Byte(str):
    """What Go finds inside of a text: a number that is printed, but is none of JSON's."""

    __slots__ = ()


def walk(steps: Sequence[Step], values: list[Any]) -> list[Any]:
    """The results of several steps.

    Raises:
        StepError: A step does not fit the values, or finds too much.
    """
    for step in steps:
        values = step(values)
        if len(values) > MAX_RESULTS:
            raise StepError
    return values


def constant(text: str) -> Step:
    """Text of the template."""
    return lambda _values: [text]


def literal(value: Any) -> Step:
    """A number or truth value, once per result before."""
    return lambda values: [value] * len(values)


def failing(values: Sequence[Any]) -> list[Any]:
    """A word that is no value.

    Raises:
        StepError: Always.
    """
    raise StepError(values)


def field(name: str) -> Step:
    """The members called ``name``."""
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _inside(value: Any) -> list[Any]:
    """What is directly inside of a value."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list):
        return value
    return [Byte(byte) for byte in value.encode()[: MAX_RESULTS + 1]] if type(value) is str else []


def children(values: Sequence[Any]) -> list[Any]:
    """All that is directly inside.

    Raises:
        StepError: That is too much.
    """
    found: list[Any] = []
    for value in values:
        found += _inside(value)
        if len(found) > MAX_RESULTS:
            raise StepError
    return found


def descend(values: Sequence[Any]) -> list[Any]:
    """All values that have something inside, from the outside in.

    Raises:
        StepError: They are too many.
    """
    found: list[Any] = []
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if not value or isinstance(value, Byte) or not isinstance(value, dict | list | str):
            continue
        found.append(value)
        if len(found) > MAX_RESULTS:
            raise StepError
        if not isinstance(value, str):
            waiting += reversed(_inside(value))
    return found


def union(lists: Sequence[Sequence[Step]]) -> Step:
    """The results of several paths, one after the other."""

    def step(values: Sequence[Any]) -> list[Any]:
        try:
            return [found for nodes in lists for found in walk(nodes, list(values))]
        except StepError:
            raise StepError(values) from None

    return step


def slice_step(start: int | None, stop: Any, every: Any) -> Step:
    """Items of lists. Without any colon it is an index; one that the list does not have is an error."""

    def step(values: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise StepError(values)
            size = len(value)
            low = 0 if start is None else start
            high = low + 1 if stop is MISSING else size if stop is None else stop
            low = low + size if low < 0 else low
            if high < 0 or (high == 0 and stop is MISSING):
                high += size
            if low == high:
                return found  # not those of the other lists
            if not (0 <= low < size and 0 <= high <= size and low <= high):
                raise StepError(values)
            stride = 1 if every is MISSING or every is None else every
            if stride <= 0:
                raise StepError(values)
            found += value[low:high:stride]
        return found

    return step


def exists(path: Sequence[Step]) -> Step:
    """The items in which a path has results."""

    def has(item: Any) -> bool:
        try:
            return bool(walk(path, [item]))
        except StepError as error:
            return bool(error.found)  # client-go looks at these only

    return _filtered(has)


def compared(left: Sequence[Step], name: str, right: Sequence[Step]) -> Step:
    """The items in which two paths have one result each, and these compare as ``name`` says."""
    compare = _COMPARE.get(name)

    def keep(item: Any) -> bool:
        pair = []
        for path in (left, right):
            found = walk(path, [item])
            if not found:
                return False
            if len(found) > 1:
                raise StepError
            pair.append(found[0])
        if compare is None:
            raise StepError
        return _ordered(name, pair[0], pair[1]) and compare(pair[0], pair[1])

    return _filtered(keep)


_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _ordered(name: str, left: Any, right: Any) -> bool:
    """True if two values can be compared: those of one type, and no truth values by size."""
    kind = _kind(left)
    if not kind or kind != _kind(right) or (kind == "bool" and name not in ("==", "!=")):
        raise StepError
    return True


def _kind(value: Any) -> str:
    """The type that Go has the value in; empty if it cannot be compared."""
    if isinstance(value, int) and not isinstance(value, bool):
        return "int" if value in INT64 else "float"
    return type(value).__name__ if isinstance(value, bool | float | str) else ""


def _filtered(keep: Callable[[Any], bool]) -> Step:
    def step(values: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if not isinstance(value, list):
                raise StepError(values)
            found += [item for item in value if keep(item)]
        return found

    return step
