"""What an operator is told of a collection that nothing is heard of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, formatEvent, globalLogPublisher

from extapi.client.hearing import Hearing


@pytest.fixture
def lines() -> Iterator[list[str]]:
    events: list[Any] = []
    observer = cast("ILogObserver", lambda event: events.append(f"{event['log_level'].name}: {formatEvent(event)}"))
    globalLogPublisher.addObserver(observer)
    yield events
    globalLogPublisher.removeObserver(observer)


def test_a_failure_is_told_of_at_once_and_then_once_a_minute(lines: list[str]) -> None:
    clock = Clock()
    hearing = Hearing("pods", clock)
    for _ in range(10):
        hearing.failed("refused")
        clock.advance(20)
    assert lines == [
        "info: informer of pods continues after: refused",
        "info: informer of pods continues after: refused (2 more failures since the last line)",
        "warn: informer of pods continues after: refused (2 more failures since the last line); nothing has been heard for 120 s",
        "warn: informer of pods continues after: refused (2 more failures since the last line); nothing has been heard for 180 s",
    ]
    hearing.heard()
    assert lines[4:] == ["info: pods are followed again, after 200 s"]


def test_silence_has_a_bound() -> None:
    clock = Clock()
    hearing = Hearing("pods", clock)
    clock.advance(75)
    assert hearing.problem() is None
    clock.advance(1)
    assert hearing.problem() == "nothing has been heard of pods for 76 s"
    hearing.heard()
    assert hearing.problem() is None
