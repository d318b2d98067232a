"""How often an operator is told that a webhook fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from extapi.client.failurelog import EVERY, FailureLog

Lines = Callable[[], list[str]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines() -> Iterator[Lines]:
    """The lines since the last call."""
    told = 0
    with capturedLogs() as events:

        def taken() -> list[str]:
            nonlocal told
            found = [f"{event['log_level'].name}: {formatEvent(event)}" for event in events[told:]]
            told = len(events)
            return found

        yield taken


def test_the_first_failure_is_told_and_then_their_number(clock: Clock, lines: Lines) -> None:
    log = FailureLog("CustomResourceDefinition a", "https://b/", clock)
    log.failed("no")
    assert lines() == ["error: CustomResourceDefinition a: no; the webhook is at https://b/"]
    for _ in range(1000):
        log.failed("no")
    assert lines() == []
    clock.advance(EVERY)
    log.failed("still not")
    assert lines() == [
        "error: CustomResourceDefinition a: still not (1000 more failures since the last line); the webhook is at https://b/"
    ]


def test_a_webhook_that_works_is_silent_unless_it_had_failed(clock: Clock, lines: Lines) -> None:
    log = FailureLog("CustomResourceDefinition a", "https://b/", clock)
    log.succeeded()
    assert lines() == []
    log.failed("no")
    lines()
    log.succeeded()
    assert lines() == [], "it may fail again at once"
    clock.advance(EVERY)
    log.succeeded()
    log.succeeded()
    assert lines() == ["info: CustomResourceDefinition a: the conversion webhook at https://b/ works again"]
    log.failed("no")
    assert len(lines()) == 1


def test_one_that_comes_and_goes_is_told_of_once_a_minute(clock: Clock, lines: Lines) -> None:
    log = FailureLog("CustomResourceDefinition a", "https://b/", clock)
    for _ in range(100):
        log.failed("no")
        log.succeeded()
    assert len(lines()) == 1
