"""Defaulting: missing fields are filled in, meaningless nulls are dropped (behaviour J19, J21).

A schema is compiled to closures, which walk only where it has defaults or a null may stand. ``metadata`` is never
touched: the schemas of whole objects do not describe it.

Source: ``apiextensions-apiserver/pkg/apiserver/schema/defaulting``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extapi.api.jsonvalue import json_copier
from extapi.schema.structural import MISSING, Structural

Fill = Callable[[Any], None]
"""Fills defaults into one dict or list, in place."""


def default(obj: dict[str, Any], structural: Structural) -> None:
    """Drop nulls that are neither allowed nor have a default, then fill in defaults, in place.

    Compiles the schema on each call: servers use :class:`extapi.schema.schema.Schema`.
    """
    defaulter(structural)(obj)


def defaulter(structural: Structural) -> Fill:
    """:func:`default` for one schema, compiled."""
    return _object(structural, has_default)


def null_keeping_defaulter(structural: Structural) -> Fill:
    """The second half of :func:`default`, compiled: fills in defaults, also for nulls, and leaves other nulls to validation.

    Nulls that validation lets pass, since the schema has no type, are dropped here; the original drops them as it stores the
    object, so that each such apply is a change.

    Source: ``Default``, which is all that an applied configuration gets.
    """
    return _object(structural, has_default, drops=False)


def null_dropper(structural: Structural) -> Fill:
    """The first half of :func:`default`, compiled: drops nulls that are neither allowed nor have a default.

    Source: ``PruneNonNullableNullsWithoutDefaults``.
    """
    return _object(structural, _never)


Fills = Callable[[Structural], bool]
"""Whether a missing value is filled in with the node's default."""


def _never(_node: Structural) -> bool:
    return False


def _fill(node: Structural, fills: Fills, *, drops: bool) -> Fill | None:
    """The function that fills the value of a node; None if there is nothing to do."""
    into_object = _object(node, fills, drops=drops) if node.properties or node.additional is not None else None
    into_list = _list(node, fills, drops=drops) if node.items is not None else None
    if into_object is None:
        return into_list
    if into_list is None:
        return into_object

    def either(value: Any) -> None:
        into_object(value)
        into_list(value)

    return either


def _object(node: Structural, fills: Fills, *, drops: bool = True) -> Fill:
    defaults = [(key, json_copier(sub.default)) for key, sub in node.properties.items() if fills(sub)]
    inside = [
        (key, go_on) for key, sub in node.properties.items() if (go_on := _fill(sub, fills, drops=drops)) is not None
    ]
    others = node.additional
    fill_others = None if others is None else _fill(others, fills, drops=drops)

    def fill(value: Any) -> None:
        if value.__class__ is not dict:
            return
        if None in value.values():
            _nulls(value, node, fills, drops=drops)
        for key, make in defaults:
            if key not in value:
                value[key] = make()
        for key, go_on in inside:
            sub = value.get(key)
            if sub is not None:
                go_on(sub)
        if fill_others is not None:
            for key, sub in value.items():
                if key not in node.properties and sub is not None:
                    fill_others(sub)

    return fill


def _nulls(value: dict[str, Any], node: Structural, fills: Fills, *, drops: bool) -> None:
    """Replace each null that is not allowed by its default, or drop it if it has none."""
    for key in [key for key, sub in value.items() if sub is None]:
        sub = node.child(key)
        if sub is None or sub.nullable:
            continue
        if fills(sub):
            value[key] = json_copier(sub.default)()
        elif not has_default(sub) and (drops or not sub.types):
            del value[key]


def _list(node: Structural, fills: Fills, *, drops: bool) -> Fill:
    items = node.items
    inside = None if items is None else _fill(items, fills, drops=drops)
    null = json_copier(items.default) if items is not None and fills(items) and not items.nullable else None

    def fill(value: Any) -> None:
        if value.__class__ is not list:
            return
        if null is not None and None in value:
            value[:] = [null() if item is None else item for item in value]
        if inside is not None:
            for item in value:
                if item is not None:
                    inside(item)

    return fill


def has_default(node: Structural) -> bool:
    """Whether the node has a default; ``default: null`` does not count, as in Go."""
    return node.default is not MISSING and node.default is not None
