"""Alarms: read of what members say is wrong, asked for now and then, and named in the log once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogEvent, formatEvent, globalLogPublisher

from extapi.storage.base import Unavailable
from extapi.storage.etcd.alarms import SECONDS, EtcdAlarms, alarms_of
from extapi.storage.etcd.wire import Status

NOSPACE, CORRUPT = "memberID:10276657743932975437 alarm:NOSPACE ", "memberID:10276657743932975437 alarm:CORRUPT "


def test_alarms_are_found_among_what_is_wrong() -> None:
    assert alarms_of(["etcdserver: no leader", NOSPACE, CORRUPT, NOSPACE]) == ["CORRUPT", "NOSPACE"]


class Bench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.asked: list[Deferred[Status]] = []
        self.alarms = EtcdAlarms(self.ask, self.clock)

    async def ask(self) -> Status:
        waiting: Deferred[Status] = Deferred()
        self.asked.append(waiting)
        return await waiting

    def say(self, *errors: str) -> None:
        self.asked[-1].callback(Status("3.6.8", 1, list(errors)))


@pytest.fixture
def logged() -> Iterator[list[str]]:
    lines: list[str] = []

    def observe(event: LogEvent) -> None:
        if event.get("log_namespace", "").endswith("EtcdAlarms"):
            lines.append(formatEvent(event))

    observer: Any = observe
    globalLogPublisher.addObserver(observer)
    yield lines
    globalLogPublisher.removeObserver(observer)


def test_an_alarm_is_told_once_and_its_end(logged: list[str]) -> None:
    bench = Bench()
    bench.alarms.soon()
    assert bench.asked == []  # not started
    bench.alarms.start()
    bench.say()
    assert (bench.alarms.note(), bench.alarms.check(), logged) == ("", None, [])
    bench.alarms.soon()  # a write was refused
    bench.alarms.soon()
    assert len(bench.asked) == 2
    bench.say(NOSPACE)
    assert (bench.alarms.note(), bench.alarms.check()) == ("alarm NOSPACE", None)
    bench.clock.advance(SECONDS)
    bench.say(NOSPACE, CORRUPT)
    assert bench.alarms.note() == "alarm CORRUPT, NOSPACE"
    assert bench.alarms.check() == "etcd has raised the alarm CORRUPT"
    bench.clock.advance(SECONDS)
    bench.asked[-1].errback(Unavailable("away"))
    assert bench.alarms.note() == "alarm CORRUPT, NOSPACE"
    bench.clock.advance(SECONDS)
    bench.say()
    assert (bench.alarms.note(), bench.alarms.check()) == ("", None)
    assert [line.partition(":")[0] for line in logged] == [
        "etcd has raised the alarm NOSPACE",
        "etcd has raised the alarm CORRUPT",
        "etcd has disarmed the alarm CORRUPT",
        "etcd has disarmed the alarm NOSPACE",
    ]
    bench.clock.advance(SECONDS)
    bench.alarms.stop()
    assert bench.clock.getDelayedCalls() == []
    bench.clock.advance(SECONDS)
    assert len(bench.asked) == 6


def test_nobody_is_asked_after_the_end() -> None:
    bench = Bench()
    bench.alarms.start()
    bench.say()
    bench.alarms.stop()
    bench.clock.advance(SECONDS)
    bench.alarms.soon()
    assert len(bench.asked) == 1
