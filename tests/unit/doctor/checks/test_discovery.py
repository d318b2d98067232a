from __future__ import annotations

from typing import Any

import pytest

from extapi.doctor.facts import Reading
from extapi.doctor.finding import Severity
from tests.unit.doctor.healthy import (
    EXPECTED,
    GROUP,
    NAME,
    aggregated,
    discovery,
    external,
    forbidden,
    found,
    one,
    reading,
    registered,
)

ANSWER, RESOURCES, AGGREGATED = "discovery.answer", "discovery.resources", "discovery.aggregated"
AWAY = {"status": "False", "reason": "FailedDiscoveryCheck", "message": "EOF"}


@pytest.mark.parametrize(
    ("answer", "severity"),
    [
        (reading(discovery(), seconds=0.5), Severity.OK),
        (reading(discovery(), seconds=2.6), Severity.WARNING),
        (reading(status=0, text="nothing within 5 seconds", seconds=5.0), Severity.ERROR),
        (reading(status=0, text="nothing within 1 seconds", seconds=1.0), Severity.UNKNOWN),  # with --timeout 1
        (reading(status=504, text="context deadline exceeded", seconds=5.0), Severity.ERROR),
        (reading(status=0, over=True), Severity.UNKNOWN),
        (reading(status=404, text="404 page not found"), Severity.ERROR),
        (reading(status=500, text="oh"), Severity.ERROR),
        (reading(discovery(groupVersion=f"{GROUP}/v2")), Severity.ERROR),
        (reading(discovery(kind="APIGroup")), Severity.ERROR),
        (reading(["no", "object"]), Severity.ERROR),
        (Reading("get on it", status=200, data=b"<html>"), Severity.ERROR),
        (forbidden(), Severity.UNKNOWN),
    ],
)
def test_answers(answer: Reading, severity: Severity) -> None:
    assert one(ANSWER, discovery={NAME: answer}).severity is severity


def test_what_is_not_available_is_not_proxied() -> None:
    changed: dict[str, Any] = {"discovery": {NAME: reading(status=503, text="service unavailable")}}
    assert one(ANSWER, **changed, **registered(condition=AWAY)).severity is Severity.UNKNOWN
    assert one(ANSWER, **changed).severity is Severity.ERROR


@pytest.mark.parametrize(("status", "seconds", "late"), [(503, 0.01, False), (504, 1.0, False), (503, 5.2, True)])
def test_a_refusal_at_once_is_not_called_late(status: int, seconds: float, late: bool) -> None:
    answer = reading(status=status, text="service unavailable", seconds=seconds)
    finding = one(ANSWER, discovery={NAME: answer})
    assert finding.severity is Severity.ERROR
    assert f"kube-apiserver answered {status} to get on this: service unavailable, " in finding.saw
    assert ("within 5 seconds" in finding.wrong) is late
    if not late:
        assert finding.do == "kubectl logs -n shop service/server"
        elsewhere = one(ANSWER, discovery={NAME: answer}, services=external())
        assert elsewhere.do == "look at the log of the server at localhost:443"


@pytest.mark.parametrize(
    ("status", "wrong", "do"),
    [
        (401, "does not trust kube-apiserver's proxy certificate", "one of: front-proxy-client?"),
        (404, "does not serve this group and version", f"delete the APIService {NAME}"),
        (500, "fails, or is not ready", "kubectl logs -n shop service/server"),
        (418, "a server that works does not answer so", "kubectl logs -n shop service/server"),
    ],
)
def test_each_status_is_explained(status: int, wrong: str, do: str) -> None:
    finding = one(ANSWER, discovery={NAME: reading(status=status, text="no")})
    assert wrong in finding.wrong
    assert do in finding.do
    assert ("does not serve" in f"{finding.wrong} {finding.do}") is (status == 404)


def test_the_resources_of_the_app() -> None:
    assert not found(RESOURCES)
    assert one(RESOURCES, expected=EXPECTED).severity is Severity.OK
    finding = one(RESOURCES, expected=EXPECTED, discovery={NAME: reading(discovery(resources=[{"name": "goods"}]))})
    assert finding.severity is Severity.ERROR
    assert "wares missing, goods unknown" in finding.wrong


@pytest.mark.parametrize(
    ("document", "severity"),
    [
        (aggregated(), Severity.OK),
        (aggregated("Stale"), Severity.WARNING),
        ({"kind": "APIGroupDiscoveryList", "items": []}, Severity.WARNING),
        (
            {
                "kind": "APIGroupDiscoveryList",
                "items": [{"metadata": {"name": GROUP}, "versions": [{"version": "v2"}]}],
            },
            Severity.WARNING,
        ),
        ({"kind": "APIGroupList", "groups": []}, Severity.UNKNOWN),
    ],
)
def test_the_document_of_all(document: dict[str, Any], severity: Severity) -> None:
    assert one(AGGREGATED, aggregated=reading(document)).severity is severity


def test_the_document_of_all_cannot_be_read_or_lacks_what_is_away() -> None:
    assert one(AGGREGATED, aggregated=forbidden()).severity is Severity.UNKNOWN
    empty = reading({"kind": "APIGroupDiscoveryList", "items": []})
    assert one(AGGREGATED, aggregated=empty, **registered(condition=AWAY)).severity is Severity.UNKNOWN
