from __future__ import annotations

import datetime as dt

import pytest

from extapi.doctor.finding import Severity
from tests.unit.doctor.healthy import NAME, NOW, config_map, discovery, found, one, reading


@pytest.mark.parametrize(
    ("seconds", "severity", "words"),
    [
        (3, Severity.OK, "agree"),
        (-30, Severity.WARNING, "30 seconds behind"),
        (90, Severity.ERROR, "90 seconds ahead of"),
        (-7200, Severity.ERROR, "2 hours behind"),
    ],
)
def test_a_server_with_another_time_than_kube_apiserver(seconds: int, severity: Severity, words: str) -> None:
    there = NOW + dt.timedelta(seconds=seconds)
    finding = one("clock.server", discovery={NAME: reading(discovery(), date=there)})
    assert finding.severity is severity
    assert words in finding.saw


@pytest.mark.parametrize(("minutes", "words"), [(-10, "10 minutes ahead of"), (10, "10 minutes behind")])
def test_a_wrong_clock_here_is_not_the_servers_fault(minutes: int, words: str) -> None:
    here = NOW + dt.timedelta(minutes=minutes)
    changed = {"config_map": reading(config_map(), here=here), "discovery": {NAME: reading(discovery(), here=here)}}
    finding = one("clock.here", **changed)
    assert finding.severity is Severity.WARNING
    assert f"{words} this machine's" in finding.saw
    assert one("clock.server", **changed).severity is Severity.OK


def test_answers_without_a_date() -> None:
    assert one("clock.here", config_map=reading(config_map(), date=None)).severity is Severity.UNKNOWN
    assert not found("clock.server", discovery={NAME: reading(discovery(), date=None)})


def test_an_answer_of_kube_apiserver_itself_tells_nothing_of_the_server() -> None:
    assert not found("clock.server", discovery={NAME: reading(status=503, date=NOW + dt.timedelta(hours=1))})
