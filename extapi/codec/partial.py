"""Objects reduced to their metadata: PartialObjectMetadata and PartialObjectMetadataList (behaviour G6).

Source: ``k8s.io/apiserver/pkg/endpoints/handlers/response.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["partial", "partial_list"]


def partial(obj: Mapping[str, Any], *, version: str = "v1") -> dict[str, Any]:
    """An object as PartialObjectMetadata, in version v1 or v1beta1 of meta.k8s.io."""
    return {
        "apiVersion": f"meta.k8s.io/{version}",
        "kind": "PartialObjectMetadata",
        "metadata": obj.get("metadata") or {},
    }


def partial_list(
    objects: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any], *, version: str = "v1"
) -> dict[str, Any]:
    """Objects as a PartialObjectMetadataList with the metadata of a list.

    Without items it has ``null``, unlike typed lists.
    """
    items = [partial(obj, version=version) for obj in objects]
    return {
        "apiVersion": f"meta.k8s.io/{version}",
        "kind": "PartialObjectMetadataList",
        "metadata": dict(metadata),
        "items": items or None,
    }
