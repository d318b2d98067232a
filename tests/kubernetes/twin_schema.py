"""One schema, served twice: by kube-apiserver as a custom resource, and by us as an aggregated API (see ``apis.py``).

The two groups have names of the same length, so that tables and indented texts can be compared letter by letter.
"""

from __future__ import annotations

from typing import Any

OURS = "aggregated.example.com"
THEIRS = "customized.example.com"
VERSION = "v1"
PLURAL = "gadgets"
KIND = "Gadget"
COLUMNS: list[dict[str, Any]] = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How large it is."},
    {"name": "Ready", "type": "boolean", "jsonPath": ".status.ready"},
    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
    {"name": "Part", "type": "string", "jsonPath": ".spec.parts[0].name"},
    {"name": "Weight", "type": "number", "jsonPath": ".spec.weight"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A gadget has something of everything.",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "description": "What it shall be.",
            "required": ["size"],
            "properties": {
                "size": {
                    "type": "integer",
                    "format": "int32",
                    "minimum": 1,
                    "maximum": 100,
                    "description": "How large.",
                },
                "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
                "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
                "weight": {"type": "number"},
                "on": {"type": "boolean"},
                "limit": {"x-kubernetes-int-or-string": True},
                "note": {"type": "string", "nullable": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "tags": {"type": "array", "maxItems": 4, "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "parts": {
                    "type": "array",
                    "description": "What it is made of.",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string", "minLength": 1},
                            "count": {"type": "integer", "default": 1, "description": "How many of them."},
                        },
                    },
                },
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "ready": {"type": "boolean"},
                "seen": {"type": "string"},
                "size": {"type": "integer"},
                "conditions": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    "items": {
                        "type": "object",
                        "required": ["type", "status"],
                        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
                    },
                },
            },
        },
    },
}

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{THEIRS}"},
    "spec": {
        "group": THEIRS,
        "scope": "Namespaced",
        "names": {
            "plural": PLURAL,
            "singular": "gadget",
            "kind": KIND,
            "listKind": "GadgetList",
            "shortNames": ["gd"],
            "categories": ["things"],
        },
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                },
                "additionalPrinterColumns": COLUMNS,
            }
        ],
    },
}
