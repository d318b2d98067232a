"""The kinds of the control plane, with a valid object of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.differential.side import Step, get

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
STRATEGIC = "application/strategic-merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
RBAC = "rbac.authorization.k8s.io"
MINE = "labelSelector=space%3D{ns}"
"""Selects what the conversation itself has made: controllers make more, at times of their own."""


@dataclass(frozen=True)
class Sample:
    """One kind. Objects are named after the conversation where they belong to no namespace."""

    kind: str
    path: str
    """Of the collection."""
    body: Mapping[str, Any]
    """What an object holds beside kind and metadata."""
    change: Mapping[str, Any]
    """A merge patch that leaves it valid."""
    version: str = "v1"

    @property
    def namespaced(self) -> bool:
        """Whether its objects live in namespaces."""
        return "/namespaces/{ns}/" in self.path

    def name(self, short: str) -> str:
        """The name of an object."""
        return short if self.namespaced else f"{short}-{{ns}}"

    def at(self, short: str, rest: str = "") -> str:
        """The path of an object, with what follows."""
        return f"{self.path}/{self.name(short)}{rest}"

    def obj(self, short: str = "new", meta: Mapping[str, Any] | None = None, **body: Any) -> dict[str, Any]:
        """An object; ``body`` replaces parts of it."""
        labels = {"space": "{ns}", "app": "a", "which": short}
        metadata = {"name": self.name(short), "labels": labels, **(meta or {})}
        return {"apiVersion": self.version, "kind": self.kind, "metadata": metadata, **self.body, **body}

    def mine(self, more: str = "", accept: str = "") -> Step:
        """The list of what the conversation has made."""
        return get(f"{self.path}?{MINE}{more}", accept)


def _core(kind: str, plural: str, body: Mapping[str, Any], change: Mapping[str, Any]) -> Sample:
    return Sample(kind, f"/api/v1/namespaces/{{ns}}/{plural}", body, change)


def _rbac(kind: str, plural: str, body: Mapping[str, Any], change: Mapping[str, Any]) -> Sample:
    place = "" if kind.startswith("Cluster") else "namespaces/{ns}/"
    return Sample(kind, f"/apis/{RBAC}/v1/{place}{plural}", body, change, f"{RBAC}/v1")


RULE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
ROLE_REF = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}
JANE = {"apiGroup": RBAC, "kind": "User", "name": "jane-{ns}"}
"""Of one conversation alone: what it binds for the whole cluster may stay behind, and others know a jane, too."""

NAMESPACE = Sample("Namespace", "/api/v1/namespaces", {}, {"metadata": {"annotations": {"a": "b"}}})
CONFIG_MAP = _core("ConfigMap", "configmaps", {"data": {"a": "1"}}, {"data": {"b": "2"}})
SECRET = _core("Secret", "secrets", {"data": {"a": "MQ=="}, "type": "Opaque"}, {"data": {"b": "Mg=="}})
ACCOUNT = _core("ServiceAccount", "serviceaccounts", {}, {"automountServiceAccountToken": False})
SERVICE = _core(
    "Service",
    "services",
    {"spec": {"type": "ExternalName", "externalName": "example.com"}},
    {"spec": {"externalName": "example.org"}},
)
EVENT = _core(
    "Event",
    "events",
    {
        "involvedObject": {"kind": "ConfigMap", "namespace": "{ns}", "name": "one", "apiVersion": "v1"},
        "type": "Warning",
        "reason": "Burnt",
        "message": "It is black.",
        "source": {"component": "oven"},
        "count": 3,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    },
    {"count": 4},
)
LEASE = Sample(
    "Lease",
    "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
    {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 10}},
    {"spec": {"holderIdentity": "you"}},
    "coordination.k8s.io/v1",
)
ROLE = _rbac("Role", "roles", {"rules": [RULE]}, {"rules": []})
CLUSTER_ROLE = _rbac("ClusterRole", "clusterroles", {"rules": [RULE]}, {"rules": []})
BINDING = _rbac("RoleBinding", "rolebindings", {"subjects": [JANE], "roleRef": ROLE_REF}, {"subjects": []})
CLUSTER_BINDING = _rbac(
    "ClusterRoleBinding", "clusterrolebindings", {"subjects": [JANE], "roleRef": ROLE_REF}, {"subjects": []}
)
SAMPLES = (
    CONFIG_MAP,
    SECRET,
    ACCOUNT,
    SERVICE,
    EVENT,
    LEASE,
    ROLE,
    CLUSTER_ROLE,
    BINDING,
    CLUSTER_BINDING,
)
