"""Figures about calls of webhooks, as kube-apiserver counts them. Must not know how they are shown.

A webhook's name becomes a label, and only whoever may configure webhooks chooses it.

Source: ``k8s.io/apiserver/pkg/admission/metrics/metrics.go``, ``.../plugin/webhook/{mutating,validating}/dispatcher.go``.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

SECONDS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
"""The buckets of durations."""
_LARGEST: Final = 600
"""What larger codes are counted as."""
NO_ERROR, CALLING_ERROR, INTERNAL_ERROR = "no_error", "calling_webhook_error", "apiserver_internal_error"

Labels = tuple[str, ...]


class Durations:
    """How long calls took: counts by bucket, not cumulative, and the sum in seconds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.total = 0.0


class WebhookCalls:
    """Counts calls.

    Attributes:
        requests: By name, type, operation, code and whether the write was rejected.
        durations: By name, type, operation and whether the write was rejected.
        rejections: By name, type, operation, error type and code.
        opened: Those that failed and were left out, by name and type.
    """

    def __init__(self) -> None:
        self.requests: dict[Labels, int] = {}
        self.durations: dict[Labels, Durations] = {}
        self.rejections: dict[Labels, int] = {}
        self.opened: dict[Labels, int] = {}

    def called(self, key: Labels, seconds: float, code: int, *, rejected: bool) -> None:
        """Count a call; ``key``: name, type and operation."""
        shown = "true" if rejected else "false"
        _count(self.requests, (*key, str(min(code, _LARGEST)), shown))
        durations = self.durations.setdefault((*key, shown), Durations())
        durations.counts[bisect_left(SECONDS, seconds)] += 1
        durations.total += seconds

    def rejected(self, key: Labels, seconds: float, code: int, error_type: str) -> None:
        """Count a call that has the write rejected, and why."""
        _count(self.rejections, (*key, error_type, str(min(code, _LARGEST))))
        self.called(key, seconds, code, rejected=True)

    def open(self, name: str, step: str) -> None:
        """Count a call that failed, and whose webhook was left out."""
        _count(self.opened, (name, step))


def _count(counts: dict[Labels, int], key: Labels) -> None:
    counts[key] = counts.get(key, 0) + 1
