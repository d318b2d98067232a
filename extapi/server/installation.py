"""Which endpoints an API has: of each kind and version the main resource, its status and its further subresources.

Knows stored kinds and those that answer themselves; knows no request.
"""

from __future__ import annotations

from random import Random
from typing import Any

from extapi.api.definition import Subresource
from extapi.registry.base import Resource
from extapi.registry.served import ServedKind
from extapi.registry.stored import PartResource, StatusResource, StoredResource
from extapi.registry.virtual import VirtualResource, VirtualSubresource
from extapi.registry.writing import Store
from extapi.server.endpoints import Endpoint, endpoint
from extapi.storage.base import Backend
from extapi.watch.cache import ResourceCache
from extapi.watch.cacher import Cacher


class Installation:
    """Makes the endpoints of kinds; what is stored gets its cache in ``cacher``."""

    def __init__(self, cacher: Cacher, backend: Backend, reactor: Any, random: Random) -> None:
        self._cacher = cacher
        self._backend = backend
        self._reactor = reactor
        self._random = random
        self.endpoints: dict[tuple[str, str, str, str], Endpoint] = {}
        """By group, version, plural and subresource."""
        self._caches: dict[bytes, ResourceCache] = {}

    def add(self, kind: ServedKind) -> None:
        """Install a kind in all its versions."""
        store = None
        main: Resource
        if kind.virtual:
            main = VirtualResource(kind)
        else:
            cache = self._cache(kind)
            store = Store(kind, cache, self._backend, self._reactor, self._random)
            main = StoredResource(store)
        native = kind.kind.native
        self._install(kind, main, without=frozenset() if native is None else native.without)
        if store is not None and kind.kind.status:
            self._install(kind, StatusResource(store))
        for name, subresource in kind.kind.subresources.items():
            self._install(kind, _subresource(kind, store, name, subresource), without=subresource.without)

    def _cache(self, kind: ServedKind) -> ResourceCache:
        """Where the objects of a kind are; one that is stored as another comes after that."""
        found = self._caches.get(kind.prefix)
        if found is None:
            found = self._caches[kind.prefix] = self._cacher.add(kind.prefix, kind.namespaced, kind)
        else:
            found.share([version.shape for version in kind.versions.values()], kind)
        return found

    def _install(self, kind: ServedKind, resource: Resource, *, without: frozenset[str] = frozenset()) -> None:
        for name in kind.kind.served_versions():
            where = (kind.group, name, kind.kind.plural, resource.subresource)
            self.endpoints[where] = endpoint(resource, name, kind.versions[name].warning, without=without)


def _subresource(kind: ServedKind, store: Store | None, name: str, subresource: Subresource) -> Resource:
    if subresource.serves is not None or store is None:  # a part of what is not stored is no declaration
        return VirtualSubresource(kind, name, subresource, store)
    return PartResource(store, name, subresource.field)
