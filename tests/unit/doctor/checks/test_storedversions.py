from __future__ import annotations

import pytest

from extapi.doctor.facts import HookFacts, StoredVersions
from extapi.doctor.finding import Severity
from extapi.server.discovery import storage_version_hash
from tests.unit.doctor.healthy import EXPECTED, GROUP, NAME, discovery, found, one, reading

CHECK = "storage.versions"
KIND = (GROUP, "wares")


@pytest.mark.parametrize(
    ("recorded", "counts", "severity", "words"),
    [
        (["v1"], {"v1": 2}, Severity.OK, "stored: 2 in v1; on record: v1"),
        (["v0", "v1"], {"v1": 2}, Severity.OK, "on record: v0, v1"),  # nothing is stored in v0 any more
        (["v0", "v1"], {"v0": 1, "v1": 2}, Severity.ERROR, "1 in v0"),
        ([], {}, Severity.OK, "stored: none"),
    ],
)
def test_what_is_stored(recorded: list[str], counts: dict[str, int], severity: Severity, words: str) -> None:
    stored = StoredVersions("sqlite:///x", {KIND: recorded}, {KIND: counts})
    finding = one(CHECK, stored=stored)
    assert finding.severity is severity
    assert words in finding.saw
    assert finding.subjects == ("wares.shop.example.com",)


def test_a_kind_that_nothing_serves() -> None:
    stored = StoredVersions("sqlite:///x", {(GROUP, "relics"): ["v1"]}, {(GROUP, "relics"): {"v1": 1}}, complete=False)
    findings = [each for each in found(CHECK, stored=stored, expected=EXPECTED) if each.severity is Severity.WARNING]
    assert [each.subjects for each in findings] == [("relics.shop.example.com",)]
    assert "not all were counted" in findings[0].saw


def test_a_store_that_cannot_be_read_or_is_empty() -> None:
    assert one(CHECK, stored=None).severity is Severity.UNKNOWN
    assert one(CHECK, stored=StoredVersions("memory:", failure="keeps nothing")).wrong == "keeps nothing"
    assert one(CHECK, stored=StoredVersions("sqlite:///x")).saw == "it holds no objects"


def test_the_version_of_new_objects() -> None:
    resource = {"name": "wares", "storageVersionHash": storage_version_hash(GROUP, "v2", "Ware")}
    changed = {NAME: reading(discovery(resources=[resource]))}
    (finding,) = [
        each for each in found(CHECK, expected=EXPECTED, discovery=changed) if each.severity is Severity.WARNING
    ]
    assert finding.saw == "new objects are stored in a version that the app does not have; the app says v1"
    hidden = {NAME: reading(discovery(resources=[{"name": "wares"}]))}
    assert one(CHECK, expected=EXPECTED, discovery=hidden).severity is Severity.UNKNOWN  # the store itself alone


@pytest.mark.parametrize(
    ("recorded", "severity", "words"),
    [
        (["v1"], Severity.OK, "status.storedVersions is v1"),
        (["v0", "v1"], Severity.WARNING, "extapi migrate wares.shop.example.com stores all anew"),
    ],
)
def test_custom_resources_have_a_record_at_kube_apiserver(recorded: list[str], severity: Severity, words: str) -> None:
    """There is no other store then, so none is asked for."""
    hooks = HookFacts(stored={"wares.shop.example.com": ("v1", recorded)})
    finding = one(CHECK, hooks=hooks, groups=frozenset({GROUP}), registrations=[], services={}, accounts={})
    assert finding.severity is severity
    assert words in f"{finding.saw} {finding.do}"


def test_without_a_group_the_records_of_all_custom_resources_are_not_told() -> None:
    hooks = HookFacts(stored={"wares.shop.example.com": ("v1", ["v0", "v1"])})
    assert {each.severity for each in found(CHECK, hooks=hooks)} == {Severity.UNKNOWN}
