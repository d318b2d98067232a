"""Figures about requests, under the names that kube-apiserver has for them (behaviour C27).

A request that reached a verb of an endpoint is counted, and one for a health endpoint; one that authentication, authorization or
the router refused is not, as with kube-apiserver. Values of labels are those of what is served: nothing that a client makes up
becomes one. Each request costs a look-up and a few additions: histograms are lists of integers until somebody reads them.

Source: ``k8s.io/apiserver/pkg/endpoints/metrics/metrics.go``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from extapi.http.request import Request, RequestInfo
from extapi.server.endpoints import Endpoints
from extapi.server.exposition import Buckets, Family
from extapi.server.health import PATHS as HEALTH

DURATIONS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5),
    *(2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
"""Seconds."""
SLI_FROM: Final = 2
"""The buckets of ``apiserver_request_sli_duration_seconds`` are those from this one on."""
SIZES: Final = tuple(10.0**exponent for exponent in range(3, 10))
"""Bytes."""
SHORTEST: Final = DURATIONS[0]
SMALLEST: Final = SIZES[0]

_APPLY = "application/apply-patch+yaml"
_READS = frozenset({"get", "list", ""})
_CONNECTED = frozenset({"log", "exec", "portforward", "attach", "proxy"})
"""Subresources whose requests are all CONNECT."""
_HEALTH = frozenset(f"/{name}" for name in HEALTH)
_AGGREGATED = frozenset({"/api", "/apis"})
_PLACE = ("group", "version", "resource", "subresource", "scope", "component")

Labels = tuple[str, ...]


class _Histogram:
    """Counts by bucket, not cumulative, and the sum."""

    __slots__ = ("counts", "total")

    def __init__(self, bounds: int) -> None:
        self.counts = [0] * (bounds + 1)
        self.total = 0.0


class _Series:
    """The requests of one set of labels, with one code."""

    __slots__ = ("count", "durations", "sizes")

    def __init__(self, durations: _Histogram, sizes: _Histogram | None) -> None:
        self.count = 0
        self.durations = durations
        self.sizes = sizes


class RequestMetrics:
    """Counts requests: an :data:`~extapi.listener.state.OnFinished`.

    Args:
        endpoints: What is served now.
    """

    def __init__(self, endpoints: Callable[[], Endpoints]) -> None:
        self._endpoints = endpoints
        self._paths: dict[tuple[object, ...], _Series] = {}
        """The series of health endpoints, by path and code. Other requests find theirs at their endpoint."""
        self._series: dict[Labels, _Series] = {}
        """By verb, dry run, place and code."""
        self._durations: dict[Labels, _Histogram] = {}
        """By verb, dry run and place."""
        self._sizes: dict[Labels, _Histogram] = {}
        """By verb and place."""
        self._terminated: dict[Labels, int] = {}
        """By verb, place and code."""

    def __call__(self, request: Request, status: int, size: int, seconds: float) -> None:
        """Count a request; see :data:`~extapi.listener.state.OnFinished`."""
        info = request.info
        if status == 504 and request.received + seconds >= request.deadline:
            self._terminate(request, 504)
        found = request.series
        if found is not None:
            verb = info.verb
            # Most requests have neither a query nor a patch's media type that makes them something else.
            extra = _extra(request) if request.query or verb == "patch" else None
            key: tuple[object, ...] = (verb, status, not info.name, not info.namespace, extra)
        elif info.path in _HEALTH or info.path in _AGGREGATED:
            found, key = self._paths, (info.path, status)
        else:
            return
        series = found.get(key)
        if series is None:
            series = self._resolve(request, status)
            if series is None:
                return
            if found is not self._paths or info.path in _HEALTH:
                found[key] = series
        series.count += 1
        # Most requests are in the first bucket, and a comparison is less than a search.
        durations = series.durations
        durations.counts[bisect_left(DURATIONS, seconds) if seconds > SHORTEST else 0] += 1
        durations.total += seconds
        sizes = series.sizes
        if sizes is not None:
            sizes.counts[bisect_left(SIZES, size) if size > SMALLEST else 0] += 1
            sizes.total += size

    def refused(self, request: Request) -> None:
        """Count a request for which there was no room."""
        self._terminate(request, 429)
        if request.series is None:
            dry_run, _, _ = _extra(request)
            labels = (_verb(request), dry_run, *self._bounded_place(request.info), "429")
            self._series.setdefault(labels, _Series(_Histogram(0), None)).count += 1

    def forget(self) -> None:
        """Drop the series of what is not served any more. Call it after what is served has changed."""
        places = {(*key,) for key in self._endpoints()}

        def stays(place: Labels) -> bool:
            return not place[2] or place[:4] in places  # no resource: a path

        self._series = {labels: each for labels, each in self._series.items() if stays(labels[2:])}
        self._durations = {labels: each for labels, each in self._durations.items() if stays(labels[2:])}
        self._sizes = {labels: each for labels, each in self._sizes.items() if stays(labels[1:])}
        self._terminated = {labels: each for labels, each in self._terminated.items() if stays(labels[1:])}

    def families(self, lasting: Iterable[Request]) -> Iterator[Family]:
        """What is known now; ``lasting``: the long-running requests that are open."""
        place = _PLACE
        yield Family(
            "apiserver_request_total",
            "counter",
            "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, "
            "component, and HTTP response code. Code 0: the client left before there was a response.",
            ("verb", "dry_run", *place, "code"),
            ((labels, each.count) for labels, each in self._series.items()),
        )
        yield Family(
            "apiserver_request_duration_seconds",
            "histogram",
            "Response latency distribution in seconds for each verb, dry run value, group, version, resource, "
            "subresource, scope and component.",
            ("verb", "dry_run", *place),
            ((labels, Buckets(DURATIONS, each.counts, each.total)) for labels, each in self._durations.items()),
        )
        yield Family(
            "apiserver_request_sli_duration_seconds",
            "histogram",
            "Response latency distribution in seconds for each verb, group, version, resource, subresource, scope and "
            "component. There are neither queues nor webhooks of admission to be left out.",
            ("verb", *place),
            (
                ((verb, *rest), _from_bucket(SLI_FROM, each))
                for (verb, dry_run, *rest), each in self._durations.items()
                if not dry_run
            ),
        )
        yield Family(
            "apiserver_response_sizes",
            "histogram",
            "Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.",
            ("verb", *place),
            ((labels, Buckets(SIZES, each.counts, each.total)) for labels, each in self._sizes.items()),
        )
        yield Family(
            "apiserver_request_terminations_total",
            "counter",
            "Number of requests which apiserver terminated in self-defense.",
            ("verb", *place, "code"),
            self._terminated.items(),
        )
        open_now: dict[Labels, int] = {}
        for request in lasting:
            if request.series is not None:
                labels = (_verb(request), *_place(request.info))
                open_now[labels] = open_now.get(labels, 0) + 1
        yield Family(
            "apiserver_longrunning_requests",
            "gauge",
            "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope "
            "and component. Not all requests are tracked this way.",
            ("verb", *place),
            open_now.items(),
        )

    def _resolve(self, request: Request, status: int) -> _Series | None:
        """The series of a request, made if it is the first; None for what is not counted."""
        info = request.info
        if request.series is not None:
            if (info.group, info.version, info.resource, info.subresource) not in self._endpoints():
                return None  # not served any more since it began
            place = _place(info)
        else:
            if status not in (200, 500) or (info.path in _AGGREGATED and not _is_aggregated(request)):
                return None
            place = ("", "", "", info.path, "", "" if info.path in _HEALTH else "apiserver")
        verb = _verb(request)
        dry_run, _, _ = _extra(request)
        durations = self._durations.setdefault((verb, dry_run, *place), _Histogram(len(DURATIONS)))
        sizes = None
        if info.verb in _READS and info.is_resource:
            sizes = self._sizes.setdefault((verb, *place), _Histogram(len(SIZES)))
        return self._series.setdefault((verb, dry_run, *place, str(status)), _Series(durations, sizes))

    def _terminate(self, request: Request, code: int) -> None:
        labels = (_verb(request), *self._bounded_place(request.info), str(code))
        self._terminated[labels] = self._terminated.get(labels, 0) + 1

    def _bounded_place(self, info: RequestInfo) -> Labels:
        """Where a request was headed, without names that only its client knows."""
        if info.is_resource and (info.group, info.version, info.resource, info.subresource) in self._endpoints():
            return _place(info)
        return ("", "", "", info.path if info.path in _HEALTH else "", "", "apiserver")


def _place(info: RequestInfo) -> Labels:
    return (info.group, info.version, info.resource, info.subresource, _scope(info), "apiserver")


def _scope(info: RequestInfo) -> str:
    """CleanScope."""
    if info.name or info.verb == "create":
        return "resource"
    if info.namespace:
        return "namespace"
    return "cluster" if info.is_resource else ""


def _verb(request: Request) -> str:
    """CanonicalVerb and CleanVerb: one of a few, whatever the method."""
    info = request.info
    _, apply, watch = _extra(request)
    if info.is_resource and info.subresource in _CONNECTED:
        return "CONNECT"
    if watch:
        return "WATCH"
    if request.method in ("GET", "HEAD"):
        return "WATCH" if info.verb == "watch" else "LIST" if _scope(info) not in ("resource", "") else "GET"
    if request.method == "PATCH":
        return "APPLY" if apply else "PATCH"
    return request.method if request.method in ("POST", "PUT", "DELETE") else "other"


def _extra(request: Request) -> tuple[str, bool, bool]:
    """What the query and the media type make of a request: the dry run's label, whether it is an apply, or a watch."""
    query = request.query
    dry_run = ""
    if "dryRun" in query:
        dry_run = "All" if all(value == "All" for value in query["dryRun"]) else "invalid"
    apply = request.method == "PATCH" and request.header("content-type") == _APPLY
    asked = query.get("watch") or ()
    watch = request.method in ("GET", "HEAD") and bool(asked) and asked[0].lower() not in ("0", "false")
    return dry_run, apply, watch


def _is_aggregated(request: Request) -> bool:
    return "as=APIGroupDiscoveryList" in request.header("accept")


def _from_bucket(first: int, histogram: _Histogram) -> Buckets:
    """The same observations without the first bounds."""
    counts = histogram.counts
    return Buckets(DURATIONS[first:], [sum(counts[: first + 1]), *counts[first + 1 :]], histogram.total)
