"""Sets of fields along types: named fields, and types that have become atomic.

Source: ``structured-merge-diff/v6``: ``fieldpath/set.go``, ``typed/reconcile_schema.go``.
"""

from __future__ import annotations

from extapi.managedfields.atom import Atom
from extapi.managedfields.fieldset import FieldSet
from extapi.managedfields.items import NOWHERE


def with_named_fields(fields: FieldSet, atom: Atom) -> FieldSet:
    """The set with every declared field in it that something below it is in: SMD's EnsureNamedFieldsAreMembers."""
    if not fields.children:
        return fields
    map_ = atom.map
    members, children = set(fields.members), {}
    for element, below in fields.children.items():
        under = NOWHERE
        if element[0] == "f" and map_ is not None:
            name = element[2:]
            under = map_.at(name) or NOWHERE
            if name in map_.fields:
                members.add(element)
        elif element[0] == "k" and atom.list is not None:
            under = atom.list.element
        children[element] = with_named_fields(below, under)
    return FieldSet(members, children)


def reconcile(fields: FieldSet, atom: Atom) -> FieldSet:
    """The set, after a type has become atomic: whoever managed parts of such a value manages all of it."""
    known = fields.reconciled
    if known is None or known[0] is not atom:
        changed = FieldSet()
        _reconcile(fields, atom, (), changed, leaf=False)
        known = fields.reconciled = (atom, fields.without_subtrees(changed) | changed if changed else None)
    return fields if known[1] is None else known[1]


def _reconcile(fields: FieldSet | None, atom: Atom, path: tuple[str, ...], changed: FieldSet, *, leaf: bool) -> None:
    """``leaf``: the set has the value, and nothing below it. ``changed``: gets the paths that are atomic now."""
    if (map_ := atom.map) is not None:
        if map_.deduced:
            return
        if not leaf and map_.atomic:
            if fields:
                changed.add(path)
            return
        for element, below, is_leaf in _parts(fields):
            under = map_.at(element[2:]) if element[0] == "f" else map_.element
            if under is not None:
                _reconcile(below, under, (*path, element), changed, leaf=is_leaf)
    elif not atom.scalar and (list_ := atom.list) is not None:
        if not leaf and not list_.associative:
            changed.add(path)
            return
        for element, below, is_leaf in _parts(fields):
            _reconcile(below, list_.element, (*path, element), changed, leaf=is_leaf)


def _parts(fields: FieldSet | None) -> list[tuple[str, FieldSet | None, bool]]:
    if fields is None:
        return []
    below = [(element, each, False) for element, each in fields.children.items()]
    return below + [(element, None, True) for element in fields.members if element not in fields.children]
