"""Figures about what a server serves: kinds, their objects, their watches; the requests in flight, and the build.

Names and labels are those of kube-apiserver, except where a name begins with ``extapi_``.

Source: ``k8s.io/apiserver/pkg/storage/etcd3/metrics`` and ``pkg/storage/cacher/metrics``; ``k8s.io/component-base/version``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from extapi.errors import qualified
from extapi.registry.served import ServedKind
from extapi.server.catalogue import Catalogue
from extapi.server.exposition import Family
from extapi.server.inflight import Room
from extapi.watch.cache import ResourceCache

_DIGITS = 10**15
"""A resource version is truncated to so many, so that it stays exact as a floating-point number."""


def catalogue_families(catalogue: Catalogue) -> Iterator[Family]:
    """The objects of all stored kinds; how far the watch caches are, and what watchers have been sent of them."""
    caches = [(kind, cache) for kind in catalogue.kinds if (cache := _cache(catalogue, kind)) is not None]
    stored = [(kind, len(cache)) for kind, cache in caches if not kind.virtual]
    yield Family(
        "apiserver_resource_objects",
        "gauge",
        "Number of stored objects split by kind.",
        ("group", "resource"),
        [((kind.group, kind.kind.plural), count) for kind, count in stored],
    )
    yield Family(
        "apiserver_storage_objects",
        "gauge",
        "[DEPRECATED, consider using apiserver_resource_objects instead] Number of stored objects split by kind.",
        ("resource",),
        [((qualified(kind.kind.plural, kind.group),), count) for kind, count in stored],
    )
    yield Family(
        "apiserver_watch_cache_resource_version",
        "gauge",
        "Current resource version of watch cache broken by resource type. This is truncated to the 15 least significant digits.",
        ("group", "resource"),
        [((kind.group, kind.kind.plural), cache.revision % _DIGITS) for kind, cache in caches],
    )
    versions = [
        (kind, name, cache.representation(kind.versions[name].representation))
        for kind, cache in caches
        for name in kind.kind.served_versions()
    ]
    yield Family(
        "apiserver_watch_events_total",
        "counter",
        "Number of events sent in watch clients",
        ("group", "version", "resource"),
        [((kind.group, name, kind.kind.plural), each.sent) for kind, name, each in versions],
    )
    terminated: dict[tuple[str, ...], int] = {}
    for kind, _, each in versions:
        names = (kind.group, kind.kind.plural)
        terminated[names] = terminated.get(names, 0) + each.terminated
    yield Family(
        "apiserver_terminated_watchers_total",
        "counter",
        "Counter of watchers closed due to unresponsiveness broken by resource type.",
        ("group", "resource"),
        terminated.items(),
    )


def _cache(catalogue: Catalogue, kind: ServedKind) -> ResourceCache | None:
    """The cache of a kind's objects, or that of its feed."""
    feed = catalogue.feeds.get(kind)
    return feed.cache if feed is not None else catalogue.cache(kind)


def room_families(room: Room) -> Iterator[Family]:
    """The requests in flight."""
    yield Family(
        "apiserver_current_inflight_requests",
        "gauge",
        "Number of currently used inflight request limit of this apiserver per request kind. Requests without a limit "
        "are not counted: those of system:masters, health checks and long-running ones.",
        ("request_kind",),
        [(("readOnly",), room.reads.taken), (("mutating",), room.writes.taken)],
    )


def build_families(version: Mapping[str, str]) -> Iterator[Family]:
    """The build; ``version``: what ``/version`` says."""
    names = {
        "build_date": "buildDate",
        "compiler": "compiler",
        "git_commit": "gitCommit",
        "git_tree_state": "gitTreeState",
        "git_version": "gitVersion",
        "go_version": "goVersion",
        "major": "major",
        "minor": "minor",
        "platform": "platform",
    }
    yield Family(
        "kubernetes_build_info",
        "gauge",
        "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build "
        "date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
        tuple(names),
        [(tuple(version[key] for key in names.values()), 1)],
    )


def source_families(counts: Mapping[str, int]) -> Iterator[Family]:
    """The kinds of each source; see :meth:`extapi.server.kindsources.KindSources.counts`."""
    yield Family(
        "extapi_kinds",
        "gauge",
        "Number of kinds that are served, by where they come from: api (an author's module, or the control plane's own), "
        "files (--crd), definitions (CustomResourceDefinitions in the store).",
        ("source",),
        [((source,), count) for source, count in counts.items()],
    )
