"""The fields of a value: those that a configuration names, and all that a new object has.

Knows nothing of managers and versions. Source: ``structured-merge-diff/v6/typed/tofieldset.go``.
"""

from __future__ import annotations

from typing import Any

from extapi.managedfields.atom import Atom
from extapi.managedfields.fieldset import SELF, FieldSet
from extapi.managedfields.items import NOWHERE, element_of, grouped, indexed


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
