"""Follows the JSON paths of columns through a schema, to find those that lead nowhere.

What a schema leaves open (unknown fields, any keys, embedded resources) can hold anything. Must not know objects.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from extapi.api.column import Column
from extapi.api.types import ObjectMeta
from extapi.codec.jsonpath import JSONPath, Step
from extapi.schema.compile import compile_part
from extapi.schema.structural import Structural

_ANYTHING: Final = Structural(preserve_unknown=True)
_TEXT: Final = Structural(type="string")
_FITS: Final[Mapping[str, tuple[str, ...]]] = {
    "integer": ("integer", "number"),
    "number": ("integer", "number"),
    "boolean": ("boolean",),
    "date": ("string",),
}
"""The types of values that a column shows, by the column's type; a string column shows all."""


def column_problem(column: Column, structural: Structural) -> str:
    """Why a column is empty for every object of this schema; the empty string: it is not.

    Raises:
        JSONPathError: The path cannot be read.
    """
    if column.cell is not None:
        return ""
    nodes: Sequence[Structural] = [_whole(structural)]
    path = JSONPath(column.json_path)
    for step in path.steps:
        found = [leads for node in nodes for leads in _follow(node, step)]
        if not found:
            return f"{path.text} leads nowhere: {_lost(nodes, step)}"
        condition = step.condition
        if condition is not None and (why := _dead(condition, found)):
            return f"{path.text} never holds: {why}"
        nodes = found
    wanted = _FITS.get(column.type, ())
    types = {kind for node in nodes for kind in node.types or wanted}
    if wanted and not types & set(wanted):
        return (
            f"{path.text} is of type {', '.join(sorted(types))}, and a column of type {column.type} shows none of that"
        )
    return ""


def missing(names: Iterable[str], wanted: str) -> str:
    """``there is no "wanted"``, with the nearest name or all that exist."""
    known = list(names)
    near = difflib.get_close_matches(wanted, known, 1)
    if near:
        return f"there is no {wanted!r}; did you mean {near[0]!r}?"
    return f"there is no {wanted!r} beside {', '.join(known)}" if known else f"there is no {wanted!r}"


def _dead(condition: JSONPath, nodes: Sequence[Structural]) -> str:
    for step in condition.steps:
        found = [leads for node in nodes for leads in _follow(node, step)]
        if not found:
            return _lost(nodes, step)
        nodes = found
    return ""


def _lost(nodes: Sequence[Structural], step: Step) -> str:
    if step.members:
        return _lost(nodes, step.members[0])
    if step.name:
        return missing(dict.fromkeys(name for node in nodes for name in node.properties), step.name)
    return "there is no list" if step.kind == "items" else "there is nothing below"


def _follow(node: Structural, step: Step) -> Iterator[Structural]:
    """The schemas of the values that a step finds in a value of ``node``."""
    if step.kind == "itself" or _open(node):
        yield node
    elif step.kind == "field":
        yield from _field(node, step.name)
    elif step.kind == "union":
        for member in step.members:
            yield from _follow(node, member)
    elif step.kind == "children":
        yield from _children(node)
    elif step.kind == "items":
        if node.type == "array":
            yield node.items or _ANYTHING
    else:
        yield from _field(node, step.name)
        for child in _children(node):
            yield from _follow(child, step)


def _field(node: Structural, name: str) -> Iterator[Structural]:
    found = node.child(name)
    if found is not None:
        yield found
    elif node.embedded_resource and name in {"apiVersion", "kind", "metadata"}:
        yield _whole(node).properties[name]
    elif node.preserve_unknown or node.additional_properties is True:
        yield _ANYTHING


def _children(node: Structural) -> Iterator[Structural]:
    yield from node.properties.values()
    if node.additional is not None:
        yield node.additional
    if node.items is not None:
        yield node.items
    if node.preserve_unknown or node.additional_properties is True:
        yield _ANYTHING


def _open(node: Structural) -> bool:
    """Whether a value can be anything."""
    return not node.types


def _whole(structural: Structural) -> Structural:
    """The schema with the implicit fields of a whole object, also where it has rules on its name."""
    implicit = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _metadata()}
    return dataclasses.replace(structural, properties={**structural.properties, **implicit})


@cache
def _metadata() -> Structural:
    return compile_part(ObjectMeta)
