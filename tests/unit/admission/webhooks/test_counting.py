"""How calls of webhooks are counted. What is counted for which answer is compared with kube-apiserver end to end."""

from __future__ import annotations

from extapi.admission.webhooks.counting import CALLING_ERROR, WebhookCalls
from extapi.server.exposition import Buckets
from extapi.server.webhookmetrics import webhook_families

KEY = ("check.test", "admit", "CREATE")


def test_a_call_is_counted_in_its_bucket() -> None:
    calls = WebhookCalls()
    for seconds in (0.005, 0.006, 30.0):
        calls.called(KEY, seconds, 200, rejected=False)
    assert calls.requests == {(*KEY, "200", "false"): 3}
    (durations,) = calls.durations.values()
    assert durations.counts == [1, 1, 0, 0, 0, 0, 0, 0, 1]
    assert round(durations.total, 3) == 30.011


def test_codes_are_bounded() -> None:
    """A webhook may answer with any number."""
    calls = WebhookCalls()
    for code in (600, 601, 2_000_000):
        calls.rejected(KEY, 0.1, code, CALLING_ERROR)
    assert calls.rejections == {(*KEY, CALLING_ERROR, "600"): 3}
    assert calls.requests == {(*KEY, "600", "true"): 3}


def test_the_families() -> None:
    calls = WebhookCalls()
    calls.rejected(KEY, 0.1, 503, CALLING_ERROR)
    calls.open("check.test", "admit")
    found = {
        family.name.removeprefix("apiserver_admission_webhook_"): dict(family.samples)
        for family in webhook_families(calls)
    }
    durations = found["admission_duration_seconds"][*KEY, "true"]
    assert isinstance(durations, Buckets)
    assert (durations.bounds[-1], sum(durations.counts)) == (25.0, 1)
    del found["admission_duration_seconds"]
    assert found == {
        "request_total": {(*KEY, "503", "true"): 1},
        "rejection_count": {(*KEY, CALLING_ERROR, "503"): 1},
        "fail_open_count": {("check.test", "admit"): 1},
    }
