"""Discovery: what is served, as clients and kube-aggregator request it (behaviour C3, C7-C17, D11-D13).

All documents are made with the catalogue, from the endpoints; a response never waits for storage or a review.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from extapi.api.behaviour import DISCOVERY_ORDER
from extapi.api.definition import Group, Kind, Scope
from extapi.api.versions import group_version
from extapi.registry.served import ServedKind
from extapi.server.documents import Document, DocumentMaker
from extapi.server.endpoints import Endpoint, InstalledKinds


class DiscoveryDocuments:
    """All discovery documents of a server. The core group is at ``/api``, all others are at ``/apis``.

    Args:
        groups: The groups.
        installed: Their kinds, with their endpoints.
        maker: Makes the documents.
    """

    def __init__(self, groups: Sequence[Group], installed: InstalledKinds, maker: DocumentMaker) -> None:
        named = [group for group in groups if group.name]
        core = [group for group in groups if not group.name]
        self.groups = maker.make(
            "/apis",
            tuple((group.name, *group.versions_by_priority()) for group in named),
            lambda: Document({"kind": "APIGroupList", "groups": [_api_group(group) for group in named]}),
        )
        self.group = {group.name: _group_document(maker, group) for group in named}
        self.versions = {
            (group.name, version): _version_document(maker, group.name, version, installed)
            for group in groups
            for version in group.versions_by_priority()
        }
        self.core_versions = [version for group in core for version in group.versions_by_priority()]
        """What ``/api`` lists; empty if the core group is not served."""
        self.aggregated = _aggregated(maker, "/apis", named, installed)
        """The documents of aggregated discovery at ``/apis``, by their version."""
        self.core_aggregated = _aggregated(maker, "/api", core, installed)
        """The same for ``/api``."""


def _group_document(maker: DocumentMaker, group: Group) -> Document:
    return maker.make(
        f"/apis/{group.name}",
        tuple(group.versions_by_priority()),
        lambda: Document({"kind": "APIGroup", "apiVersion": "v1", **_api_group(group)}),
    )


def _version_document(maker: DocumentMaker, group: str, version: str, installed: InstalledKinds) -> Document:
    return maker.make(
        f"/apis/{group}/{version}" if group else f"/api/{version}",
        tuple(_sources(group, version, installed)),
        lambda: Document(_resource_list(group, version, installed)),
    )


def core_document(versions: Sequence[str], address: str) -> Document:
    """The document at ``/api`` (``metav1.APIVersions``); ``address`` is that under which the client reached the server."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return Document({"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": addresses})


def _aggregated(
    maker: DocumentMaker, path: str, groups: Sequence[Group], installed: InstalledKinds
) -> dict[str, Document]:
    sources = tuple(
        (group.name, version, *_sources(group.name, version, installed))
        for group in groups
        for version in group.versions_by_priority()
    )

    def made(version: str) -> Document:
        return Document(
            {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": f"apidiscovery.k8s.io/{version}",
                "metadata": {},
                "items": [_group_discovery(group, installed) for group in groups],
            }
        )

    return {version: maker.make(f"{path} {version}", sources, partial(made, version)) for version in ("v2", "v2beta1")}


def _api_group(group: Group) -> dict[str, Any]:
    versions = [
        {"groupVersion": f"{group.name}/{version}", "version": version} for version in group.versions_by_priority()
    ]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def _served(group: str, version: str, installed: InstalledKinds) -> list[ServedKind]:
    """The kinds of a group that are served in a version, by plural."""
    return sorted(installed.served(group, version), key=lambda kind: kind.kind.plural)


def _sources(group: str, version: str, installed: InstalledKinds) -> list[tuple[ServedKind, tuple[str, ...]]]:
    """What the documents of a version are made of: kinds, and the verbs that are listed of each now."""
    return [
        (kind, tuple(kind.kind.behaviour.routing.discovered(DISCOVERY_ORDER)))
        for kind in _served(group, version, installed)
    ]


def _endpoints(
    kind: ServedKind, version: str, installed: InstalledKinds
) -> tuple[Endpoint, list[tuple[str, Endpoint]]]:
    """The endpoints of a kind in a version: the main one, and those of its subresources in the order of discovery."""
    found = {key[3]: endpoint for key, endpoint in installed.endpoints[kind].items() if key[1] == version}
    main = found.pop("")
    first = [name for name in kind.kind.behaviour.routing.first_subresources if name in found]
    return main, [(name, found[name]) for name in [*first, *sorted(found.keys() - set(first))]]


def _verbs(kind: Kind, endpoint: Endpoint) -> list[str]:
    """The verbs, in the order in which kube-apiserver lists them for this kind."""
    return kind.behaviour.routing.discovered(endpoint.handlers)


def _resource_list(group: str, version: str, installed: InstalledKinds) -> dict[str, Any]:
    # The core group's list has no apiVersion (observed on 1.36.3).
    typed = {"kind": "APIResourceList", "apiVersion": "v1"} if group else {"kind": "APIResourceList"}
    resources = [
        entry for kind in _served(group, version, installed) for entry in _resource_entries(kind, version, installed)
    ]
    return {**typed, "groupVersion": group_version(group, version), "resources": resources}


def _resource_entries(served: ServedKind, version: str, installed: InstalledKinds) -> list[dict[str, Any]]:
    """The entries of a kind and its subresources."""
    kind = served.kind
    main, subresources = _endpoints(served, version, installed)
    namespaced = kind.scope is Scope.NAMESPACED
    entry: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": namespaced,
        "kind": kind.name,
        "verbs": _verbs(kind, main),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.rest is None and kind.versions[kind.storage].served:
        entry["storageVersionHash"] = _storage_version_hash(served)
    entries = [entry]
    for name, endpoint in subresources:
        other = endpoint.type[:2] != (served.group, version)
        entries.append(
            {
                "name": f"{kind.plural}/{name}",
                "singularName": "",
                "namespaced": namespaced,
                **({"group": endpoint.type.group, "version": endpoint.type.version} if other else {}),
                "kind": endpoint.type.kind,
                "verbs": _verbs(kind, endpoint),
            }
        )
    return entries


def _group_discovery(group: Group, installed: InstalledKinds) -> dict[str, Any]:
    return {
        "metadata": {"name": group.name} if group.name else {},
        "versions": [
            {
                "version": version,
                "resources": [
                    _resource_discovery(kind, version, installed) for kind in _served(group.name, version, installed)
                ],
                "freshness": "Current",
            }
            for version in group.versions_by_priority()
        ],
    }


def _resource_discovery(served: ServedKind, version: str, installed: InstalledKinds) -> dict[str, Any]:
    kind = served.kind
    main, subresources = _endpoints(served, version, installed)
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
    if subresources:
        entry["subresources"] = [
            {"subresource": name, "responseKind": endpoint.type._asdict(), "verbs": _verbs(kind, endpoint)}
            for name, endpoint in subresources
        ]
    return entry


def _storage_version_hash(served: ServedKind) -> str:
    kind = served.kind
    other = kind.behaviour.storing.stored_as
    if other:
        return storage_version_hash(other.group, kind.storage, other.kind)
    return storage_version_hash(served.group, kind.storage, kind.name)


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """The hash by which clients see that two resources share one storage (behaviour C12)."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.standard_b64encode(digest[:8]).decode()
