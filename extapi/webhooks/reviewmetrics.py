"""Figures about reviews: how many requests each path got and how long they took, and what the verdicts were.

A path that is not served never becomes a label, so nothing that a caller makes up does. Names begin with ``extapi_webhook``;
labels and buckets are those that controller-runtime's webhook servers have, where they have some.

Source: ``sigs.k8s.io/controller-runtime/pkg/webhook/internal/metrics``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from extapi.http.request import Request
from extapi.registry.served import ServedKind
from extapi.server.context import Context, followed
from extapi.server.exposition import Buckets, Family
from extapi.webhooks.reviews.admission import AdmissionRequest, AdmissionVerdict

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The buckets that Prometheus' clients have by default, which controller-runtime leaves as they are."""
CONVERT, ADMIT, VALIDATE = "convert", "admit", "validate"
"""What a path does: its first part."""
CONVERTED, ALLOWED, REFUSED, FAILED = "converted", "allowed", "refused", "failed"
"""Verdicts. ``failed``: objects could not be converted, or the code that reviews a write failed."""

Count = Callable[[str, str], None]
"""Counts a review, by operation and verdict; a conversion's operation is empty."""


class Verdicts(NamedTuple):
    """What reviews are counted by."""

    group: str
    resource: str
    webhook: str
    operation: str
    verdict: str


class ReviewMetrics:
    """Counts requests (:data:`~extapi.listener.state.OnFinished`), and verdicts.

    Args:
        paths: The paths that are served.
    """

    def __init__(self, paths: Collection[str] = ()) -> None:
        self.paths = paths
        self._codes: dict[tuple[str, str], int] = {}
        self._durations: dict[str, tuple[list[int], list[float]]] = {}
        """By path: counts by bucket, not cumulative, and the sum."""
        self._verdicts: dict[Verdicts, int] = {}

    def __call__(self, request: Request, status: int, size: int, seconds: float) -> None:  # noqa: ARG002 - an answer's size tells little
        """Count a request; see :data:`~extapi.listener.state.OnFinished`."""
        path = request.info.path
        if path not in self.paths:
            return
        key = path, str(status)
        self._codes[key] = self._codes.get(key, 0) + 1
        counts, total = self._durations.setdefault(path, ([0] * (len(SECONDS) + 1), [0.0]))
        counts[bisect_left(SECONDS, seconds)] += 1
        total[0] += seconds

    def counting(self, kind: ServedKind, webhook: str) -> Count:
        """What counts the verdicts on a kind; ``webhook``: what the path does."""

        def count(operation: str, verdict: str) -> None:
            key = Verdicts(kind.group, kind.kind.plural, webhook, operation, verdict)
            self._verdicts[key] = self._verdicts.get(key, 0) + 1

        return count

    def families(self) -> Iterator[Family]:
        """What is known now."""
        yield Family(
            "extapi_webhook_requests_total",
            "counter",
            "Total number of requests by path and HTTP status code. Code 0: the caller left before there was a response.",
            ("webhook", "code"),
            self._codes.items(),
        )
        yield Family(
            "extapi_webhook_request_duration_seconds",
            "histogram",
            "How long requests took by path, with the reading of the review and the writing of the answer.",
            ("webhook",),
            (((path,), Buckets(SECONDS, counts, total)) for path, (counts, (total,)) in self._durations.items()),
        )
        yield Family(
            "extapi_webhook_reviews_total",
            "counter",
            "Number of reviews that were answered, by the resource that they are about, what the path does (convert, admit, "
            "validate), operation and verdict (converted, allowed, refused, failed).",
            Verdicts._fields,
            self._verdicts.items(),
        )


def verdict_of(request: AdmissionRequest, verdict: AdmissionVerdict) -> tuple[str, str]:
    """Operation and verdict of an AdmissionReview."""
    refusal = verdict.refusal
    if refusal is None:
        return request.operation, ALLOWED
    code = refusal.get("code")
    return request.operation, FAILED if isinstance(code, int) and code >= 500 else REFUSED


def informer_families(context: Context) -> Iterator[Family]:
    """Which resources the plugins' informers know; of several informers of a resource, whether all do."""
    synced: dict[tuple[str, ...], int] = {}
    for resource, is_synced in followed(context):
        key = resource.group, resource.resource
        synced[key] = min(synced.get(key, 1), int(is_synced))
    yield Family(
        "extapi_informer_synced",
        "gauge",
        "Whether the informers of a resource have listed its objects: 1, or 0 while they have not.",
        ("group", "resource"),
        synced.items(),
    )
