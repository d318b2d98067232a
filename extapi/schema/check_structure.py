"""Checks that a schema is structural (behaviour J12 to J15): each value has a type outside of allOf, anyOf, oneOf and not.

Source: ``apiextensions-apiserver/pkg/apiserver/schema`` NewStructural and ValidateStructural.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from extapi.errors import FieldError
from extapi.schema.default import has_default
from extapi.schema.pattern import syntax_error
from extapi.schema.structural import MISSING, Structural, join

_INTEGER, _STRING = Structural(type="integer"), Structural(type="string")


def structure_errors(structural: Structural, path: str, *, everywhere: bool = False) -> list[FieldError]:
    """The errors of a whole object's schema, sorted by their texts.

    Args:
        structural: The schema.
        path: Where it is.
        everywhere: Whether what a junctor mentions must exist outside of it at every depth. kube-apiserver asks that only of
            the junctors at the root.
    """
    found = [
        *_node(structural, path, "root"),
        *_values(structural, path),
        *_complete(structural, structural, path, path, everywhere=everywhere),
    ]
    return sorted(found, key=FieldError.text)


def _node(node: Structural, path: str, level: str) -> Iterator[FieldError]:
    """The rules for a node of the structure; ``level`` is root, field or item."""
    if node.type == "array" and node.items is None and not node.unsupported.get("items"):
        yield FieldError.required(join(path, "items"), "must be specified")
    if node.additional_properties is not None:
        yield from _additional(node, join(path, "additionalProperties"), level)
    yield from _flags(node, path)
    yield from _type(node, path, level)
    if level == "root" or node.embedded_resource:
        for name in ("apiVersion", "kind"):
            if name in node.properties and node.properties[name].type != "string":
                at = f"{join(path, 'properties')}[{name}].type"
                yield FieldError.invalid(at, node.properties[name].type, "must be string")
        yield from _metadata(node, path, level)
    for key, sub in node.properties.items():
        if not sub.plain:
            yield from _node(sub, f"{join(path, 'properties')}[{key}]", "field")
    if node.items is not None:
        yield from _node(node.items, join(path, "items"), "item")


def _additional(node: Structural, path: str, level: str) -> Iterator[FieldError]:
    if level == "root":
        yield FieldError.forbidden(path, "must not be used at the root")
    if node.embedded_resource:
        yield FieldError.forbidden(path, "must not be used if x-kubernetes-embedded-resource is set")
    if node.additional is not None:
        yield from _node(node.additional, path, "field")


def _flags(node: Structural, path: str) -> Iterator[FieldError]:
    if node.int_or_string and node.preserve_unknown:
        at = join(path, "x-kubernetes-preserve-unknown-fields")
        yield FieldError.invalid(at, value=True, detail="must be false if x-kubernetes-int-or-string is true")
    if node.embedded_resource:
        if node.int_or_string:
            at = join(path, "x-kubernetes-embedded-resource")
            yield FieldError.invalid(at, value=True, detail="must be false if x-kubernetes-int-or-string is true")
        if not node.preserve_unknown and not node.properties:
            yield FieldError.required(
                join(path, "properties"),
                "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            )


def _type(node: Structural, path: str, level: str) -> Iterator[FieldError]:
    at = join(path, "type")
    if node.embedded_resource and node.type != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        yield FieldError.invalid(at, node.type, text) if node.type else FieldError.required(at, text)
    elif not node.type and not node.int_or_string and not node.preserve_unknown:
        where = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
        yield FieldError.required(at, f"must not be empty {where[level]}")
    if level == "root" and node.type not in {"", "object"}:
        yield FieldError.invalid(at, node.type, "must be object at the root")


def _metadata(node: Structural, path: str, level: str) -> Iterator[FieldError]:
    meta = node.properties.get("metadata")
    if meta is None:
        return
    at = f"{join(path, 'properties')}[metadata]"
    if meta.type != "object":
        yield FieldError.invalid(join(at, "type"), meta.type, "must be object")
    rest = dataclasses.replace(meta, type="", default=MISSING, properties={})
    if level == "root" and (rest != Structural() or not meta.properties.keys() <= {"name", "generateName"}):
        yield FieldError.forbidden(
            at, "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )


def _values(node: Structural, path: str) -> Iterator[FieldError]:
    """The rules for value validations, in the whole structure."""
    yield from _pattern(node, path)
    any_of, all_of = _int_or_string_patterns(node)
    for at, branch in node.branches():
        if any_of and at.startswith("anyOf["):
            continue
        yield from _branch(branch, join(path, at), skip_any_of=all_of and at == "allOf[0]")
    for at, sub in node.nodes():
        if not sub.plain:
            yield from _values(sub, join(path, at))


def _int_or_string_patterns(node: Structural) -> tuple[bool, bool]:
    """Whether int-or-string is written in an allowed way (behaviour J14): in anyOf, or in anyOf of the first allOf."""
    pattern = (_INTEGER, _STRING)
    return node.any_of == pattern, bool(node.all_of) and node.all_of[0].any_of == pattern


def _pattern(node: Structural, path: str) -> Iterator[FieldError]:
    why = syntax_error(node.pattern) if node.pattern else ""
    if why:
        text = f"must be a valid regular expression, but isn't: {why}"
        yield FieldError.invalid(join(path, "pattern"), node.pattern, text)


def _branch(node: Structural, path: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    """A schema inside allOf, anyOf, oneOf or not: it may constrain values, but not define structure (behaviour J13)."""
    forbidden = {
        "type": (node.type, "empty"),
        "title": (node.title, "empty"),
        "description": (node.description, "empty"),
        "nullable": (node.nullable, "false"),
        "default": (has_default(node), "undefined"),
        # False says nothing that would be read.
        "additionalProperties": (node.additional_properties not in (None, False), "undefined"),
        "x-kubernetes-preserve-unknown-fields": (node.preserve_unknown, "false"),
        "x-kubernetes-embedded-resource": (node.embedded_resource, "false"),
        "x-kubernetes-int-or-string": (node.int_or_string, "false"),
        "x-kubernetes-list-type": (node.list_type, "undefined"),
        "x-kubernetes-list-map-keys": (node.list_map_keys, "empty"),
        "x-kubernetes-map-type": (node.map_type, "undefined"),
        "x-kubernetes-validations": (node.validations, "empty"),
    }
    for keyword, (used, allowed) in forbidden.items():
        if used:
            yield FieldError.forbidden(join(path, keyword), f"must be {allowed} to be structural")
    if "metadata" in node.properties:
        at = f"{join(path, 'properties')}[metadata]"
        yield FieldError.forbidden(at, "must not be specified in a nested context")
    yield from _pattern(node, path)
    for at, branch in node.branches():
        if not (skip_any_of and at.startswith("anyOf[")):
            yield from _branch(branch, join(path, at))
    for at, sub in dataclasses.replace(node, additional_properties=None).nodes():
        yield from _branch(sub, join(path, at))


def _complete(
    node: Structural | None, branch: Structural, path: str, branch_path: str, *, everywhere: bool
) -> Iterator[FieldError]:
    """The fields that a junctor mentions must exist in the structure outside of it."""
    if node is None:
        yield FieldError.required(path, f"because it is defined in {branch_path}")
        return
    for at, inner in branch.branches():
        yield from _complete(node, inner, path, join(branch_path, at), everywhere=everywhere)
    if node is branch:  # the structure itself: continue with its own nodes
        for at, sub in node.nodes() if everywhere else ():
            yield from _complete(sub, sub, join(path, at), join(path, at), everywhere=True)
        return
    if branch.items is not None:
        at, branch_at = join(path, "items"), join(branch_path, "items")
        yield from _complete(node.items, branch.items, at, branch_at, everywhere=everywhere)
    for key, sub in branch.properties.items():
        at, branch_at = f"{join(path, 'properties')}[{key}]", f"{join(branch_path, 'properties')}[{key}]"
        yield from _complete(node.properties.get(key), sub, at, branch_at, everywhere=everywhere)
