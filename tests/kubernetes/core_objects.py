"""Objects of the kinds that every cluster has, as a client writes them."""

from __future__ import annotations

from typing import Any

RBAC = "rbac.authorization.k8s.io"


def event(namespace: str, called: str, **about: Any) -> dict[str, Any]:
    """A warning that something is burnt; ``about``: fields of involvedObject."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": called, "namespace": namespace},
        "involvedObject": {"namespace": namespace, **about},
        "type": "Warning",
        "reason": "Burnt",
        "message": "It is black.",
        "source": {"component": "oven"},
        "count": 3,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }


def lease(name: str) -> dict[str, Any]:
    """A lease that nobody holds."""
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
