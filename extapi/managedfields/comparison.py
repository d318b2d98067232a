"""The differences of two values along their type: the fields that were added, modified and removed.

Knows nothing of managers and versions. Source: ``structured-merge-diff/v6/typed/compare.go``.
"""

from __future__ import annotations

from typing import Any

from extapi.api.jsonvalue import json_equal
from extapi.managedfields.atom import Atom, ListType, MapType
from extapi.managedfields.fieldset import EMPTY, FieldSet, field_element
from extapi.managedfields.items import ABSENT, NOWHERE, indexed


class Comparison:
    """The differences of two values; no field is in two of the sets."""

    __slots__ = ("_changed", "added", "modified", "removed")

    def __init__(self) -> None:
        self.added = EMPTY
        self.modified = EMPTY
        self.removed = EMPTY
        self._changed: FieldSet | None = None

    @property
    def changed(self) -> FieldSet:
        """What was added or modified."""
        if self._changed is None:
            if self.added is EMPTY:
                return self.modified
            self._changed = self.modified | self.added
        return self._changed

    def without(self, fields: FieldSet) -> None:
        """Forget differences in these fields and below them."""
        if self.added is not EMPTY:
            self.added = self.added.without_subtrees(fields)
        if self.modified is not EMPTY:
            self.modified = self.modified.without_subtrees(fields)
        if self.removed is not EMPTY:
            self.removed = self.removed.without_subtrees(fields)

    def add(self, element: str, value: Any, atom: Atom) -> None:
        """``value`` is there after the change, and was not before."""
        if self.added is EMPTY:
            self.added = FieldSet()
        _add_whole(element, value, atom, self.added)

    def remove(self, element: str, value: Any, atom: Atom) -> None:
        """``value`` was there before the change, and is not after it."""
        if self.removed is EMPTY:
            self.removed = FieldSet()
        _add_whole(element, value, atom, self.removed)

    def modify(self, element: str) -> None:
        """What is there has changed as a whole."""
        if self.modified is EMPTY:
            self.modified = FieldSet()
        self.modified.members.add(element)

    def nest(self, element: str, below: Comparison) -> None:
        """Add the differences below an element. Most writes differ in one place: empty sets are not made on the way there."""
        if below.added is not EMPTY:
            if self.added is EMPTY:
                self.added = FieldSet()
            self.added.children[element] = below.added
        if below.modified is not EMPTY:
            if self.modified is EMPTY:
                self.modified = FieldSet()
            self.modified.children[element] = below.modified
        if below.removed is not EMPTY:
            if self.removed is EMPTY:
                self.removed = FieldSet()
            self.removed.children[element] = below.removed

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.removed)


def compare(old: Any, new: Any, atom: Atom) -> Comparison:
    """The fields that were added, modified and removed.

    Raises:
        TypedError: An item of a list has no key.
    """
    found = Comparison()
    _compare(old, new, atom, found)
    return found


def _compare(old: Any, new: Any, atom: Atom, found: Comparison) -> bool:
    """Add the differences below two values that are both there; whether they are leaves that differ."""
    before, after = atom.shapes(old), atom.shapes(new)
    differ = False
    # Few functions call each other on the way down: the stack has to have room for the deepest object.
    for shape in (after,) if before is after or before == after else (before, after):
        if (map_ := shape.map) is not None:
            earlier = old if isinstance(old, dict) else {}
            later = new if isinstance(new, dict) else {}
            if not map_.atomic and (earlier or later):
                _compare_maps(earlier, later, map_, found)
                continue
        elif not shape.scalar:
            list_ = shape.list
            if list_ is None:
                continue
            first = old if isinstance(old, list) else []
            second = new if isinstance(new, list) else []
            if list_.associative and (first or second):
                _compare_lists(first, second, list_, found)
                continue
        differ = not json_equal(old, new)
    return differ


def _compare_maps(old: dict[str, Any], new: dict[str, Any], type_: MapType, found: Comparison) -> None:
    for name, after in new.items():
        before = old.get(name, ABSENT)
        if before is after or (before == after and (after.__class__ is str or json_equal(before, after))):
            continue
        _compare_members(f"f:{name}", before, after, type_.at(name) or NOWHERE, found)
    for name, before in old.items():
        if name not in new:
            _compare_members(f"f:{name}", before, ABSENT, type_.at(name) or NOWHERE, found)


def _compare_members(element: str, old: Any, new: Any, atom: Atom, found: Comparison) -> None:
    """Compare what two maps or lists have at ``element``; one of them may have nothing there."""
    if old is ABSENT:
        found.add(element, new, atom)
    elif new is ABSENT:
        found.remove(element, old, atom)
    elif old.__class__ is str and new.__class__ is str and atom.scalar:
        if old != new:
            found.modify(element)
    elif (
        old.__class__ is dict
        and new.__class__ is dict
        and (old or new)
        and (map_ := atom.map) is not None
        and not map_.atomic
        and atom.list is None
        and not atom.scalar
    ):
        below = Comparison()  # as below, in fewer steps
        _compare_maps(old, new, map_, below)
        found.nest(element, below)
    else:
        below = Comparison()
        if _compare(old, new, atom, below):
            found.modify(element)
        found.nest(element, below)


def _add_whole(element: str, value: Any, atom: Atom, found: FieldSet) -> None:
    """Add a value that only one side has: all of it, the objects in it too."""
    found.members.add(element)
    if value.__class__ is str and atom.scalar:
        return
    below = FieldSet()
    _whole(value, atom, below)
    if below.members or below.children:
        found.children[element] = below


def _whole(value: Any, atom: Atom, found: FieldSet) -> None:
    atom = atom.shapes(value)
    if (map_ := atom.map) is not None:
        if not map_.atomic and isinstance(value, dict):
            for name, item in value.items():
                _add_whole(field_element(name), item, map_.at(name) or NOWHERE, found)
    elif not atom.scalar and (list_ := atom.list) is not None and list_.associative and isinstance(value, list):
        for element, items in indexed(value, list_).items():
            if len(items) == 1:
                _add_whole(element, items[0], list_.element, found)
            else:
                found.members.add(element)


def _compare_lists(old: list[Any], new: list[Any], type_: ListType, found: Comparison) -> None:
    if old == new and json_equal(old, new):
        return
    before, after = indexed(old, type_), indexed(new, type_)
    for element in {**before, **after}:
        earlier, later = before.get(element, []), after.get(element, [])
        if len(earlier) <= 1 and len(later) <= 1:
            _compare_members(
                element, earlier[0] if earlier else ABSENT, later[0] if later else ABSENT, type_.element, found
            )
        elif len(earlier) > 1 and len(later) > 1:
            if not json_equal(earlier, later):
                found.modify(element)
        elif len(earlier) > 1:
            if later:
                found.add(element, later[0], type_.element)
            found.remove(element, None, NOWHERE)
        else:
            if earlier:
                found.remove(element, earlier[0], type_.element)
            found.add(element, None, NOWHERE)
