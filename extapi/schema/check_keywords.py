"""Checks keywords that make a schema wrong where they stand, although its structure is right (behaviour J16, J17, J30).

The errors come in kube-apiserver's order: what stands at a node, then below it, then what it says of lists, maps and rules.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` ValidateCustomResourceDefinitionOpenAPISchema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from extapi.errors import FieldError
from extapi.schema.check_lists import check_list_types, check_map_items
from extapi.schema.default import has_default
from extapi.schema.structural import MAX_DEPTH, Structural, from_openapi, join

META = ("apiVersion", "kind", "metadata")
"""The fields of a whole object that its schema does not describe."""
TYPES = ("array", "boolean", "integer", "number", "object", "string")
_NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a schema. An update of a definition may keep what newer checks refuse (behaviour J11).

    Attributes:
        known_types: Types are those of OpenAPI.
        atomic_sets: Lists and maps in sets are atomic.
        sound_keys: Keys of map lists are required or have a default; nothing in map lists and sets is nullable.
        pruned_defaults: Defaults have no unknown fields.
        of_author: The schema is an author's, who gets each mistake once: no keyword may be unknown, and junctors (allOf, anyOf,
            oneOf, not) are not judged for what may not stand in them at all.
    """

    known_types: bool = True
    atomic_sets: bool = True
    sound_keys: bool = True
    pruned_defaults: bool = True
    of_author: bool = False


ALL = Asked()


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a node is: at the root, inside the metadata of an object, in a junctor, where defaults are forbidden, how deep."""

    root: bool = False
    meta: bool = False
    nested: bool = False
    no_defaults: str = ""
    depth: int = 0


@lru_cache(maxsize=1024)
def _below(at: _Place) -> tuple[_Place, _Place]:
    """The place of what is below a node, outside and inside of its junctors. There are few places, and many nodes."""
    below = replace(at, root=False, depth=at.depth + 1)
    return below, replace(below, nested=True)


def check_keywords(structural: Structural, path: str, asked: Asked = ALL) -> list[FieldError]:
    """The errors of a whole object's schema, also inside of junctors.

    Args:
        structural: The schema.
        path: Where it is.
        asked: What is asked of it.
    """
    return list(_node(structural, path, asked, _Place(root=True)))


def _node(node: Structural, path: str, asked: Asked, at: _Place) -> Iterator[FieldError]:
    yield from _keywords(node, path, asked, at)
    below, nested = _below(at)
    judged = not (asked.of_author and at.nested)
    if node.additional_properties is not None:
        if judged and node.properties and node.additional_properties is not True:
            text = "additionalProperties and properties are mutual exclusive"
            yield FieldError.forbidden(join(path, "additionalProperties"), text)
        if node.additional is not None:
            inner = below
            if at.meta:
                inner = replace(below, no_defaults="inside additionalProperties applying to object metadata")
            yield from _node(node.additional, join(path, "additionalProperties"), asked, inner)
    for key, sub in node.properties.items():
        if sub.plain:
            continue
        inner = below
        if (at.root or node.embedded_resource) and key in META:
            inner = replace(below, meta=True, no_defaults=f"in top-level {key}" if at.root else below.no_defaults)
        yield from _node(sub, f"{join(path, 'properties')}[{key}]", asked, inner)
    for where, branch in (*_branches(node), *_raw(node.unsupported, ("definitions",), at.depth)):
        yield from _node(branch, join(path, where), asked, nested)
    if node.items is not None:
        yield from _node(node.items, join(path, "items"), asked, below)
    for where, sub in _raw(node.unsupported, ("items", "dependencies"), at.depth):
        yield from _node(sub, join(path, where), asked, below)
    if node.preserve_unknown is False:
        where = join(path, "x-kubernetes-preserve-unknown-fields")
        yield FieldError.invalid(where, value=False, detail="must be true or undefined")
    if judged:
        yield from check_list_types(node, path, atomic_sets=asked.atomic_sets)
        if asked.sound_keys:
            yield from check_map_items(node, path)
    if node.validations:
        from extapi.schema.cel.checks import check_written_rules  # noqa: PLC0415 -- without rules it is not needed

        yield from check_written_rules(node, path, of_author=asked.of_author)


def _keywords(node: Structural, path: str, asked: Asked, at: _Place) -> Iterator[FieldError]:
    if asked.known_types and node.type and node.type not in TYPES and not (asked.of_author and node.type == "null"):
        yield FieldError.not_supported(join(path, "type"), node.type, TYPES)
    if at.no_defaults and has_default(node):
        yield FieldError.forbidden(join(path, "default"), f"must not be set {at.no_defaults}")
    for keyword in _NOT_SUPPORTED:
        value = node.unsupported.get(keyword)
        if value or (value is not None and (asked.of_author or keyword in {"additionalItems", "dependencies", "$ref"})):
            yield FieldError.forbidden(join(path, keyword), f"{keyword} is not supported")
    if node.type == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        yield FieldError.forbidden(join(path, "type"), text)
    if node.unsupported.get("items"):
        yield FieldError.forbidden(join(path, "items"), "items must be a schema object and not an array")
    if at.meta and node.embedded_resource:
        where = join(path, "x-kubernetes-embedded-resource")
        yield FieldError.forbidden(where, "must not be used inside of resource meta")
    if node.unique_items:
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield FieldError.forbidden(join(path, "uniqueItems"), text)
    if asked.of_author:
        for keyword in node.unsupported:
            if keyword not in {*_NOT_SUPPORTED, "items"}:
                yield FieldError.forbidden(join(path, keyword), "is not a keyword of structural schemas")
        if node.additional_properties is False and not at.nested:
            text = "additionalProperties cannot be set to false"
            yield FieldError.forbidden(join(path, "additionalProperties"), text)


def _branches(node: Structural) -> Iterator[tuple[str, Structural]]:
    """The junctors in the order in which they are judged."""
    if node.not_ is not None:
        yield "not", node.not_
    for keyword, group in (("allOf", node.all_of), ("oneOf", node.one_of), ("anyOf", node.any_of)):
        for index, branch in enumerate(group):
            yield f"{keyword}[{index}]", branch


def _raw(unsupported: Mapping[str, Any], keywords: tuple[str, ...], depth: int) -> Iterator[tuple[str, Structural]]:
    """The schemas in keywords that are not supported, which are judged all the same."""
    if not unsupported:
        return
    for keyword in keywords:
        found = unsupported.get(keyword)
        pairs = enumerate(found) if isinstance(found, list) else found.items() if isinstance(found, Mapping) else ()
        for key, schema in pairs:
            if isinstance(schema, Mapping) and depth < MAX_DEPTH:
                try:
                    yield f"{keyword}[{key}]", from_openapi(schema)
                except ValueError:  # it is refused by then, or too deep
                    continue
