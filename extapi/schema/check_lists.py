"""Checks ``x-kubernetes-list-type``, ``-list-map-keys`` and ``-map-type`` in a schema (behaviour J17)."""

from __future__ import annotations

from collections.abc import Iterator

from extapi.errors import FieldError
from extapi.fielderrors import MOST_ERRORS, RawValue
from extapi.schema.default import has_default
from extapi.schema.gojson import go_json, items_as_go
from extapi.schema.structural import Structural, join

_IN_KEYS = "this property is in x-kubernetes-list-map-keys, so it"


def check_list_types(node: Structural, path: str, *, atomic_sets: bool = True) -> Iterator[FieldError]:
    """The errors in the list and map types of one node.

    Args:
        node: The node.
        path: Where it is.
        atomic_sets: Whether lists and maps in sets have to be atomic.
    """
    yield from _map_type(node, path)
    at = join(path, "x-kubernetes-list-type")
    if node.list_type and node.type != "array":
        text = "must be array if x-kubernetes-list-type is specified"
        where = join(path, "type")
        yield FieldError.invalid(where, node.type, text) if node.type else FieldError.required(where, text)
    elif atomic_sets and node.list_type == "set" and node.items is not None:
        yield from _set_items(node.items, join(path, "items"))
    if node.list_type and node.list_type not in {"atomic", "set", "map"}:
        yield FieldError.not_supported(at, node.list_type, ("atomic", "set", "map"))
    if node.list_map_keys and node.list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield FieldError.invalid(at, node.list_type, text) if node.list_type else FieldError.required(at, text)
    if node.list_type == "map":
        yield from _map(node, path)


def check_map_items(node: Structural, path: str) -> Iterator[FieldError]:
    """The errors of items that may be null or without a key, in map lists and sets.

    Source: ``validateMapListKeysMapSet``.
    """
    if node.list_type not in {"set", "map"} or node.items is None:
        return
    if node.items.nullable:
        text = f"cannot be nullable when x-kubernetes-list-type is {node.list_type}"
        yield FieldError.forbidden(join(path, "items.nullable"), text)
    if node.list_type == "set":
        return
    required = set(node.items.required)
    for key in node.list_map_keys[:MOST_ERRORS]:
        sub = node.items.properties.get(key)
        if sub is None:
            continue
        at = f"{join(path, 'items.properties')}[{key}]"
        if key not in required and not has_default(sub):
            yield FieldError.required(join(at, "default"), f"{_IN_KEYS} must have a default or be a required property")
        if sub.nullable:
            yield FieldError.forbidden(join(at, "nullable"), f"{_IN_KEYS} cannot be nullable")


def has_open_sets(node: Structural) -> bool:
    """Whether the node is a set of lists or maps that are not atomic."""
    return node.list_type == "set" and node.items is not None and any(_set_items(node.items, ""))


def _map_type(node: Structural, path: str) -> Iterator[FieldError]:
    if node.map_type and node.type != "object":
        text = "must be object if x-kubernetes-map-type is specified"
        where = join(path, "type")
        yield FieldError.invalid(where, node.type, text) if node.type else FieldError.required(where, text)
    if node.map_type and node.map_type not in {"atomic", "granular"}:
        yield FieldError.not_supported(join(path, "x-kubernetes-map-type"), node.map_type, ("atomic", "granular"))


def _set_items(items: Structural, path: str) -> Iterator[FieldError]:
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    # Both errors show the list type, as kube-apiserver does.
    if items.type == "array" and items.list_type not in {"", "atomic"}:
        yield FieldError.invalid(join(path, "x-kubernetes-list-type"), items.list_type, text)
    if items.type == "object" and items.map_type != "atomic":
        yield FieldError.invalid(join(path, "x-kubernetes-map-type"), items.list_type or None, text)


def _map(node: Structural, path: str) -> Iterator[FieldError]:
    keys_at = join(path, "x-kubernetes-list-map-keys")
    if not node.list_map_keys:
        yield FieldError.required(keys_at, "must not be empty if x-kubernetes-list-type is map")
    items = node.items
    if items is None:
        listed = node.unsupported.get("items")
        if listed is None:
            yield FieldError.required(join(path, "items"), "must have a schema if x-kubernetes-list-type is map")
        else:
            text = "must only have a single schema if x-kubernetes-list-type is map"
            yield FieldError.invalid(join(path, "items"), RawValue(go_json(items_as_go(listed))), text)
        return
    if items.type != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        yield FieldError.invalid(join(path, "items.type"), items.type, text)
        return
    keys, seen = list(node.list_map_keys), set[str]()
    for key in keys[:MOST_ERRORS]:
        sub = items.properties.get(key)
        if sub is None:
            yield FieldError.invalid(keys_at, keys, "entries must all be names of item properties")
        elif sub.type in {"array", "object"}:
            at = f"{join(path, 'items.properties')}[{key}].type"
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield FieldError.invalid(at, items.type, text)  # the type of the item, as kube-apiserver says
        if key in seen:
            yield FieldError.invalid(keys_at, keys, "must not contain duplicate entries")
        seen.add(key)
