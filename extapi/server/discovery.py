"""Discovery: what is served, as clients and kube-aggregator request it (behaviour C3, C7-C17, D11-D13).

All documents are made once, at start, from the installed endpoints; a response never waits for storage or a review.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from extapi.api.definition import Group, Kind, Scope
from extapi.api.versions import group_version
from extapi.server.documents import Document
from extapi.server.endpoints import Endpoint, Endpoints


class DiscoveryDocuments:
    """All discovery documents of a server. The core group is at ``/api``, all others are at ``/apis``."""

    def __init__(self, groups: Sequence[Group], endpoints: Endpoints) -> None:
        named = [group for group in groups if group.name]
        core = [group for group in groups if not group.name]
        self.groups = Document({"kind": "APIGroupList", "groups": [_api_group(group) for group in named]})
        self.group = {
            group.name: Document({"kind": "APIGroup", "apiVersion": "v1", **_api_group(group)}) for group in named
        }
        self.versions = {
            (group.name, version): Document(_resource_list(group, version, endpoints))
            for group in groups
            for version in group.versions_by_priority()
        }
        self.core_versions = [version for group in core for version in group.versions_by_priority()]
        """What ``/api`` lists; empty if the core group is not served."""
        self.aggregated = _aggregated(named, endpoints)
        """The documents of aggregated discovery at ``/apis``, by their version."""
        self.core_aggregated = _aggregated(core, endpoints)
        """The same for ``/api``."""


def core_document(versions: Sequence[str], address: str) -> Document:
    """The document at ``/api`` (``metav1.APIVersions``); ``address`` is that under which the client reached the server."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return Document({"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": addresses})


def _aggregated(groups: Sequence[Group], endpoints: Endpoints) -> dict[str, Document]:
    return {
        version: Document(
            {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": f"apidiscovery.k8s.io/{version}",
                "metadata": {},
                "items": [_group_discovery(group, endpoints) for group in groups],
            }
        )
        for version in ("v2", "v2beta1")
    }


def _api_group(group: Group) -> dict[str, Any]:
    versions = [
        {"groupVersion": f"{group.name}/{version}", "version": version} for version in group.versions_by_priority()
    ]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def _served(group: Group, version: str) -> list[Kind]:
    return sorted((kind for kind in group.kinds if version in kind.served_versions()), key=lambda kind: kind.plural)


def _verbs(kind: Kind, endpoint: Endpoint) -> list[str]:
    """The verbs, in the order in which kube-apiserver lists them for this kind."""
    return [verb for verb in kind.behaviour.routing.discovery_order if verb in endpoint.handlers]


def _resource_list(group: Group, version: str, endpoints: Endpoints) -> dict[str, Any]:
    resources = []
    for kind in _served(group, version):
        entry: dict[str, Any] = {
            "name": kind.plural,
            "singularName": kind.singular,
            "namespaced": kind.scope is Scope.NAMESPACED,
            "kind": kind.name,
            "verbs": _verbs(kind, endpoints[group.name, version, kind.plural, ""]),
        }
        if kind.short_names:
            entry["shortNames"] = list(kind.short_names)
        if kind.categories:
            entry["categories"] = list(kind.categories)
        if kind.rest is None and kind.versions[kind.storage].served:
            entry["storageVersionHash"] = _storage_version_hash(group, kind)
        resources.append(entry)
        for name, endpoint in _subresources(group.name, version, kind, endpoints):
            other = endpoint.type[:2] != (group.name, version)
            resources.append(
                {
                    "name": f"{kind.plural}/{name}",
                    "singularName": "",
                    "namespaced": kind.scope is Scope.NAMESPACED,
                    **({"group": endpoint.type.group, "version": endpoint.type.version} if other else {}),
                    "kind": endpoint.type.kind,
                    "verbs": _verbs(kind, endpoint),
                }
            )
    # The core group's list has no apiVersion (observed on 1.36.3).
    typed = {"kind": "APIResourceList", "apiVersion": "v1"} if group.name else {"kind": "APIResourceList"}
    return {**typed, "groupVersion": group_version(group.name, version), "resources": resources}


def _subresources(group: str, version: str, kind: Kind, endpoints: Endpoints) -> list[tuple[str, Endpoint]]:
    of = (group, version, kind.plural)
    found = {key[3]: endpoint for key, endpoint in endpoints.items() if key[:3] == of and key[3]}
    first = [name for name in kind.behaviour.routing.first_subresources if name in found]
    return [(name, found[name]) for name in [*first, *sorted(found.keys() - set(first))]]


def _group_discovery(group: Group, endpoints: Endpoints) -> dict[str, Any]:
    return {
        "metadata": {"name": group.name} if group.name else {},
        "versions": [
            {
                "version": version,
                "resources": [_resource_discovery(group, version, kind, endpoints) for kind in _served(group, version)],
                "freshness": "Current",
            }
            for version in group.versions_by_priority()
        ],
    }


def _resource_discovery(group: Group, version: str, kind: Kind, endpoints: Endpoints) -> dict[str, Any]:
    main = endpoints[group.name, version, kind.plural, ""]
    entry: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": main.type._asdict(),
        "scope": kind.scope.value,
        "singularResource": kind.singular,
        "verbs": _verbs(kind, main),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    subresources = [
        {"subresource": name, "responseKind": endpoint.type._asdict(), "verbs": _verbs(kind, endpoint)}
        for name, endpoint in _subresources(group.name, version, kind, endpoints)
    ]
    if subresources:
        entry["subresources"] = subresources
    return entry


def _storage_version_hash(group: Group, kind: Kind) -> str:
    other = kind.behaviour.storing.stored_as
    if other:
        return storage_version_hash(other.group, kind.storage, other.kind)
    return storage_version_hash(group.name, kind.storage, kind.name)


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """The hash by which clients see that two resources share one storage (behaviour C12)."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.standard_b64encode(digest[:8]).decode()
