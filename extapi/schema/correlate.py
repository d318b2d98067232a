"""Finds the old value that belongs to a new one on update, and says whether it changed (behaviour J26).

Members of objects correlate by name, items of map lists by their keys, other lists only as a whole.

Source: ``k8s.io/apiserver/pkg/cel/common`` CorrelatedObject.
"""

from __future__ import annotations

from typing import Any

from extapi.api.jsonvalue import json_equal
from extapi.schema.listtype import freeze, key_of
from extapi.schema.structural import MISSING, Structural


def old_member(old: Any, key: str) -> Any:
    """The old value of a member, or MISSING."""
    return old.get(key, MISSING) if isinstance(old, dict) else MISSING


class Correlation:
    """Finds old items of map lists. It serves one comparison and keeps an index of each old list that it has seen."""

    __slots__ = ("_indexes",)

    def __init__(self) -> None:
        self._indexes: dict[int, dict[Any, Any]] = {}

    def old_item(self, node: Structural, item: Any, old: Any) -> Any:
        """The old item with the same keys, or MISSING. Only map lists have such items."""
        if node.list_type != "map" or not isinstance(old, list) or not isinstance(item, dict):
            return MISSING
        keys = node.list_map_keys
        if any(isinstance(item.get(key, {}), (dict, list)) for key in keys):
            return MISSING
        index = self._indexes.get(id(old))
        if index is None:
            index = {freeze(key_of(before, keys)): before for before in reversed(old) if isinstance(before, dict)}
            self._indexes[id(old)] = index
        return index.get(freeze(key_of(item, keys)), MISSING)

    def unchanged(self, node: Structural | None, new: Any, old: Any) -> bool:
        """Whether two values are the same, apart from the order of map lists.

        An object with members that the schema does not know counts as changed, as in Go.
        """
        if isinstance(new, dict) and isinstance(old, dict):
            if node is None or len(new) != len(old):
                return False
            return all(
                key in old and (sub := node.child(key)) is not None and self.unchanged(sub, value, old[key])
                for key, value in new.items()
            )
        if isinstance(new, list) and isinstance(old, list) and node is not None and node.list_type == "map":
            return len(new) == len(old) and all(
                (before := self.old_item(node, item, old)) is not MISSING and self.unchanged(node.items, item, before)
                for item in new
            )
        return json_equal(new, old)
