"""What is served, as one value: the kinds, and everything that is derived from them (behaviour C).

A catalogue never changes. Router, discovery and OpenAPI read it, and each request reads one of them from beginning to end.
Everything here is a function of kinds and their caches; must not know requests or the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from extapi.api.definition import Group
from extapi.codec.strictjson import encode_pretty
from extapi.registry.served import ServedKind
from extapi.registry.shared import SharedKind
from extapi.server.discovery import DiscoveryDocuments
from extapi.server.documents import DocumentMaker, MadeDocuments
from extapi.server.endpoints import Endpoints, InstalledKinds
from extapi.server.installation import install
from extapi.server.openapi import OpenAPIDocuments
from extapi.watch.cache import ResourceCache

Caches = Mapping[bytes, ResourceCache]
"""The caches of stored kinds, by the prefix of their objects' keys."""


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """The kinds of a server with their caches, endpoints and documents."""

    groups: Sequence[Group]
    kinds: Sequence[ServedKind]
    """The kinds of all groups, compiled."""
    caches: Caches
    installed: InstalledKinds
    endpoints: Endpoints
    """The endpoints of all kinds."""
    discovery: DiscoveryDocuments
    openapi: OpenAPIDocuments
    documents: MadeDocuments
    """The documents of both."""
    roots: tuple[str, ...]
    """Unknown paths below these are 404 with a Status, all others 404 with :attr:`index` (behaviour C2, C4)."""
    index: bytes
    """The list of paths, for ``/``."""

    def cache(self, kind: ServedKind) -> ResourceCache | None:
        """The cache of a kind's objects; None for a virtual kind."""
        return None if kind.virtual else self.caches[kind.layout.prefix]


def stored_together(kinds: Sequence[ServedKind]) -> dict[bytes, tuple[ServedKind, ...]]:
    """The stored kinds, by the prefix of their objects' keys.

    Those of one prefix share a cache; the first is the kind whose objects it holds.
    """
    found: dict[bytes, tuple[ServedKind, ...]] = {}
    for kind in kinds:
        if not kind.virtual:
            others = found.get(kind.layout.prefix, ())
            found[kind.layout.prefix] = (*others, kind) if isinstance(kind, SharedKind) else (kind, *others)
    return found


def build_catalogue(
    groups: Sequence[Group],
    kinds: Sequence[ServedKind],
    caches: Caches,
    *,
    clock: Any,
    random: Random,
    further: Sequence[str] = (),
    before: Catalogue | None = None,
) -> Catalogue:
    """The catalogue of ``groups``.

    Args:
        groups: The groups.
        kinds: Their kinds, compiled.
        caches: The caches of all stored kinds.
        clock: The time of writes.
        random: For generated names.
        further: Paths that something else serves, for the list of paths.
        before: The catalogue that this one replaces; what is the same in both is made once.
    """
    kept = before.installed.endpoints if before is not None else {}
    made: dict[ServedKind, Endpoints] = {}
    for kind in kinds:
        cache = None if kind.virtual else caches[kind.layout.prefix]
        same = before is not None and kind in kept and before.cache(kind) is cache
        made[kind] = kept[kind] if same else install(kind, cache, clock, random)
    installed = InstalledKinds(made)
    maker = DocumentMaker(before.documents if before is not None else {})
    discovery, openapi = DiscoveryDocuments(groups, installed, maker), OpenAPIDocuments(groups, installed, maker)
    core = ["/api", *(f"/api/{version}" for version in discovery.core_versions)] if discovery.core_versions else []
    apis = ["/apis", *(f"/apis/{name}" for name in discovery.group)]
    versions = [f"/apis/{group}/{version}" for group, version in discovery.versions if group]
    paths = [*core, *apis, *versions, *openapi.paths(), *further]
    return Catalogue(
        groups=tuple(groups),
        kinds=tuple(kinds),
        caches=caches,
        installed=installed,
        endpoints={key: endpoint for endpoints in made.values() for key, endpoint in endpoints.items()},
        discovery=discovery,
        openapi=openapi,
        documents=maker.made,
        roots=("/api/", "/apis/") if core else ("/apis/",),
        index=encode_pretty({"paths": sorted(paths)}),
    )
