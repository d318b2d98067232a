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
from extapi.http.request import RequestInfo
from extapi.registry.feed import KindFeed
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
Feeds = Mapping[ServedKind, KindFeed]
"""The feeds of virtual kinds that have one."""


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """The kinds of a server with their caches, endpoints and documents."""

    groups: Sequence[Group]
    kinds: Sequence[ServedKind]
    """The kinds of all groups, compiled."""
    caches: Caches
    feeds: Feeds
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

    def connects(self, info: RequestInfo) -> bool:
        """Whether a request takes its connection over, so that it may last as long as its client likes."""
        found = (
            self.endpoints.get((info.group, info.version, info.resource, info.subresource))
            if info.subresource
            else None
        )
        return found is not None and bool(found.connects)

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
    feeds: Feeds | None = None,
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
        feeds: The feeds of all virtual kinds that have one.
        further: Paths that something else serves, for the list of paths.
        before: The catalogue that this one replaces; what is the same in both is made once.
    """
    kept = before.installed.endpoints if before is not None else {}
    feeds = feeds or {}
    made: dict[ServedKind, Endpoints] = {}
    for kind in kinds:
        cache = None if kind.virtual else caches[kind.layout.prefix]
        feed = feeds.get(kind)
        same = before is not None and kind in kept and before.cache(kind) is cache and before.feeds.get(kind) is feed
        made[kind] = kept[kind] if same else install(kind, cache, clock, random, feed)
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
        feeds=feeds,
        installed=installed,
        endpoints={key: endpoint for endpoints in made.values() for key, endpoint in endpoints.items()},
        discovery=discovery,
        openapi=openapi,
        documents=maker.made,
        roots=("/api/", "/apis/") if core else ("/apis/",),
        index=encode_pretty({"paths": sorted(paths)}),
    )


def end_author_watches(before: Catalogue, after: Catalogue | None) -> None:
    """End the watches that authors' code serves, of kinds that are not served any more; ``after``: what is served now."""
    stay = {id(endpoint.resource) for endpoint in after.endpoints.values()} if after is not None else set()
    for endpoint in before.endpoints.values():
        end = getattr(endpoint.resource, "end_watches", None)
        if end is not None and id(endpoint.resource) not in stay:
            end()
