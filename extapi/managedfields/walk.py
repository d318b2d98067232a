"""What typed values have in common, and in what they differ: the walks over objects along their types.

Responsible for: whether an object fits its type, its fields, and the differences of two. Knows nothing of managers and
versions.
Source: ``structured-merge-diff/v6/typed``: ``validate.go``, ``tofieldset.go``, ``compare.go``.
"""

from __future__ import annotations

from typing import Any

from extapi.api.jsonvalue import json_equal
from extapi.fielderrors import MOST_ERRORS, MOST_TEXT
from extapi.managedfields.atom import UNTYPED, Atom, ListType, MapType
from extapi.managedfields.fieldset import EMPTY, SELF, FieldSet, field_element, shown, shown_element
from extapi.managedfields.items import ABSENT, NOWHERE, TypedError, element_of, grouped, indexed, item_element

__all__ = ["Comparison", "TypedError", "check", "compare", "fields_of", "whole"]


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


# -- does it fit ------------------------------------------------------------------------------------------------------


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
        return f"expected any scalar, got {_described(value)}" if isinstance(value, dict | list) else ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ""
    return f"expected numeric (int or float), got {_described(value)}"


def _described(value: Any) -> str:
    """The JSON type of a value: the original prints Go's, with the fields of its own structs."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "map"
    return "list" if isinstance(value, list) else "number"


# -- the fields of an object ------------------------------------------------------------------------------------------


def fields_of(value: Any, atom: Atom) -> FieldSet:
    """The fields that a configuration names: leaves, items, and the keys of maps; not the objects around them."""
    found = FieldSet()
    _fields(value, atom, found)
    return found


def _fields(value: Any, atom: Atom, found: FieldSet) -> bool:
    """Add what is below a value; whether the value itself is a leaf."""
    atom = atom.shapes(value)
    if (map_ := atom.map) is not None:
        if map_.atomic:
            return True
        if isinstance(value, dict):
            fields, rest = map_.fields, map_.element
            for name, item in value.items():
                element, below_atom = f"f:{name}", fields.get(name, rest) or NOWHERE
                if item.__class__ is str and below_atom.scalar:
                    found.members.add(element)
                    continue
                below = FieldSet()
                leaf = _fields(item, below_atom, below)
                if leaf or item is None or item == {} or name not in fields:
                    found.members.add(element)
                if below.members or below.children:
                    found.children[element] = below
        return False
    if atom.scalar:
        return True
    if (list_ := atom.list) is None:
        return False
    if not list_.associative:
        return True
    if isinstance(value, list):
        for element, items in grouped(value, [element_of(item, list_) for item in value]).items():
            found.members.add(element)
            if len(items) == 1 and items[0].__class__ is not str:
                below = FieldSet()
                _fields(items[0], list_.element, below)
                if below.members or below.children:
                    found.children[element] = below
    return False


# -- all of an object -------------------------------------------------------------------------------------------------


def whole(value: Any, atom: Atom) -> dict[str, Any]:
    """All that is below a value, as ``fieldsV1``: what nothing was compared with. A set of it is not made.

    Raises:
        TypedError: An item of a list has no key.
    """
    atom = atom.shapes(value)
    if (map_ := atom.map) is not None:
        if map_.atomic or not isinstance(value, dict):
            return {}
        fields, rest = map_.fields, map_.element
        below = {}
        for name, item in value.items():
            at = fields.get(name, rest) or NOWHERE
            below[f"f:{name}"] = {} if item.__class__ is str and at.scalar else _whole_member(item, at)
        return below
    if not atom.scalar and (list_ := atom.list) is not None and list_.associative and isinstance(value, list):
        found = indexed(value, list_)
        return {
            element: _whole_member(items[0], list_.element) if len(items) == 1 else {}
            for element, items in found.items()
        }
    return {}


def _whole_member(value: Any, atom: Atom) -> dict[str, Any]:
    below = whole(value, atom)
    return {SELF: {}, **below} if below else below


# -- the differences of two objects -----------------------------------------------------------------------------------


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
