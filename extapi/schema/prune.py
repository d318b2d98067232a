"""Pruning: fields that the schema does not name are removed, and reported to the client (behaviour J20).

There are two passes: compiled closures say whether there is anything to remove, which is all that most objects need;
only then a walk removes fields and records their paths. ``metadata``, ``apiVersion`` and ``kind`` of whole objects are
not touched.

Source: ``apiextensions-apiserver/pkg/apiserver/schema/pruning``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extapi.errors import MOST_ERRORS
from extapi.schema.structural import Structural, join

_META = frozenset({"apiVersion", "kind", "metadata"})
_CONTAINERS = (dict, list)

Clean = Callable[[Any], bool]
"""Whether a dict or list has nothing to prune."""


def prune(obj: dict[str, Any], structural: Structural) -> list[str]:
    """Remove unknown fields from a whole object, in place; return their sorted paths.

    Compiles the schema on each call: servers use :class:`extapi.schema.schema.Schema`.
    """
    return pruner(structural)(obj)


def pruner(structural: Structural) -> Callable[[dict[str, Any]], list[str]]:
    """:func:`prune` for one schema, compiled. It returns at most :data:`~extapi.errors.MOST_ERRORS` paths."""
    clean = _clean(structural, root=True)

    def run(obj: dict[str, Any]) -> list[str]:
        if clean(obj):
            return []
        unknown: list[str] = []
        _prune(obj, structural, "", unknown, root=True)
        return sorted(unknown)

    return run


def _clean(node: Structural | None, *, root: bool = False) -> Clean:
    """The check of one node.

    A dict that is not empty is not clean where the node has no properties, such as a scalar's.
    """
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
            for item in value:  # noqa: SIM110 - a generator costs as much as all the rest
                if item.__class__ in _CONTAINERS and not items(item):
                    return False
            return True
        for key, sub in value.items():
            check = known.get(key, other)
            if check is None:
                continue
            if (check is _refuse or sub.__class__ in _CONTAINERS) and not check(sub):
                return False
        return True

    return clean


def _clean_kept(node: Structural) -> Clean:
    """The check of the items of a list that preserves unknown fields: in the items they are kept too."""
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
    """The check where there is no schema: dicts lose all members, lists are searched for dicts."""
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
    """Prune ``value``; with ``keep``, an outer list preserves unknown fields, and so do its items."""
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
