"""What ``/metrics`` says of reviews, and that nothing a caller makes up becomes a label."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from prometheus_client.metrics_core import Metric

from extapi.webhooks.reviewmetrics import verdict_of
from extapi.webhooks.reviews.admission import AdmissionVerdict, read_admission
from tests.kubernetes.scraping import families, values
from tests.unit.webhooks.asking import Asked, lamps, recorded

RECORDED = recorded()
LAMP = {"group": "hooked.example.com", "resource": "lamps"}


def scrape(asked: Asked, path: str = "/metrics") -> Mapping[str, Metric]:
    return families(asked.send(path, b"", method="GET").text)


def verdicts(asked: Asked) -> dict[tuple[str, str, str], float]:
    found = scrape(asked).get("extapi_webhook_reviews_total")
    samples: list[Any] = [] if found is None else found.samples
    assert all({name: each.labels[name] for name in LAMP} == LAMP for each in samples)
    return {tuple(each.labels[name] for name in ("webhook", "operation", "verdict")): each.value for each in samples}


def changed(case: str, **request: Any) -> dict[str, Any]:
    review = RECORDED[case].review
    return {**review, "request": {**review["request"], **request}}


def test_verdicts_are_counted_by_kind_and_operation() -> None:
    asked = lamps()
    assert verdicts(asked) == {}
    asked.ask(RECORDED["lamp-create/validate"])
    asked.send("/validate/v1beta1/lamp", RECORDED["lamp-create/validate"].review)
    asked.ask(RECORDED["lamp-create/admit"])
    wrong = {"group": "other.example.com", "version": "v1", "kind": "Other"}
    asked.send("/validate/v1/lamp", changed("lamp-create/validate", kind=wrong))
    assert verdicts(asked) == {
        ("validate", "CREATE", "allowed"): 2,
        ("admit", "CREATE", "allowed"): 1,
        ("validate", "CREATE", "refused"): 1,
    }


def test_conversions_are_counted() -> None:
    asked = lamps()
    review = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "a", "desiredAPIVersion": "hooked.example.com/v1", "objects": []},
    }
    asked.send("/convert/v1/lamp", review)
    review["request"]["desiredAPIVersion"] = "hooked.example.com/v9"  # type: ignore[index]  # an object
    asked.send("/convert/v1/lamp", review)
    assert verdicts(asked) == {("convert", "", "converted"): 1, ("convert", "", "failed"): 1}


def test_code_that_fails_is_no_refusal() -> None:
    request = read_admission(_body())
    assert verdict_of(request, AdmissionVerdict()) == ("CREATE", "allowed")
    assert verdict_of(request, AdmissionVerdict(refusal={"code": 500})) == ("CREATE", "failed")
    assert verdict_of(request, AdmissionVerdict(refusal={"code": 403})) == ("CREATE", "refused")
    assert verdict_of(request, AdmissionVerdict(refusal={})) == ("CREATE", "refused")


def _body() -> bytes:
    return json.dumps(RECORDED["lamp-create/validate"].review).encode()


class Info:
    def __init__(self, path: str) -> None:
        self.info = self
        self.path = path


def test_requests_are_counted_by_path_and_code() -> None:
    asked = lamps()
    for path, status, seconds in (
        ("/validate/v1/lamp", 200, 0.005),
        ("/validate/v1/lamp", 200, 0.006),
        ("/validate/v1/lamp", 413, 11.0),
        ("/validate/v1/made-up", 404, 1.0),
        ("/readyz", 200, 1.0),
    ):
        asked.server.requests(Info(path), status, 10, seconds)  # type: ignore[arg-type]  # what is read of a request
    found = scrape(asked)
    counts = found["extapi_webhook_requests_total"].samples
    assert {(each.labels["webhook"], each.labels["code"]): each.value for each in counts} == {
        ("/validate/v1/lamp", "200"): 2,
        ("/validate/v1/lamp", "413"): 1,
    }
    durations = {
        (each.name.rpartition("_")[2], each.labels.get("le", "")): each.value
        for each in found["extapi_webhook_request_duration_seconds"].samples
    }
    assert (durations["bucket", "0.005"], durations["bucket", "0.01"]) == (1, 2)
    assert (durations["bucket", "10"], durations["bucket", "+Inf"]) == (2, 3)
    assert (durations["count", ""], round(durations["sum", ""], 3)) == (3, 11.011)


def test_health_and_the_process_are_shown() -> None:
    asked = lamps()
    asked.send("/readyz", b"", method="GET")
    assert values(scrape(asked, "/metrics/slis")["kubernetes_healthcheck"], name="shutdown", type="readyz") == 1
    assert {"python_info", "process_open_fds", "kubernetes_build_info"} <= set(scrape(asked))


def test_methods() -> None:
    assert lamps().send("/metrics", b"").status == 405
    assert lamps().send("/metrics/other", b"", method="GET").status == 404
