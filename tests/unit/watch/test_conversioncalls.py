"""Calls of a converter wait for their turn and for their answer, both within bounds."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from extapi.errors import InternalError, TooManyRequests
from extapi.watch.conversioncalls import ConversionCalls, ConversionLimits
from tests.unit.watch.store import caught, now, over


class Desk:
    """Calls that the test answers."""

    def __init__(self, **limits: Any) -> None:
        self.clock = Clock()
        self.calls = ConversionCalls(self.clock, ConversionLimits(**limits))
        self.begun: list[Deferred[str]] = []

    def ask(self, version: str = "v2") -> Deferred[str]:
        async def work() -> str:
            answer: Deferred[str] = Deferred()
            self.begun.append(answer)
            return await answer

        return Deferred.fromCoroutine(self.calls.call(version, work))


def test_an_answer_at_once_needs_no_wait() -> None:
    async def work() -> str:
        return "done"

    desk = Desk()
    assert now(desk.calls.call("v2", work)) == "done"
    assert desk.clock.getDelayedCalls() == []
    assert desk.calls._queues == {}


def test_so_many_run_at_a_time_and_the_others_in_the_order_in_which_they_asked() -> None:
    desk = Desk(calls=2)
    asked = [desk.ask() for _ in range(4)]
    assert len(desk.begun) == 2
    desk.begun[1].callback("second")
    assert len(desk.begun) == 3
    desk.begun[2].callback("third")
    desk.begun[0].callback("first")
    desk.begun[3].callback("fourth")
    assert [each.result for each in asked] == ["first", "second", "third", "fourth"]
    assert desk.calls._queues == {}


def test_a_version_does_not_wait_for_another() -> None:
    desk = Desk(calls=1)
    desk.ask("v2")
    desk.ask("v2")
    other = desk.ask("v3")
    assert len(desk.begun) == 2
    desk.begun[1].callback("other")
    assert other.result == "other"


def test_who_comes_when_too_many_wait_is_told_to_come_again() -> None:
    desk = Desk(calls=1, waiting=2)
    waiting = [desk.ask() for _ in range(3)]
    errors = caught(desk.ask())
    (error,) = errors
    assert isinstance(error, TooManyRequests)
    assert error.retry_after == 1
    assert not any(over(each) for each in waiting)


@pytest.mark.parametrize("position", [0, 1], ids=["running", "waiting for its turn"])
def test_there_is_a_time_limit_from_the_asking_on(position: int) -> None:
    desk = Desk(calls=1, seconds=30)
    waiting = [desk.ask() for _ in range(2)]
    errors = caught(waiting[position])
    desk.clock.advance(29.9)
    assert errors == []
    caught(waiting[1 - position])
    desk.clock.advance(0.1)
    (error,) = errors
    assert isinstance(error, InternalError)
    assert "the conversion to v2 took longer than 30 s" in error.message
    assert desk.clock.getDelayedCalls() == []
    assert desk.calls._queues == {}


def test_who_leaves_the_queue_leaves_it_whole() -> None:
    desk = Desk(calls=1)
    first, second, third = (desk.ask() for _ in range(3))
    errors = caught(second)
    second.cancel()
    assert isinstance(errors[0], CancelledError)
    desk.begun[0].callback("first")
    desk.begun[1].callback("third")
    assert (first.result, third.result) == ("first", "third")
    assert desk.clock.getDelayedCalls() == []


def test_who_leaves_while_it_runs_hands_its_place_over() -> None:
    desk = Desk(calls=1)
    first, second = desk.ask(), desk.ask()
    errors = caught(first)
    first.cancel()
    assert isinstance(errors[0], CancelledError)
    desk.begun[1].callback("second")
    assert second.result == "second"


def test_a_failure_frees_its_place() -> None:
    desk = Desk(calls=1)
    errors = caught(desk.ask())
    second = desk.ask()
    desk.begun[0].errback(ZeroDivisionError("its own"))
    assert isinstance(errors[0], ZeroDivisionError)
    desk.begun[1].callback("second")
    assert second.result == "second"
