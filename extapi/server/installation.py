"""Which endpoints a kind has: per served version, the resource itself, its status and scale, and its other subresources.

Knows stored kinds and virtual ones. Must not know requests, or where caches come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from extapi.api.definition import Subresource
from extapi.registry.base import Resource
from extapi.registry.scale import ScaleResource
from extapi.registry.served import ServedKind
from extapi.registry.store import Store
from extapi.registry.stored import PartResource, StatusResource, StoredResource
from extapi.registry.virtual import VirtualResource, VirtualSubresource
from extapi.server.endpoints import Endpoints, endpoint
from extapi.watch.cache import ResourceCache


def install(kind: ServedKind, cache: ResourceCache | None, clock: Any, random: Random) -> Endpoints:
    """The endpoints of a kind in all its served versions.

    Args:
        kind: The kind.
        cache: The cache of its objects; None for a virtual kind.
        clock: The time of writes.
        random: For generated names.
    """
    store = None if cache is None else Store(kind, cache, clock, random)
    return {
        (kind.group, name, kind.kind.plural, resource.subresource): endpoint(
            resource, name, kind.versions[name].warning, without=without
        )
        for resource, versions, without in _resources(kind, store)
        for name in versions
    }


def _resources(kind: ServedKind, store: Store | None) -> Iterator[tuple[Resource, Sequence[str], frozenset[str]]]:
    """The resources of a kind, each with the versions that have it, and the verbs to leave out."""
    served = kind.kind.served_versions()
    main: Resource = VirtualResource(kind) if store is None else StoredResource(store)
    yield main, served, kind.kind.behaviour.routing.without
    with_status = [name for name in served if kind.versions[name].status]
    if store is not None and with_status:
        yield StatusResource(store), with_status, frozenset()
    with_scale = [name for name in served if kind.versions[name].scale is not None]
    if store is not None and with_scale:
        yield ScaleResource(store), with_scale, frozenset()
    for name, subresource in kind.kind.subresources.items():
        yield _subresource(kind, store, name, subresource), served, subresource.without


def _subresource(kind: ServedKind, store: Store | None, name: str, subresource: Subresource) -> Resource:
    if subresource.rest is not None or store is None:  # a virtual kind has no subresources that are fields
        return VirtualSubresource(kind, name, subresource, store)
    return PartResource(store, name, subresource.field)
