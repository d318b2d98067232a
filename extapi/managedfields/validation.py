"""Whether a value fits its type, and what does not.

Knows nothing of managers and versions. Source: ``structured-merge-diff/v6/typed/validate.go``.
"""

from __future__ import annotations

from typing import Any

from extapi.fielderrors import MOST_ERRORS, MOST_TEXT
from extapi.managedfields.atom import UNTYPED, Atom, ListType, MapType
from extapi.managedfields.fieldset import field_element, shown, shown_element
from extapi.managedfields.items import TypedError, item_element


def check(value: Any, atom: Atom, *, duplicates: bool = False) -> None:
    """Check that a value fits its type; ``duplicates``: sets and map lists may have them.

    Raises:
        TypedError: It does not. The text names the first :data:`~extapi.fielderrors.MOST_ERRORS` problems, and fewer if their
            paths are long.
    """
    checking = _Checking(duplicates=duplicates)
    checking.value(value, atom)
    if checking.problems:
        raise TypedError(checking.problems)


class _Checking:
    """One check. Paths are put together for problems only: a long name above many fields would be copied for each."""

    def __init__(self, *, duplicates: bool) -> None:
        self.problems: list[tuple[str, str]] = []
        self._duplicates = duplicates
        self._path: list[str] = []
        self._size = 0

    def value(self, value: Any, atom: Atom) -> None:
        atom = atom.shapes(value)
        if atom.map is not None:
            self._map(value, atom.map)
        elif atom.scalar:
            if message := _misfit(value, atom.scalar):
                self._wrong(message)
        elif atom.list is not None:
            self._list(value, atom.list)
        else:
            self._wrong("schema error: invalid atom: inlined")

    def _wrong(self, message: str) -> None:
        if len(self.problems) < MOST_ERRORS and self._size < MOST_TEXT:
            path = shown(tuple(self._path))
            self._size += len(path) + len(message)
            self.problems.append((path, message))

    def _below(self, element: str, value: Any, atom: Atom | None) -> None:
        self._path.append(element)
        if atom is None:
            self._wrong("field not declared in schema")
        else:
            self.value(value, atom)
        self._path.pop()

    def _map(self, value: Any, type_: MapType) -> None:
        if value is None:
            return
        if not isinstance(value, dict):
            self._wrong(f"expected map, got {_described(value)}")
            return
        fields, rest = type_.fields, type_.element
        for name, item in value.items():
            atom = fields.get(name, rest)
            if atom is not None and item.__class__ is str and atom.scalar == "string":
                continue  # the most frequent value fits
            self._below(field_element(name), item, atom)
            if atom is None:
                return

    def _list(self, value: Any, type_: ListType) -> None:
        if value is None:
            return
        if not isinstance(value, list):
            self._wrong(f"expected list, got {_described(value)}")
            return
        if not type_.associative:
            for index, item in enumerate(value):
                self._below(f"i:{index}", item, type_.element)
            return
        seen = set()
        for index, item in enumerate(value):
            try:
                element = item_element(item, type_)
            except ValueError as error:
                self._wrong(f"element {index}: {error}")
                return
            if element in seen and not self._duplicates:
                self._wrong(f"duplicate entries for key {shown_element(element)}")
            seen.add(element)
            self._below(element, item, type_.element)


def _misfit(value: Any, scalar: str) -> str:
    """Why a value is no such scalar; empty if it is one, or null."""
    if value is None:
        return ""
    if scalar == "string":
        return "" if isinstance(value, str) else f"expected string, got {_described(value)}"
    if scalar == "boolean":
        return "" if isinstance(value, bool) else f"expected boolean, got {_described(value)}"
    if scalar == UNTYPED:
        return "" if isinstance(value, str | int | float) else f"expected any scalar, got {_described(value)}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ""
    return f"expected numeric (int or float), got {_described(value)}"


def _described(value: Any) -> str:
    """The JSON type of a value, or what it is if it is no JSON: the original prints Go's, with the fields of its own structs."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "map"
    if isinstance(value, list):
        return "list"
    return "number" if isinstance(value, int | float) else str(value)
