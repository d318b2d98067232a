"""Checks ``x-kubernetes-list-type``, ``-list-map-keys`` and ``-map-type`` in a schema (behaviour J17)."""

from __future__ import annotations

from collections.abc import Iterator

from extapi.errors import FieldError
from extapi.schema.default import has_default
from extapi.schema.structural import Structural, join

_IN_KEYS = "this property is in x-kubernetes-list-map-keys, so it"


def check_lists(node: Structural, path: str) -> Iterator[FieldError]:
    """The errors in the list and map types of one node."""
    yield from _map_type(node, path)
    at = join(path, "x-kubernetes-list-type")
    if node.list_type and node.type != "array":
        text = "must be array if x-kubernetes-list-type is specified"
        where = join(path, "type")
        yield FieldError.invalid(where, node.type, text) if node.type else FieldError.required(where, text)
    elif node.list_type == "set" and node.items is not None:
        yield from _set_items(node.items, join(path, "items"))
    if node.list_type and node.list_type not in {"atomic", "set", "map"}:
        yield FieldError.not_supported(at, node.list_type, ("atomic", "set", "map"))
    if node.list_map_keys and node.list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield FieldError.invalid(at, node.list_type, text) if node.list_type else FieldError.required(at, text)
    if node.list_type == "map":
        yield from _map(node, path)
    if node.list_type in {"set", "map"} and node.items is not None and node.items.nullable:
        text = f"cannot be nullable when x-kubernetes-list-type is {node.list_type}"
        yield FieldError.forbidden(join(path, "items.nullable"), text)


def _map_type(node: Structural, path: str) -> Iterator[FieldError]:
    if node.map_type and node.type != "object":
        text = "must be object if x-kubernetes-map-type is specified"
        where = join(path, "type")
        yield FieldError.invalid(where, node.type, text) if node.type else FieldError.required(where, text)
    if node.map_type and node.map_type not in {"atomic", "granular"}:
        yield FieldError.not_supported(join(path, "x-kubernetes-map-type"), node.map_type, ("atomic", "granular"))


def _set_items(items: Structural, path: str) -> Iterator[FieldError]:
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.type == "array" and items.list_type not in {"", "atomic"}:
        yield FieldError.invalid(join(path, "x-kubernetes-list-type"), items.list_type, text)
    if items.type == "object" and items.map_type != "atomic":
        yield FieldError.invalid(join(path, "x-kubernetes-map-type"), items.map_type, text)


def _map(node: Structural, path: str) -> Iterator[FieldError]:
    keys_at = join(path, "x-kubernetes-list-map-keys")
    if not node.list_map_keys:
        yield FieldError.required(keys_at, "must not be empty if x-kubernetes-list-type is map")
    items = node.items
    if items is None:
        yield FieldError.required(join(path, "items"), "must have a schema if x-kubernetes-list-type is map")
        return
    if items.type != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        yield FieldError.invalid(join(path, "items.type"), items.type, text)
        return
    keys = list(node.list_map_keys)
    for key in dict.fromkeys(keys):
        if keys.count(key) > 1:
            yield FieldError.invalid(keys_at, keys, "must not contain duplicate entries")
        sub = items.properties.get(key)
        if sub is None:
            yield FieldError.invalid(keys_at, keys, "entries must all be names of item properties")
            continue
        at = f"{join(path, 'items.properties')}[{key}]"
        if sub.type in {"array", "object"}:
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield FieldError.invalid(join(at, "type"), sub.type, text)
        if key not in items.required and not has_default(sub):
            yield FieldError.required(join(at, "default"), f"{_IN_KEYS} must have a default or be a required property")
        if sub.nullable:
            yield FieldError.forbidden(join(at, "nullable"), f"{_IN_KEYS} cannot be nullable")
