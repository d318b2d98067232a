"""Which endpoints an API has: per kind and version, the resource itself, its status and scale, and its other subresources.

Knows stored kinds and virtual ones. Must not know requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from extapi.api.definition import Subresource
from extapi.registry.base import Resource
from extapi.registry.scale import ScaleResource
from extapi.registry.served import ServedKind
from extapi.registry.store import Store
from extapi.registry.stored import PartResource, StatusResource, StoredResource
from extapi.registry.virtual import VirtualResource, VirtualSubresource
from extapi.server.endpoints import Endpoint, endpoint
from extapi.watch.cache import ResourceCache
from extapi.watch.cacher import Cacher


class Installation:
    """Makes the endpoints of kinds; stored kinds get their caches from ``cacher``."""

    def __init__(self, cacher: Cacher, reactor: Any, random: Random) -> None:
        self._cacher = cacher
        self._reactor = reactor
        self._random = random
        self.endpoints: dict[tuple[str, str, str, str], Endpoint] = {}
        """All endpoints, by group, version, plural and subresource."""
        self._caches: dict[bytes, ResourceCache] = {}

    def add(self, kind: ServedKind) -> None:
        """Add the endpoints of a kind in all its versions."""
        store = None
        main: Resource
        if kind.virtual:
            main = VirtualResource(kind)
        else:
            cache = self._cache(kind)
            store = Store(kind, cache, self._reactor, self._random)
            main = StoredResource(store)
        self._install(kind, main, without=kind.kind.behaviour.routing.without)
        if store is not None:
            self._install_parts(kind, store)
        for name, subresource in kind.kind.subresources.items():
            self._install(kind, _subresource(kind, store, name, subresource), without=subresource.without)

    def _install_parts(self, kind: ServedKind, store: Store) -> None:
        """Add status and scale in the versions that have them."""
        served = kind.kind.served_versions()
        with_status = [name for name in served if kind.versions[name].status]
        with_scale = [name for name in served if kind.versions[name].scale is not None]
        if with_status:
            self._install(kind, StatusResource(store), with_status)
        if with_scale:
            self._install(kind, ScaleResource(store), with_scale)

    def _cache(self, kind: ServedKind) -> ResourceCache:
        """The cache of a kind's objects. A kind that is stored as another one shares its cache, and is added after it."""
        found = self._caches.get(kind.layout.prefix)
        if found is None:
            found = self._caches[kind.layout.prefix] = self._cacher.add(kind.layout, kind)
        else:
            found.share([version.representation for version in kind.versions.values()], kind)
        return found

    def _install(
        self,
        kind: ServedKind,
        resource: Resource,
        versions: Sequence[str] = (),
        *,
        without: frozenset[str] = frozenset(),
    ) -> None:
        for name in versions or kind.kind.served_versions():
            where = (kind.group, name, kind.kind.plural, resource.subresource)
            self.endpoints[where] = endpoint(resource, name, kind.versions[name].warning, without=without)


def _subresource(kind: ServedKind, store: Store | None, name: str, subresource: Subresource) -> Resource:
    if subresource.rest is not None or store is None:  # a virtual kind has no subresources that are fields
        return VirtualSubresource(kind, name, subresource, store)
    return PartResource(store, name, subresource.field)
