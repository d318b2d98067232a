"""Lists in strategic merge patches: merged by a key or as sets, and ordered.

Responsible for: one list of the object and one of the patch. Must not know schemas. Since lists come from clients, everything
but the sorting takes linear time.
Source: ``apimachinery/pkg/util/strategicpatch`` mergeSlice, normalizeElementOrder.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from extapi.errors import Invalid, StorageError, go_float

__all__ = ["Lists", "bad_argument", "go_value"]

_DIRECTIVE = "$patch"
_KEYLESS = "map: {} does not contain declared merge key: {}"


class Lists:
    """Merges lists. ``key``: the member that identifies an item, empty for plain values; ``merge``: merges two items."""

    def __init__(self, key: str, merge: Callable[[dict[str, Any], dict[str, Any]], Any]) -> None:
        self._key = key
        self._merge = merge

    def merged(self, original: list[Any], patch: list[Any], *, deletes: bool = False) -> list[Any]:
        """``original`` after ``patch``; ``deletes``: the patch names items to delete.

        Raises:
            StorageError: The patch contradicts itself or the list.
        """
        if not original and not patch:
            return original
        if self.one_type(original, patch) is not dict:
            if deletes:
                gone = {_comparable(item) for item in patch}
                return [item for item in original if _comparable(item) not in gone]
            return self.ordered(
                list({_comparable(item): item for item in [*original, *patch]}.values()), patch, original
            )
        if not self._key:
            raise StorageError("cannot merge lists without merge key for struct")
        original, patch = self._special(original, patch)
        merged = self._merged_items(original, patch)
        return self.ordered(merged, patch, original)

    def one_type(self, *lists: list[Any]) -> type | None:
        """The type of all items.

        Raises:
            Invalid: The items are lists.
            StorageError: There are no items, or they have different types.
        """
        items = [item for items in lists for item in items]
        if not items:
            raise StorageError("no elements in any of the given slices")
        first = type(items[0])
        if first is list:
            raise Invalid("the server rejected our request due to an error in our request", with_details=True)
        if any(type(item) is not first for item in items):
            shown = " ".join(go_value(found) for found in lists)
            raise StorageError(f"list element types are not identical: [{shown}]")
        return first

    def check_order(self, patch: list[Any], order: list[Any]) -> None:
        """Check that the items of the patch are in ``order``, except for deletions.

        Raises:
            StorageError: They are not.
        """
        if not patch or not order:
            return
        wanted = iter([self._key_of(item) for item in order])
        for item in patch:
            if isinstance(item, dict) and _DIRECTIVE in item:
                continue
            key = self._key_of(item)
            if not any(other == key for other in wanted):
                raise StorageError(
                    f"The order in patch list:\n{go_value(patch)}\n doesn't match $setElementOrder list:\n{go_value(order)}\n"
                )

    def ordered(self, merged: list[Any], order: list[Any], live: list[Any]) -> list[Any]:
        """The items that are in ``order``, in that order; the others between them, about where they are in ``live``."""
        places, before = self._places(order), self._places(live)
        pairs = [(self._key_of(item), item) for item in merged]
        named = sorted((pair for pair in pairs if pair[0] in places), key=lambda pair: places[pair[0]])
        rest = [pair for pair in pairs if pair[0] not in places]
        rest.sort(key=lambda pair: before.get(pair[0], len(before)))
        out: list[Any] = []
        left = 0
        for key, item in named:
            # Items that are not in the order, and were before this one in the live list, come before it again.
            while left < len(rest) and key in before and before.get(rest[left][0], len(live)) < before[key]:
                out.append(rest[left][1])
                left += 1
            out.append(item)
        return out + [item for _, item in rest[left:]]

    def _special(self, original: list[Any], patch: list[Any]) -> tuple[list[Any], list[Any]]:
        """Apply the items of the patch that are directives: the lists without them."""
        gone: set[Hashable] = set()
        plain: list[Any] = []
        replaced = False
        for item in patch:
            directive = item.get(_DIRECTIVE)
            if _DIRECTIVE not in item:
                plain.append(item)
            elif directive == "delete":
                gone.add(self._key_of(item))
            elif directive == "replace":
                replaced = True
            elif directive == "merge":
                raise StorageError("merging lists cannot yet be specified in the patch")
            else:
                raise StorageError(f"unknown patch type: {go_value(directive)} in map: {go_value(item)}")
        if replaced:
            return plain, []
        return [item for item in original if _comparable(item.get(self._key)) not in gone], plain

    def _merged_items(self, original: list[Any], patch: list[Any]) -> list[Any]:
        merged = list(original)
        places: dict[Hashable, int] = {}
        for at, item in enumerate(merged):
            if self._key in item:
                places.setdefault(_comparable(item[self._key]), at)
        for item in patch:
            key = self._key_of(item)
            at = places.get(key, -1)
            if at >= 0:
                merged[at] = self._merge(merged[at], item)
            else:
                places[key] = len(merged)
                merged.append(item)
        return merged

    def _places(self, items: list[Any]) -> dict[Hashable, int]:
        """The first position of each key."""
        places: dict[Hashable, int] = {}
        for at, item in enumerate(items):
            places.setdefault(self._key_of(item), at)
        return places

    def _key_of(self, item: Any) -> Hashable:
        """The key of an item.

        Raises:
            StorageError: It is missing.
        """
        if not self._key:
            return _comparable(item)
        if not isinstance(item, dict):
            raise bad_argument("map[string]interface {}", item)
        if self._key not in item:
            raise StorageError(_KEYLESS.format(go_value(item), self._key))
        return _comparable(item[self._key])


def _comparable(value: Any) -> Hashable:
    """A value for comparisons: true is not 1, and 1 is not 1.0.

    Raises:
        StorageError: It is a list or an object.
    """
    if isinstance(value, dict | list):
        raise StorageError(f"runtime error: comparing uncomparable type {_go_type(value)}")
    return (type(value), value)


def bad_argument(wanted: str, value: Any) -> StorageError:
    """The refusal of a value of another type than ``wanted``, a type of Go."""
    return StorageError(f"expected a {wanted}, but received a {_go_type(value)}")


def _go_type(value: Any) -> str:
    if value is None:
        return "%!s(<nil>)"
    names = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return names.get(type(value), "map[string]interface {}")


def go_value(value: Any) -> str:
    """A JSON value as Go's ``%v`` prints it: ``map[a:1 b:[x y]]``."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_value(item)}" for key, item in sorted(value.items())) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_value, value)) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, float) else str(value)
