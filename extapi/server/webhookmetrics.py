"""Figures about the calls of a cluster's admission webhooks, under the names that kube-apiserver has for them.

Source: ``k8s.io/apiserver/pkg/admission/metrics/metrics.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from extapi.admission.webhooks.counting import SECONDS, WebhookCalls
from extapi.server.exposition import Buckets, Family

_CALL = ("name", "type", "operation")


def webhook_families(calls: WebhookCalls) -> Iterator[Family]:
    """What is known now."""
    yield Family(
        "apiserver_admission_webhook_request_total",
        "counter",
        "Admission webhook request total, identified by name and broken out for each admission type (validating or admit) and "
        "operation, with whether the request was rejected and an HTTP status code. Codes greater than 600 are truncated to 600.",
        (*_CALL, "code", "rejected"),
        calls.requests.items(),
    )
    yield Family(
        "apiserver_admission_webhook_admission_duration_seconds",
        "histogram",
        "Admission webhook latency histogram in seconds, identified by name and broken out for each operation and type "
        "(validating or admit).",
        (*_CALL, "rejected"),
        ((labels, Buckets(SECONDS, each.counts, each.total)) for labels, each in calls.durations.items()),
    )
    yield Family(
        "apiserver_admission_webhook_rejection_count",
        "counter",
        "Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and "
        "operation. The error type is calling_webhook_error, apiserver_internal_error, or no_error; the rejection code is the "
        "HTTP status code that the webhook gave. Codes greater than 600 are truncated to 600.",
        (*_CALL, "error_type", "rejection_code"),
        calls.rejections.items(),
    )
    yield Family(
        "apiserver_admission_webhook_fail_open_count",
        "counter",
        "Admission webhook fail open count, identified by name and broken out for each admission type (validating or admit).",
        ("name", "type"),
        calls.opened.items(),
    )
