"""Figures about what a server serves: kinds, their objects, their watches; the requests in flight, and the build.

Names and labels are those of kube-apiserver, except where a name begins with ``extapi_``.

Source: ``k8s.io/apiserver/pkg/storage/etcd3/metrics`` and ``pkg/storage/cacher/metrics``; ``k8s.io/component-base/version``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from extapi.server.catalogue import Catalogue
from extapi.server.exposition import Family
from extapi.server.inflight import Room

_DIGITS = 10**15
"""A resource version is truncated to so many, so that it stays exact as a floating-point number."""


def catalogue_families(catalogue: Catalogue) -> Iterator[Family]:
    """The objects of all stored kinds, and how far their watch caches are."""
    caches = [
        (kind.group, kind.kind.plural, cache)
        for kind in catalogue.kinds
        if (cache := catalogue.cache(kind)) is not None
    ]
    objects = [((group, plural), len(cache)) for group, plural, cache in caches]
    yield Family(
        "apiserver_resource_objects", "gauge", "Number of stored objects split by kind.", ("group", "resource"), objects
    )
    yield Family(
        "apiserver_storage_objects",
        "gauge",
        "[DEPRECATED, consider using apiserver_resource_objects instead] Number of stored objects split by kind.",
        ("resource",),
        [((f"{plural}.{group}" if group else plural,), count) for (group, plural), count in objects],
    )
    yield Family(
        "apiserver_watch_cache_resource_version",
        "gauge",
        "Current resource version of watch cache broken by resource type. This is truncated to the 15 least significant digits.",
        ("group", "resource"),
        [((group, plural), cache.revision % _DIGITS) for group, plural, cache in caches],
    )


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
