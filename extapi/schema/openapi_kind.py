"""What the schemas of kinds and of their lists have beside an author's own fields.

Source: ``apiextensions-apiserver/pkg/controller/openapi/builder`` buildKubeNative and buildListSchema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from extapi.schema.openapi_meta import DOCS, LIST_METADATA, META, METADATA, Reference, embed, type_meta
from extapi.schema.openapi_model import ResourceModel


def completed(kind: dict[str, Any], reference: Reference, *, keep_open: bool = False) -> dict[str, Any]:
    """The schema of a kind with apiVersion, kind and metadata, its own and those of embedded objects (:func:`embed`)."""
    embed(kind, reference, keep_open=keep_open)
    own = {key: value for key, value in kind.get("properties", {}).items() if key not in {"apiVersion", "kind"}}
    kind["properties"] = type_meta() | own | {"metadata": reference(f"{META}ObjectMeta", METADATA)}
    return kind


def extensions(gvk: Mapping[str, str], selectable: Sequence[str]) -> dict[str, Any]:
    """Group, version and kind, and the fields that selectors may name."""
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
            "metadata": reference(f"{META}ListMeta", LIST_METADATA),
        },
        **extensions(model.gvk | {"kind": model.list_kind}, model.selectable),
    }
