"""Partial objects, for code that knows only whole ones.

While an apply prunes, an object lacks what may go, required fields too, and an object or a list that lost everything in it is
null. kube-apiserver sends such objects to conversion webhooks. Nobody gave up a value that is null, only what was in it. Must
not know managers or conversions.

Source: ``structured-merge-diff/v6``: ``typed/remove.go``, which makes such nulls, and ``merge/update.go``, which converts them.
"""

from __future__ import annotations

from typing import Any, Final

from extapi.schema.default import has_default
from extapi.schema.structural import Structural

_ABSENT: Final = object()
_LEAST: Final[dict[str, Any]] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def without_nulls(obj: dict[str, Any], structural: Structural) -> dict[str, Any]:
    """The object with empty objects and lists in place of nulls that its schema does not allow.

    Where nothing empty fits, and in metadata, the null is an absent field. Nulls in lists, and where the schema says nothing,
    stay. ``obj`` stays as it is, but shares parts with the result.
    """
    return _whole(obj, structural, fills=False)


def completed(obj: dict[str, Any], structural: Structural) -> dict[str, Any]:
    """As :func:`without_nulls`; and required fields that are missing have the least value of their type, as in Go."""
    return _whole(obj, structural, fills=True)


def _whole(obj: dict[str, Any], structural: Structural, *, fills: bool) -> dict[str, Any]:
    metadata = obj.get("metadata", {})
    if metadata is None:
        obj = {**obj, "metadata": {}}
    elif metadata.__class__ is dict and None in metadata.values():
        obj = {**obj, "metadata": {name: value for name, value in metadata.items() if value is not None}}
    return _members(obj, structural, fills=fills)


def _completed(value: Any, node: Structural, *, fills: bool) -> Any:
    if value.__class__ is dict:
        return _members(value, node, fills=fills)
    if value.__class__ is list and node.items is not None:
        items = [_completed(item, node.items, fills=fills) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def _members(value: dict[str, Any], node: Structural, *, fills: bool) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, item in value.items():
        below = node.child(name)
        if below is None:
            continue
        new = (
            _emptied(below, fills=fills)
            if item is None and not below.nullable
            else _completed(item, below, fills=fills)
        )
        if new is not item:
            changed[name] = new
    if changed:
        value = {name: item for name, item in {**value, **changed}.items() if item is not _ABSENT}
    lacking = _required(node, value) if fills else {}
    return {**value, **lacking} if lacking else value


def _lacking(node: Structural, value: dict[str, Any]) -> list[str]:
    """The required fields that a value lacks, and that no default fills in."""
    known = node.properties
    return [name for name in node.required if name not in value and not (name in known and has_default(known[name]))]


def _required(node: Structural, value: dict[str, Any]) -> dict[str, Any]:
    """The least values of :func:`_lacking`."""
    return {name: _least(node.child(name) or Structural()) for name in _lacking(node, value)}


def _least(node: Structural) -> Any:
    if node.nullable:
        return None
    if node.enum:
        return node.enum[0]
    if node.type == "object":
        return _required(node, {})
    if node.type == "array":
        return []
    return 0 if node.int_or_string else _LEAST.get(node.type)


def _emptied(node: Structural, *, fills: bool) -> Any:
    """What a null stands for; None if the schema says too little."""
    if node.type == "array":
        return []
    if node.type == "object":
        if fills:
            return _required(node, {})
        return _ABSENT if _lacking(node, {}) else {}
    return _ABSENT if node.types else None
