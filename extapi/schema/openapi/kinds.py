"""What the schemas of kinds and their lists have besides the author's fields: apiVersion, kind, metadata, extensions.

Source: ``apiextensions-apiserver/pkg/controller/openapi/builder`` buildKubeNative and buildListSchema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from extapi.schema.openapi.meta import DOCS, META, type_meta
from extapi.schema.openapi.model import ResourceModel

Reference = Callable[[str, str], dict[str, Any]]
"""Makes a reference to a schema, given its name and a description."""

_METADATA: Final = f"Standard object's metadata. More info: {DOCS}#metadata"
_LIST_METADATA: Final = f"Standard list metadata. More info: {DOCS}#types-kinds"


def completed(kind: dict[str, Any], reference: Reference, *, keep_open: bool = False) -> dict[str, Any]:
    """Add apiVersion, kind and metadata to a kind's schema, in place, and to embedded objects in it.

    Args:
        kind: The schema.
        reference: How the document refers to a schema.
        keep_open: Leave embedded objects that keep unknown fields as they are; old kubectl would refuse such fields.
    """
    _embed(kind, reference, keep_open=keep_open)
    own = {key: value for key, value in kind.get("properties", {}).items() if key not in {"apiVersion", "kind"}}
    kind["properties"] = type_meta() | own | {"metadata": reference(f"{META}ObjectMeta", _METADATA)}
    return kind


def extensions(gvk: Mapping[str, str], selectable: Sequence[str]) -> dict[str, Any]:
    """The extensions that name group, version and kind, and the fields that selectors may use."""
    fields = {"x-kubernetes-selectable-fields": [{"fieldPath": path} for path in selectable]} if selectable else {}
    return {"x-kubernetes-group-version-kind": [dict(gvk)], **fields}


def list_schema(model: ResourceModel, reference: Reference) -> dict[str, Any]:
    """The schema of a kind's list."""
    items = {
        "type": "array",
        "description": f"List of {model.plural}. More info: {DOCS}",
        "items": reference(model.name, ""),
    }
    return {
        "description": f"{model.list_kind} is a list of {model.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **type_meta(),
            "items": items,
            "metadata": reference(f"{META}ListMeta", _LIST_METADATA),
        },
        **extensions(model.gvk | {"kind": model.list_kind}, model.selectable),
    }


def _embedded_type_meta() -> dict[str, Any]:
    """The properties apiVersion and kind of an embedded object."""
    about = {
        "apiVersion": "apiVersion defines the versioned schema of this representation of an object. "
        f"More info: {DOCS}#resources",
        "kind": "kind is a string value representing the type of this object. In CamelCase. "
        f"More info: {DOCS}#types-kinds",
    }
    return {name: {"type": "string", "description": text} for name, text in about.items()}


def _embed(schema: dict[str, Any], reference: Reference, *, keep_open: bool = False) -> None:
    """Add apiVersion, kind and metadata to embedded objects, in place."""
    for sub in schema.get("properties", {}).values():
        _embed(sub, reference, keep_open=keep_open)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            _embed(schema[key], reference, keep_open=keep_open)
    if not schema.get("x-kubernetes-embedded-resource"):
        return
    if keep_open and schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    metadata = reference(f"{META}ObjectMeta", _METADATA)
    schema["properties"] = {**schema.get("properties", {}), **_embedded_type_meta(), "metadata": metadata}
    required = list(schema.get("required", []))
    schema["required"] = required + [key for key in ("kind", "apiVersion") if key not in required]
