"""Which values are in a list, asked in constant time per value.

Equal values get equal fingerprints, which are hashed. Values with the same fingerprint are compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final

from extapi.schema.cel.values.equality import equal
from extapi.schema.cel.values.values import OptionalValue, UInt

_NUMBERS: Final = frozenset((int, float, UInt))
_DEEPEST: Final = 8
"""Levels of lists and maps that a fingerprint looks into."""


class Members:
    """The values that have been added."""

    __slots__ = ("_found",)

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._found: dict[Hashable, list[Any]] = {}
        for each in items:
            self.add(each)

    def add(self, value: Any) -> bool:
        """Add a value unless an equal one is there. Returns whether it has been added."""
        same = self._found.setdefault(_fingerprint(value, _DEEPEST), [])
        if any(equal(value, each) for each in same):
            return False
        same.append(value)
        return True

    def __contains__(self, value: Any) -> bool:
        same = self._found.get(_fingerprint(value, _DEEPEST))
        return same is not None and any(equal(value, each) for each in same)


def _fingerprint(value: Any, depth: int) -> Hashable:
    kind = type(value)
    if isinstance(value, (str, bytes)):
        return value
    if kind in _NUMBERS:  # numbers of different types may be equal: a large int to the double that is next to it
        return ("number", float(value))
    if isinstance(value, list):
        # Lists that are sets or maps by their schema are equal in any order, to other lists as well.
        return ("list", len(value), frozenset(_fingerprint(each, depth - 1) for each in value) if depth else None)
    if kind is dict:
        entries = frozenset((key, _fingerprint(each, depth - 1)) for key, each in value.items()) if depth else None
        return ("map", len(value), entries)
    if kind is OptionalValue:
        return ("optional", _fingerprint(value.value, depth - 1) if depth and value.present else None)
    return (kind, value)
