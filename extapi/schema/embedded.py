"""Objects embedded in objects (``x-kubernetes-embedded-resource``): their apiVersion, kind and metadata.

The server does not know whether the kind of an embedded object is namespaced: a namespace that is present must be a
valid name, and names must fit into a URL path.

Source: ``apiextensions-apiserver/pkg/apiserver/schema/objectmeta`` (coerce, validation).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from extapi.api.metadata import coerce
from extapi.api.metadata_rules import validate_object_meta
from extapi.api.names import dns1035_label, lower, path_segment
from extapi.errors import BadRequest, FieldError
from extapi.schema.structural import Structural, join, join_key


def holds_embedded(node: Structural) -> bool:
    """Whether the schema has embedded objects anywhere."""
    inner = [*node.properties.values(), *(sub for sub in (node.items, node.additional) if sub is not None)]
    return node.embedded_resource or any(holds_embedded(sub) for sub in inner)


def coerce_embedded(value: Any, node: Structural | None, path: str = "") -> list[str]:
    """Coerce the metadata of every embedded object in ``value``, in place (behaviour J19).

    Returns:
        The paths of unknown fields, which were dropped.

    Raises:
        BadRequest: An apiVersion, a kind or metadata has the wrong type.
    """
    unknown: list[str] = []
    if node is None:
        return unknown
    if isinstance(value, list):
        for index, item in enumerate(value):
            unknown += coerce_embedded(item, node.items, f"{path}[{index}]")
    elif isinstance(value, dict):
        if node.embedded_resource:
            unknown += _coerce(value, path)
        for key, sub in value.items():
            at = join(path, key) if key in node.properties else join_key(path, key)
            unknown += coerce_embedded(sub, node.child(key), at)
    return unknown


def _coerce(obj: dict[str, Any], path: str) -> list[str]:
    for key in ("apiVersion", "kind"):
        if key in obj and not isinstance(obj[key], str):
            raise BadRequest(FieldError.invalid(join(path, key), obj[key], "must be a string").text())
    if "metadata" not in obj:
        return []
    try:
        obj["metadata"], unknown = coerce(obj["metadata"])
    except BadRequest as error:
        raise BadRequest(FieldError.invalid(join(path, "metadata"), obj["metadata"], error.message).text()) from None
    return [join(path, name) for name in unknown]


def validate_embedded(value: Any, node: Structural | None, path: str = "") -> Iterator[FieldError]:
    """The errors of every embedded object in ``value``."""
    if node is None:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from validate_embedded(item, node.items, f"{path}[{index}]")
    elif isinstance(value, dict):
        if node.embedded_resource:
            yield from _identity(value, path)
            yield from _metadata(value, path)
        for key, sub in value.items():
            at = join(path, key) if key in node.properties else join_key(path, key)
            yield from validate_embedded(sub, node.child(key), at)


def _identity(obj: dict[str, Any], path: str) -> Iterator[FieldError]:
    for key in ("apiVersion", "kind"):
        at = join(path, key)
        if key not in obj:
            yield FieldError.required(at)
            continue
        value = obj[key]
        if not isinstance(value, str):
            yield FieldError.invalid(at, value, "must be a string")
        elif not value:
            yield FieldError.invalid(at, value, "must not be empty")
        elif key == "apiVersion" and value.count("/") > 1:
            yield FieldError.invalid(at, value, f"unexpected GroupVersion string: {value}")
        elif key == "kind" and (problems := dns1035_label(lower(value))):
            detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
            yield FieldError.invalid(at, value, detail)


def _metadata(obj: dict[str, Any], path: str) -> Iterator[FieldError]:
    if "metadata" not in obj:
        return
    try:
        metadata, _ = coerce(obj["metadata"])
    except BadRequest as error:  # of a default, a conversion or a plugin: what clients send was coerced before
        yield FieldError.invalid(join(path, "metadata"), obj["metadata"], error.message)
        return
    named = {**metadata, "name": metadata.get("name") or "fakename"}
    namespaced = "namespace" in metadata
    for broken in validate_object_meta({"metadata": named}, namespaced=namespaced, name_rule=path_segment):
        yield replace(broken, path=join(path, broken.path))
