"""``etcd.*``: members, versions, alarms, sizes, latency, HTTP, compaction, certificates."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from extapi.doctor.checks.etcds import etcds
from extapi.doctor.etcdfacts import EtcdFacts, EtcdMemberFacts
from extapi.doctor.finding import Finding, Severity
from tests.unit.doctor.healthy import HEALTHY, NOW

HERE = EtcdMemberFacts(
    "https://etcd-0:2379", version="3.6.8", size=500_000_000, in_use=400_000_000, quota=2_147_483_648, seconds=0.002
)
FACTS = EtcdFacts([HERE], [("--etcd-certfile client.crt", NOW + dt.timedelta(days=300))], revision=1_000, oldest=400)


def judged(facts: EtcdFacts | None) -> dict[str, Finding]:
    found = list(etcds(replace(HEALTHY, etcd=facts)))
    assert len({(each.check, each.subjects) for each in found}) == len(found)
    return {each.check: each for each in found}


def test_nothing_is_said_of_a_store_elsewhere() -> None:
    assert judged(None) == {}


def test_a_healthy_etcd() -> None:
    found = judged(FACTS)
    assert {each.severity for each in found.values()} == {Severity.OK}
    assert found["etcd.size"].saw == "400.0 MB in use, a file of 500.0 MB, a quota of 2,147.5 MB"
    assert found["etcd.latency"].saw == "a linearizable read takes 2.0 ms from here"
    assert found["etcd.compaction"].saw == "revision 1000, compacted to 400: 600 revisions are kept"
    assert found["etcd.certificates"].saw == "it is valid for 300 days"


@pytest.mark.parametrize(
    ("changed", "check", "severity", "text"),
    [
        ({"version": "3.4.23", "supported": False}, "etcd.version", Severity.ERROR, "extapi serve refuses to start"),
        ({"leader": False}, "etcd.members", Severity.ERROR, "without a leader it answers nothing"),
        ({"learner": True}, "etcd.members", Severity.WARNING, "a learner refuses most requests"),
        ({"failure": "connection refused"}, "etcd.members", Severity.ERROR, "no member can be reached"),
        ({"failure": "connection refused"}, "etcd.alarms", Severity.UNKNOWN, "no member can be reached"),
        ({"alarms": ["NOSPACE"]}, "etcd.alarms", Severity.ERROR, "writes are refused"),
        ({"alarms": ["CORRUPT"]}, "etcd.alarms", Severity.ERROR, "all requests are refused"),
        ({"size": 1_900_000_000}, "etcd.size", Severity.WARNING, "alarm NOSPACE"),
        ({"size": 1_900_000_000, "quota": 0}, "etcd.size", Severity.OK, ""),
        ({"hidden": True, "size": 0}, "etcd.size", Severity.UNKNOWN, "to root alone"),
        ({"hidden": True}, "etcd.alarms", Severity.UNKNOWN, "to root alone"),
        ({"seconds": 0.2}, "etcd.latency", Severity.WARNING, "takes at least as long"),
        ({"seconds": 2.0}, "etcd.latency", Severity.ERROR, "takes at least as long"),
        ({"seconds": None, "read_failure": "no leader"}, "etcd.latency", Severity.ERROR, "cannot read here"),
        ({"through_http": True}, "etcd.http", Severity.WARNING, "advises against it in production"),
    ],
)
def test_what_is_wrong_with_a_member(changed: dict[str, Any], check: str, severity: Severity, text: str) -> None:
    found = judged(replace(FACTS, members=[replace(HERE, **changed)]))[check]
    assert (found.severity, text in found.wrong) == (severity, True)
    assert found.do or severity in (Severity.OK, Severity.UNKNOWN)


def test_a_full_file_is_defragmented_or_emptied() -> None:
    for in_use, do in ((100_000_000, "etcdctl defrag"), (1_900_000_000, "delete what is not needed")):
        member = replace(HERE, size=2_000_000_000, in_use=in_use)
        assert judged(replace(FACTS, members=[member]))["etcd.size"].do.startswith(do)


def test_one_member_of_several_that_is_down_is_a_warning() -> None:
    found = list(etcds(replace(HEALTHY, etcd=replace(FACTS, members=[replace(HERE, failure="no route"), HERE]))))
    assert [each.severity for each in found if each.check == "etcd.members"] == [Severity.WARNING, Severity.OK]


@pytest.mark.parametrize(
    ("changed", "check", "severity"),
    [
        ({"failure": "--etcd-cafile: no such file"}, "etcd.members", Severity.ERROR),
        ({"revision": 0, "store_failure": "etcd has no store of extapi there"}, "etcd.compaction", Severity.UNKNOWN),
        ({"revision": 3_000_000}, "etcd.compaction", Severity.WARNING),
        ({"certificates": [("x", NOW + dt.timedelta(days=3))]}, "etcd.certificates", Severity.WARNING),
        ({"certificates": [("x", NOW - dt.timedelta(days=3))]}, "etcd.certificates", Severity.ERROR),
    ],
)
def test_what_is_wrong_with_the_store(changed: dict[str, Any], check: str, severity: Severity) -> None:
    assert judged(replace(FACTS, **changed))[check].severity is severity
