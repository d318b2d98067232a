"""Which values are in a list, asked in constant time per value.

Equal values get equal fingerprints, which are hashed. Values with the same fingerprint are compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final

from extapi.schema.cel.values.equality import certainly_equal
from extapi.schema.cel.values.values import MapList, OptionalValue, SetList, UInt

_NUMBERS: Final = frozenset((int, float, UInt))
_DEEPEST: Final = 64
"""Levels of lists and maps that a fingerprint looks into."""


class Members:
    """The values that have been added.

    Lists that are sets or maps by their schema are equal to other lists in any order. They are kept apart, with
    fingerprints that know no order, so that the order may tell all others apart.
    """

    __slots__ = ("_plain", "_special", "_unordered")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._plain: dict[Hashable, list[Any]] = {}
        self._special: dict[Hashable, list[Any]] = {}
        self._unordered: dict[Hashable, list[Any]] | None = None
        for each in items:
            self.add(each)

    def add(self, value: Any) -> bool:
        """Add a value unless an equal one is there. Returns whether it has been added."""
        if value in self:
            return False
        key = _ordered(value)
        if key is None:
            self._special.setdefault(_fingerprint(value, _DEEPEST, ordered=False), []).append(value)
        else:
            self._plain.setdefault(key, []).append(value)
            if self._unordered is not None:
                self._unordered.setdefault(_fingerprint(value, _DEEPEST, ordered=False), []).append(value)
        return True

    def __contains__(self, value: Any) -> bool:
        key = _ordered(value)
        if key is not None and _is_among(value, self._plain.get(key)):
            return True
        if key is not None and not self._special:
            return False
        unordered = _fingerprint(value, _DEEPEST, ordered=False)
        return _is_among(value, self._special.get(unordered)) or (
            key is None and _is_among(value, self._by_content().get(unordered))
        )

    def _by_content(self) -> dict[Hashable, list[Any]]:
        """The plain values by fingerprints without order, made when they are first needed."""
        if self._unordered is None:
            self._unordered = {}
            for several in self._plain.values():
                for each in several:
                    self._unordered.setdefault(_fingerprint(each, _DEEPEST, ordered=False), []).append(each)
        return self._unordered


class _UnorderedError(Exception):
    """A list whose order does not count is part of the value."""


def _is_among(value: Any, several: list[Any] | None) -> bool:
    return several is not None and any(certainly_equal(value, each) for each in several)


def _ordered(value: Any) -> Hashable | None:
    """The fingerprint in which order counts; None if it may not."""
    try:
        return _fingerprint(value, _DEEPEST, ordered=True)
    except _UnorderedError:
        return None


def _fingerprint(value: Any, depth: int, *, ordered: bool) -> Hashable:
    kind = type(value)
    if isinstance(value, (str, bytes)):
        return value
    if kind in _NUMBERS:  # numbers of different types may be equal: a large int to the double that is next to it
        return ("number", float(value))
    if isinstance(value, list):
        if ordered and isinstance(value, (SetList, MapList)):
            raise _UnorderedError
        parts = (_fingerprint(each, depth - 1, ordered=ordered) for each in value) if depth else ()
        return ("list", len(value), tuple(parts) if ordered else frozenset(parts))
    if isinstance(value, dict):
        entries = (
            ((key, _fingerprint(each, depth - 1, ordered=ordered)) for key, each in value.items()) if depth else ()
        )
        return ("map", len(value), frozenset(entries))
    if kind is OptionalValue:
        inner = _fingerprint(value.value, depth - 1, ordered=ordered) if depth and value.present else None
        return ("optional", value.present, inner)
    return (kind, value)
