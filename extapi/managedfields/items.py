"""The items of lists: which is which, and what is wrong with an item that cannot be told.

Source: ``structured-merge-diff/v6/typed/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from extapi.managedfields.atom import Atom, ListType
from extapi.managedfields.fieldset import json_text, scalar_text, value_element

ABSENT: Final[Any] = object()
"""No value, where None is one (a JSON null)."""

UNKNOWN: Final = "?:"
"""The element of an item that has none. It shows that the list has something, and is in no set that is kept."""

NOWHERE: Final = Atom()
"""The type of what is not declared."""


class TypedError(ValueError):
    """A value that does not fit its type; the message is structured-merge-diff's, with paths."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        lines = [f"{path}: {message}" if path else message for path, message in problems]
        super().__init__(lines[0] if len(lines) == 1 else "\n  ".join(["errors:", *lines]))


def item_element(item: Any, type_: ListType) -> str:
    """The path element of an item of an associative list.

    Raises:
        ValueError: It has no key, or cannot be in a set.
    """
    if not type_.associative:
        raise ValueError("invalid indexing of non-associative list")
    if not type_.keys:
        if item.__class__ is str:  # most sets have nothing else, and thousands of them
            return f"v:{json_text(item)}"
        if isinstance(item, dict):
            raise ValueError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise ValueError("not supported: associative list with lists as elements")
        if item is None:
            raise ValueError("associative list without keys has an element that's an explicit null")
        return value_element(item)
    if item is None:
        raise ValueError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ValueError("associative list with keys may not have non-map elements")  # noqa: TRY004 - malformed input
    parts = []
    for name, label in type_.labels:
        value = item.get(name, ABSENT)
        if value is ABSENT:
            value = type_.default(name)
            if value is None:
                continue
        parts.append(label + (json_text(value) if value.__class__ is str else scalar_text(value)))
    if not parts:
        listed = " ".join(f'"{name}"' for name in type_.keys)
        raise ValueError(
            f"associative list with keys has an element that omits all key fields [{listed}]"
            " (and doesn't have default values for any key fields)"
        )
    return "k:{" + ",".join(parts) + "}"


def elements(items: list[Any], type_: ListType) -> list[str]:
    """The element of each item.

    Raises:
        TypedError: An item has none.
    """
    found: list[str] = []
    try:
        for item in items:
            found.append(item_element(item, type_))  # noqa: PERF401 - the error says how far it came
    except ValueError as error:
        raise TypedError([("", f"element {len(found)}: {error}")]) from None
    return found


def element_of(item: Any, type_: ListType) -> str:
    """The element of an item, or :data:`UNKNOWN`: :func:`extapi.managedfields.merging.remove` may have taken its keys."""
    try:
        return item_element(item, type_)
    except ValueError:
        return UNKNOWN


def indexed(items: list[Any], type_: ListType) -> dict[str, list[Any]]:
    """The items by element, in order; more than one for duplicates.

    Raises:
        TypedError: An item has no element.
    """
    return grouped(items, elements(items, type_))


def grouped(items: list[Any], elements: list[str]) -> dict[str, list[Any]]:
    """The items by their elements."""
    found: dict[str, list[Any]] = {}
    for element, item in zip(elements, items, strict=True):
        found.setdefault(element, []).append(item)
    return found
