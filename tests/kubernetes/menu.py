"""A kind with fields of all sorts in two versions, served twice: by us, and by kube-apiserver as a custom resource.

``extapi serve tests.kubernetes.menu:api`` serves ours.
"""

from __future__ import annotations

from typing import Any

from extapi import Api, Group, Kind, Scale, Version
from extapi.crd.export import export_kind

OURS = "ours.menu.test"
THEIRS = "kube.menu.test"
"""As long as the other name."""
PLURAL = "menus"

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": _TEXT}
_DISH: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": _TEXT, "price": {"type": "integer", "default": 5}, "hints": _TEXTS},
}
_SPEC: dict[str, Any] = {
    "tables": {"type": "integer", "default": 4, "maximum": 100},
    "ratio": {"type": "number"},
    "title": _TEXT,
    "bytes": {"type": "string", "format": "byte"},
    "open": {"type": "boolean"},
    "either": {"x-kubernetes-int-or-string": True},
    "since": {"type": "string", "format": "date-time"},
    "notes": {"type": "array", "items": _TEXT},
    "tags": {"type": "array", "items": _TEXT, "x-kubernetes-list-type": "set"},
    "dishes": {
        "type": "array",
        "items": _DISH,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    "point": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    },
    "words": _TEXTS,
    "boxes": {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"size": {"type": "integer"}}},
    },
    "nested": {"type": "object", "properties": {"one": {"type": "object", "properties": {"two": _TEXTS}}}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


def _schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": _SPEC},
            "status": {"type": "object", "properties": {"open": {"type": "boolean"}, "tables": {"type": "integer"}}},
        },
    }


MENU = Kind(
    "Menu",
    versions={"v1": Version(_schema()), "v2": Version(_schema())},
    storage="v1",
    plural=PLURAL,
    scale=Scale(spec_replicas_path=".spec.tables", status_replicas_path=".status.tables"),
)
api = Api(Group(OURS, MENU))


def definition() -> dict[str, Any]:
    """The same kind for kube-apiserver."""
    exported = export_kind(MENU, THEIRS)
    if exported.manifest is None:
        raise ValueError(f"{exported.kind}: {'; '.join(exported.notes)}")
    return exported.manifest
