from __future__ import annotations

from dataclasses import replace

from extapi.doctor.facts import ExpectedGroup
from extapi.doctor.finding import Severity
from tests.unit.doctor.healthy import EXPECTED, GROUP, HEALTHY, SUBJECT, found, one, registered

CHECK = "apiservice.registered"


def test_versions_of_the_app_and_of_the_cluster() -> None:
    assert not found(CHECK)
    assert one(CHECK, expected=EXPECTED).severity is Severity.OK


def test_a_version_that_is_missing_and_one_that_is_unknown() -> None:
    app = [ExpectedGroup(GROUP, ["v2"], [])]
    missing, unknown = found(CHECK, expected=app)
    assert (missing.severity, missing.subjects) == (Severity.ERROR, ("APIService v2.shop.example.com",))
    assert (unknown.severity, unknown.subjects) == (Severity.WARNING, (SUBJECT,))
    assert "kubectl delete apiservice v1.shop.example.com" in unknown.do


def test_a_version_that_kube_apiserver_serves_itself() -> None:
    finding = one(CHECK, expected=EXPECTED, **registered(service=None, caBundle=None))
    assert finding.severity is Severity.ERROR
    assert "CustomResourceDefinition" in finding.wrong
    assert finding.do.startswith("save the objects of these CustomResourceDefinitions, which are lost with them")


def test_a_group_that_is_not_there() -> None:
    finding = one(CHECK, groups=frozenset({GROUP, "gone.example.com"}))
    assert (finding.severity, finding.subjects) == (Severity.ERROR, ("group gone.example.com",))
    nothing = one(CHECK, registrations=[], services={}, served={}, discovery={}, documents={}, accounts={})
    assert nothing.severity is Severity.UNKNOWN


def test_other_groups_do_not_matter() -> None:
    other = replace(HEALTHY.registrations[0], group="other.example.com", name="v9.other.example.com", version="v9")
    named = [each.subjects for each in found(CHECK, expected=EXPECTED, registrations=[*HEALTHY.registrations, other],
                                             discovery={**HEALTHY.discovery, other.name: HEALTHY.discovery["v1.shop.example.com"]})]  # fmt: skip
    assert named == [(SUBJECT,)]
