from __future__ import annotations

from dataclasses import replace

from extapi.doctor.checks import judge
from extapi.doctor.facts import StoredVersions
from extapi.doctor.finding import Severity
from tests.unit.doctor.healthy import EXPECTED, GROUP, HEALTHY


def test_nothing_is_wrong_with_what_is_healthy() -> None:
    stored = StoredVersions("sqlite:///x", {(GROUP, "wares"): ["v1"]}, {(GROUP, "wares"): {"v1": 3}})
    findings = judge(replace(HEALTHY, expected=EXPECTED, stored=stored))
    assert {each.severity for each in findings} == {Severity.OK}
    # Every check has said something.
    assert {each.check.partition(".")[0] for each in findings} == {
        "apiservice", "authentication", "certificate", "clock", "discovery", "namespaces", "openapi", "rights", "service",
        "storage",
    }  # fmt: skip


def test_where_there_is_nothing_nothing_is_wrong() -> None:
    nothing = replace(HEALTHY, registrations=[], services={}, served={}, discovery={}, documents={}, accounts={})
    assert not [each for each in judge(nothing) if each.severity in {Severity.ERROR, Severity.WARNING}]
