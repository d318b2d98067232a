"""Which endpoints a kind has: per served version, the resource itself, its status and scale, and its other subresources.

Knows stored kinds and virtual ones. Must not know requests, or where caches come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from extapi.api.subresource import Subresource
from extapi.registry.base import Resource
from extapi.registry.connecting import ConnectResource
from extapi.registry.fed import FedResource
from extapi.registry.feed import KindFeed
from extapi.registry.scale import ScaleResource
from extapi.registry.served import ServedKind
from extapi.registry.store import Store
from extapi.registry.stored import PartResource, StatusResource, StoredResource
from extapi.registry.virtual import VirtualResource, VirtualSubresource
from extapi.server.endpoints import Endpoints, endpoint
from extapi.watch.cache import ResourceCache


def install(
    kind: ServedKind, cache: ResourceCache | None, clock: Any, random: Random, feed: KindFeed | None = None
) -> Endpoints:
    """The endpoints of a kind in all its served versions.

    Args:
        kind: The kind.
        cache: The cache of its objects; None for a virtual kind.
        clock: The time of writes.
        random: For generated names.
        feed: The feed of a virtual kind that has one.
    """
    store = None if cache is None else Store(kind, cache, clock, random)
    return {
        (kind.group, name, kind.kind.plural, resource.subresource): endpoint(
            resource, name, kind.versions[name].warning, without=without
        )
        for resource, versions, without in _resources(kind, store, feed, clock, random)
        for name in versions
    }


def _resources(
    kind: ServedKind, store: Store | None, feed: KindFeed | None, clock: Any, random: Random
) -> Iterator[tuple[Resource, Sequence[str], frozenset[str]]]:
    """The resources of a kind, each with the versions that have it, and the verbs to leave out."""
    served = kind.kind.served_versions()
    yield _main(kind, store, feed, clock, random), served, kind.kind.behaviour.routing.without
    with_status = [name for name in served if kind.versions[name].status]
    if store is not None and with_status:
        yield StatusResource(store), with_status, frozenset()
    with_scale = [name for name in served if kind.versions[name].scale is not None]
    if store is not None and with_scale:
        yield ScaleResource(store), with_scale, frozenset()
    for name, subresource in kind.kind.subresources.items():
        parent = store if feed is None else feed.store
        yield _subresource(kind, parent, name, subresource), served, subresource.without


def _main(kind: ServedKind, store: Store | None, feed: KindFeed | None, clock: Any, random: Random) -> Resource:
    if store is not None:
        return StoredResource(store)
    return VirtualResource(kind, clock, random) if feed is None else FedResource(kind, feed)


def _subresource(kind: ServedKind, store: Store | None, name: str, subresource: Subresource) -> Resource:
    if subresource.connects is not None:
        return ConnectResource(kind, name, subresource, subresource.connects, store)
    if subresource.rest is not None or store is None:  # a virtual kind has no subresources that are fields
        return VirtualSubresource(kind, name, subresource, store)
    return PartResource(store, name, subresource.field)
