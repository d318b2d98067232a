"""Deployments, ReplicaSets and EndpointSlices for a control plane that has none: kinds of ours in Kubernetes' own groups.

Kubernetes' e2e specs deploy their webhook server with them; ``upstream/workloads.go`` plays the controllers.
"""

from __future__ import annotations

from typing import Any

from extapi import Api, Group, Kind, Version

_FREE: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_REPLICATED: dict[str, Any] = {
    "type": "object",
    "properties": {"spec": {**_FREE, "properties": {"replicas": {"type": "integer", "default": 1}}}, "status": _FREE},
}
_ENDPOINTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "addressType": {"type": "string"},
        "endpoints": {"type": "array", "items": _FREE},
        "ports": {"type": "array", "items": _FREE},
    },
}


def _kind(name: str, schema: dict[str, Any], *, status: bool = True) -> Kind:
    return Kind(name, versions={"v1": Version(schema)}, storage="v1", status=status)


api = Api(
    Group("apps", _kind("Deployment", _REPLICATED), _kind("ReplicaSet", _REPLICATED)),
    Group("discovery.k8s.io", _kind("EndpointSlice", _ENDPOINTS, status=False)),
)
