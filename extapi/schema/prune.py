"""Pruning: what the schema does not name is removed, and named for the client (spec J20).

Two passes: a compiled question "is there anything to remove?", which is all that most objects need, and only if there
is, a walk that removes and keeps track of paths. ``metadata``, ``apiVersion`` and ``kind`` of whole objects are not
touched: they are not the schema's. Source: ``apiextensions-apiserver/pkg/apiserver/schema/pruning``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extapi.errors import MOST_ERRORS
from extapi.schema.structural import Structural, join

_META = frozenset({"apiVersion", "kind", "metadata"})
_CONTAINERS = (dict, list)

Clean = Callable[[Any], bool]
"""Whether a dict or list holds nothing that would be pruned."""


def prune(obj: dict[str, Any], structural: Structural) -> list[str]:
    """Remove from a whole object, in place, what the schema does not know; the sorted paths of what was removed.

    Compiles anew each time: servers use :class:`extapi.schema.program.Schema`.
    """
    return pruner(structural)(obj)


def pruner(structural: Structural) -> Callable[[dict[str, Any]], list[str]]:
    """:func:`prune` for one schema, compiled. Of the paths there are at most :data:`~extapi.errors.MOST_ERRORS`."""
    clean = _clean(structural, root=True)

    def run(obj: dict[str, Any]) -> list[str]:
        if clean(obj):
            return []
        unknown: list[str] = []
        _prune(obj, structural, "", unknown, root=True)
        return sorted(unknown)

    return run


def _clean(node: Structural | None, *, root: bool = False) -> Clean:
    """The question for one node. A node without properties (a scalar's) is not clean with a non-empty dict."""
    if node is None:
        return _clean_nothing
    meta = _META if root or node.embedded_resource else frozenset()
    known: dict[str, Clean | None] = {key: _clean(sub) for key, sub in node.properties.items()}
    known |= dict.fromkeys(meta)
    keeps = bool(node.preserve_unknown)
    if node.additional_properties is not None:
        other: Clean | None = _clean(node.additional)
    else:
        other = None if keeps else _refuse
    items = _clean_kept(node) if keeps else _clean(node.items)

    def clean(value: Any) -> bool:
        if value.__class__ is list:
            return all(item.__class__ not in _CONTAINERS or items(item) for item in value)
        for key, sub in value.items():
            check = known.get(key, other)
            if check is None:
                continue
            if (check is _refuse or sub.__class__ in _CONTAINERS) and not check(sub):
                return False
        return True

    return clean


def _clean_kept(node: Structural) -> Clean:
    """The items of a list under preserve-unknown: what is unknown in them is kept too."""
    return _always if node.items is None else _clean_item_kept(node.items)


def _clean_item_kept(items: Structural) -> Clean:
    return _clean(Structural(**{**_fields(items), "preserve_unknown": True}))


def _fields(node: Structural) -> dict[str, Any]:
    return {name: getattr(node, name) for name in node.__dataclass_fields__}


def _always(_value: Any) -> bool:
    return True


def _refuse(_value: Any) -> bool:
    return False


def _clean_nothing(value: Any) -> bool:
    """Where no schema is: dicts lose all, lists are searched for dicts."""
    if value.__class__ is dict:
        return not value
    return all(item.__class__ not in _CONTAINERS or _clean_nothing(item) for item in value)


def _prune(
    value: Any,
    node: Structural | None,
    path: str,
    unknown: list[str],
    *,
    root: bool = False,
    keep: bool = False,
) -> None:
    """Prune ``value``; ``keep``: an outer list preserves unknown fields, so the items do too."""
    keep = keep or (node is not None and bool(node.preserve_unknown))
    if isinstance(value, list):
        items = None if node is None else node.items
        for index, item in enumerate(value):
            if not (keep and items is None):
                _prune(item, items, f"{path}[{index}]", unknown, keep=keep)
        return
    if not isinstance(value, dict):
        return
    meta = node is not None and (root or node.embedded_resource)
    for key in list(value):
        if meta and key in _META:
            continue
        if node is not None and (key in node.properties or node.additional_properties is not None):
            _prune(value[key], node.child(key), join(path, key), unknown)
        elif not keep:
            if len(unknown) < MOST_ERRORS:
                unknown.append(join(path, key))
            del value[key]
