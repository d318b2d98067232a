"""The JSON patch (RFC 6902) that makes one JSON object into another: what a mutating webhook answers.

There is no operation for what is equal, none that adds more than differs, and ``add``, ``remove`` and ``replace`` are the only
ones. Every object gets a right patch; a large change to a list may get a longer one than the shortest, because the shortest
takes quadratic time.

The patch is applied by ``gopkg.in/evanphx/json-patch.v4``, which refuses to replace null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from extapi.api.jsonvalue import json_equal
from extapi.codec.strictjson import encode

Operation = dict[str, Any]

MAX_OPERATIONS: Final = 2_000
"""Operations of a patch. With more, the members of the object that differ are replaced as a whole."""
MATCHED: Final = 32
"""Items of two lists, each, up to which the fewest changes are looked for."""
LISTS: Final = 8
"""Levels of lists in lists in which equal items are looked for: comparing those of a list costs as much as all that is in it."""
MOVED: Final = 1_000_000
"""Places by which operations may move the items of one list in total. Beyond that, the list is replaced."""


def json_patch(old: dict[str, Any], new: dict[str, Any]) -> list[Operation]:
    """The operations that make ``old`` into ``new``; none if both are equal. They share parts with ``new``."""
    difference = _Difference()
    difference.members(old, new, "")
    if len(difference.operations) <= MAX_OPERATIONS:
        return difference.operations
    return _coarse(old, new)


def _coarse(old: dict[str, Any], new: dict[str, Any]) -> list[Operation]:
    operations = [_remove(_below("", key)) for key in old if key not in new]
    for key, value in new.items():
        if key not in old:
            operations.append(_add(_below("", key), value))
        elif not json_equal(old[key], value):
            operations.append(_put(_below("", key), old[key], value))
    return operations


class _Difference:
    """Collects operations, in the order in which they apply."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._lists = 0

    def members(self, old: dict[str, Any], new: dict[str, Any], path: str) -> None:
        for key in old:
            if key not in new:
                self.operations.append(_remove(_below(path, key)))
        for key, value in new.items():
            inner = _below(path, key)
            if key not in old:
                self.operations.append(_add(inner, value))
            elif not self._inside(old[key], value, inner):
                self.operations.append(_put(inner, old[key], value))

    def _inside(self, old: Any, new: Any, path: str) -> bool:
        """Whether what differs is inside of both, so that nothing has to be replaced here."""
        if len(self.operations) > MAX_OPERATIONS:
            return True  # they are not used
        if isinstance(old, dict) and isinstance(new, dict):
            self.members(old, new, path)
            return True
        if isinstance(old, list) and isinstance(new, list):
            return self._items(old, new, path)
        return not isinstance(old, dict | list) and json_equal(old, new)

    def _items(self, old: list[Any], new: list[Any], path: str) -> bool:
        """Whether operations on items have made one list into the other; if not, it has to be replaced."""
        if self._lists >= LISTS:
            return json_equal(old, new)
        self._lists += 1
        try:
            first, last = _common(old, new)
            before, after = old[first : len(old) - last], new[first : len(new) - last]
            if not before and not after:
                return True
            pairs = _pairs(before, after)
            moving = len(before) + len(after) - 2 * len(pairs)
            if moving * (len(old) + len(new)) > MOVED:
                return False
            self._aligned(before, after, pairs, path, first)
        finally:
            self._lists -= 1
        return True

    def _aligned(
        self, old: Sequence[Any], new: Sequence[Any], pairs: Sequence[tuple[int, int]], path: str, at: int
    ) -> None:
        """Change paired items, remove the other old ones, add the other new ones.

        From left to right, so an index is that of the new list.
        """
        left = right = 0
        for its, ours in (*pairs, (len(old), len(new))):
            for _ in range(left, its):
                self.operations.append(_remove(f"{path}/{at}"))
            for value in new[right:ours]:
                self.operations.append(_add(f"{path}/{at}", value))
                at += 1
            if its < len(old):
                inner = f"{path}/{at}"
                if not self._inside(old[its], new[ours], inner):
                    self._put_item(inner, old[its], new[ours])
            left, right, at = its + 1, ours + 1, at + 1

    def _put_item(self, path: str, old: Any, new: Any) -> None:
        if old is None:  # adding to a list inserts
            self.operations += [_remove(path), _add(path, new)]
        else:
            self.operations.append(_put(path, old, new))


def _common(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """How many items are equal at the beginning, and how many at the end."""
    most = min(len(old), len(new))
    first = 0
    while first < most and json_equal(old[first], new[first]):
        first += 1
    last = 0
    while last < most - first and json_equal(old[-1 - last], new[-1 - last]):
        last += 1
    return first, last


def _pairs(old: Sequence[Any], new: Sequence[Any]) -> list[tuple[int, int]]:
    """Which items become which, as pairs of indexes: of short lists those with the fewest changes, of longer ones the first ones.

    The fewest are found as by Levenshtein: to remove, add or replace an item is one change.
    """
    if max(len(old), len(new)) > MATCHED:
        return [(index, index) for index in range(min(len(old), len(new)))]
    theirs, ours = [encode(each) for each in old], [encode(each) for each in new]
    rows = [list(range(len(ours), -1, -1))]
    """From the last item on: how many changes the rest takes."""
    for left in reversed(range(len(theirs))):
        below, row = rows[-1], [len(theirs) - left] * (len(ours) + 1)
        for right in reversed(range(len(ours))):
            changed = below[right + 1] + (theirs[left] != ours[right])
            row[right] = min(changed, below[right] + 1, row[right + 1] + 1)
        rows.append(row)
    rows.reverse()
    found, left, right = [], 0, 0
    while left < len(theirs) and right < len(ours):
        if rows[left][right] == rows[left + 1][right + 1] + (theirs[left] != ours[right]):
            found.append((left, right))
            left, right = left + 1, right + 1
        elif rows[left][right] == rows[left + 1][right] + 1:
            left += 1
        else:
            right += 1
    return found


def _put(path: str, old: Any, new: Any) -> Operation:
    """Another value for a member that there is; ``add`` replaces, too (RFC 6902, section 4.1)."""
    return _add(path, new) if old is None else {"op": "replace", "path": path, "value": new}


def _add(path: str, value: Any) -> Operation:
    return {"op": "add", "path": path, "value": value}


def _remove(path: str) -> Operation:
    return {"op": "remove", "path": path}


def _below(path: str, key: str) -> str:
    """The pointer of a member (RFC 6901, section 3)."""
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
