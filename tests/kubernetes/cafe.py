"""A kind in two versions, with status and scale, served twice: by us, and by kube-apiserver as a custom resource.

``extapi serve tests.kubernetes.cafe:api`` serves ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extapi import Api, Group, Kind, Scale, Version
from extapi.crd.export import export_kind

OURS = "ours.cafe.test"
THEIRS = "kube.cafe.test"
"""As long as the other name."""
PLURAL = "cafes"


def _schema(**spec: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": {"open": {"type": "boolean"}, "tables": {"type": "integer"}}},
        },
    }


_SPEC: dict[str, Any] = {
    "tables": {"type": "integer", "default": 4, "maximum": 100},
    "notes": {"type": "array", "items": {"type": "string"}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
CAFE = Kind(
    "Cafe",
    versions={
        "v1": Version(_schema(**_SPEC)),
        "v2": Version(_schema(**_SPEC)),
    },
    storage="v1",
    plural=PLURAL,
    scale=Scale(spec_replicas_path=".spec.tables", status_replicas_path=".status.tables"),
)
api = Api(Group(OURS, CAFE))


def definitions() -> Iterator[dict[str, Any]]:
    """The same kind for kube-apiserver."""
    exported = export_kind(CAFE, THEIRS)
    if exported.manifest is None:
        raise ValueError(f"{exported.kind}: {'; '.join(exported.notes)}")
    yield exported.manifest
