"""Lists that are sets or maps: no value, or no combination of key values, may occur twice (behaviour J25).

Source: ``apiextensions-apiserver/pkg/apiserver/schema/listtype``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extapi.errors import FieldError
from extapi.schema.structural import Structural, join, join_key


def validate_lists(value: Any, node: Structural | None, path: str = "") -> Iterator[FieldError]:
    """One error per value that occurs more than once, at its second occurrence; items of map lists must be objects.

    Lists of kinds that are built into kube-apiserver, which a strategic merge patch merges or that say so, are not
    judged: there the validation of each kind does it.
    """
    if node is None:
        return
    if isinstance(value, list):
        if node.patch_strategy or node.list_repeats:
            pass
        elif node.list_type == "set":
            yield from _duplicates(value, value, path)
        elif node.list_type == "map":
            yield from _map(value, node.list_map_keys, path)
        for index, item in enumerate(value):
            yield from validate_lists(item, node.items, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, sub in value.items():
            if key in node.properties:
                yield from validate_lists(sub, node.properties[key], join(path, key))
            elif node.additional is not None:
                yield from validate_lists(sub, node.additional, join_key(path, key))


def key_of(item: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """The keys of an item of a map list. Absent keys stay absent, and are equal to each other."""
    return {key: item[key] for key in keys if key in item} if isinstance(item, dict) else {}


def _map(items: list[Any], keys: tuple[str, ...], path: str) -> Iterator[FieldError]:
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            yield FieldError.invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
            return
    found = [key_of(item, keys) for item in items]
    yield from _duplicates(found, found, path)


def _duplicates(values: list[Any], printed: list[Any], path: str) -> Iterator[FieldError]:
    times: dict[Any, int] = {}
    for index, value in enumerate(values):
        frozen = freeze(value)
        times[frozen] = times.get(frozen, 0) + 1
        if times[frozen] == 2:
            yield FieldError.duplicate(f"{path}[{index}]", printed[index])


def freeze(value: Any) -> Any:
    """A hashable stand-in for a JSON value: two are equal if the values are, and True is not 1."""
    if isinstance(value, dict):
        return ("object", frozenset((key, freeze(sub)) for key, sub in value.items()))
    if isinstance(value, list):
        return ("array", tuple(freeze(item) for item in value))
    return (value.__class__ is bool, value)
