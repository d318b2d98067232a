"""The merge of a configuration into an object, and the removal of fields.

Knows nothing of managers and versions. Source: ``structured-merge-diff/v6/typed``: ``merge.go``, ``remove.go``.
"""

from __future__ import annotations

from operator import is_
from typing import Any

from extapi.api.jsonvalue import json_equal
from extapi.managedfields.atom import Atom, ListType, MapType
from extapi.managedfields.fieldset import FieldSet, field_element, shown_element
from extapi.managedfields.items import ABSENT, NOWHERE, TypedError, element_of, elements, grouped, indexed


def merge(live: Any, applied: Any, atom: Atom) -> Any:
    """The live object with what the configuration says; nothing is removed. Shares parts of both.

    Whatever the configuration does not change is the same in the result: a part, or the whole object.

    Raises:
        TypedError: An item of a list has no key, or a scalar fits neither side.
    """
    found = _merge(live, applied, atom)
    return None if found is ABSENT else found


def _merge(live: Any, applied: Any, atom: Atom) -> Any:
    if live is ABSENT:
        return applied
    atom = atom.shapes(applied)
    if (map_ := atom.map) is not None:
        ours = live if isinstance(live, dict) else {}
        theirs = applied if isinstance(applied, dict) else {}
        if not map_.atomic and (ours or theirs):
            return _merge_maps(live, ours, theirs, map_)
    elif not atom.scalar and (list_ := atom.list) is not None and list_.associative:
        before = live if isinstance(live, list) else []
        after = applied if isinstance(applied, list) else []
        if before or after:
            merged = _merge_lists(before, after, list_)
            same = merged.__class__ is live.__class__ and len(merged) == len(live)
            return live if same and all(map(is_, merged, live)) else merged
    return live if json_equal(live, applied) else applied


def _merge_maps(live: Any, ours: dict[str, Any], theirs: dict[str, Any], type_: MapType) -> Any:
    """``live``, or a copy of ``ours`` with what is different."""
    fields, rest = type_.fields, type_.element
    changed: dict[str, Any] = {}
    for name, value in theirs.items():
        before = ours.get(name, ABSENT)
        atom = fields.get(name, rest) or NOWHERE
        if value.__class__ is str and atom.scalar:
            if value != before:
                changed[name] = value
        elif (merged := _merge(before, value, atom)) is not before:
            changed[name] = merged
    return live if live is ours and not changed else {**ours, **changed}


def _merge_lists(live: list[Any], applied: list[Any], type_: ListType) -> list[Any]:
    """Items in the order of ``applied``, with those that only ``live`` has where they stood among the others."""
    order = elements(live, type_)
    ours, theirs = grouped(live, order), indexed(applied, type_)
    for element, items in theirs.items():
        if len(items) > 1:
            raise TypedError([("", f"duplicate entries for key {shown_element(element)}")])
    wanted = list(theirs)
    shared = iter([element for element in wanted if element in ours])
    next_shared = next(shared, None)
    merged: list[Any] = []
    done: set[str] = set()

    def take(element: str) -> None:
        done.add(element)
        own = ours.get(element, [])
        # A duplicate is not merged with: what is applied takes the place of all of them.
        before = own[0] if len(own) == 1 else None if own else ABSENT
        merged.append(_merge(before, theirs[element][0], type_.element))

    left = right = 0
    while left < len(order) or right < len(wanted):
        if left < len(order) and right < len(wanted):
            element = order[left]
            if element == wanted[right]:
                take(element)
                left, right, next_shared = left + 1, right + 1, next(shared, None)
                continue
            if element in theirs and next_shared is not None and next_shared != element:
                left += 1  # shared, but another comes first
                continue
        if left < len(order):
            element = order[left]
            if element not in theirs:
                merged.append(live[left])
                left += 1
                continue
            if element in done:
                left += 1
        if right < len(wanted):
            element = wanted[right]
            take(element)
            right += 1
            if element == next_shared:
                next_shared = next(shared, None)
    return merged


def remove(value: Any, fields: FieldSet, atom: Atom) -> Any:
    """The value without these fields and items; null where nothing is left of a map or a list, as in the original."""
    atom = atom.shapes(value)
    if (map_ := atom.map) is not None:
        return _remove_fields(value, fields, map_)
    if atom.scalar:
        return value
    return None if atom.list is None else _remove_items(value, fields, atom.list)


def _remove_fields(value: Any, fields: FieldSet, type_: MapType) -> Any:
    if not isinstance(value, dict) or type_.atomic:
        return None
    left = {}
    for name, item in value.items():
        element = field_element(name)
        if element in fields.members:
            continue
        below = fields.children.get(element)
        left[name] = item if below is None else remove(item, below, type_.at(name) or NOWHERE)
    return left or None


def _remove_items(value: Any, fields: FieldSet, type_: ListType) -> Any:
    if not isinstance(value, list) or not type_.associative:
        return None
    left = []
    for item in value:
        element = element_of(item, type_)
        if element in fields.members:
            continue
        below = fields.children.get(element)
        kept = item if below is None else remove(item, below, type_.element)
        # An item whose keys have defaults stays without them. The original makes a null of it, which it then refuses.
        left.append({} if kept is None and isinstance(item, dict) else kept)
    return left or None
