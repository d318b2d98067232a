from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from extapi.clock import Late, in_slices, in_time, sleep, stop_timer
from extapi.privatereactor import drive, private_reactor


def test_sleep_ends_when_its_time_has_passed() -> None:
    clock = Clock()
    sleeping = Deferred.fromCoroutine(sleep(clock, 2.0))
    clock.advance(1.9)
    assert not sleeping.called
    clock.advance(0.1)
    assert sleeping.called


def test_a_cancelled_sleep_leaves_no_timer() -> None:
    clock = Clock()
    sleeping = Deferred.fromCoroutine(sleep(clock, 2.0))
    results: list[Any] = []
    sleeping.addBoth(results.append)
    sleeping.cancel()
    assert results[0].check(CancelledError)
    assert clock.getDelayedCalls() == []


@pytest.mark.parametrize("seconds", [-0.5, float("-inf"), 0])
def test_a_time_that_has_passed_is_not_waited_for(seconds: float) -> None:
    with private_reactor() as reactor:  # it asserts that no delay is negative
        drive(reactor, sleep(reactor, seconds))


def test_not_a_number_is_no_time_to_sleep() -> None:
    with pytest.raises(ValueError, match="a delay is a number of seconds, not NaN"):
        sleep(Clock(), float("nan")).send(None)


def test_a_timer_is_stopped_unless_it_is_over() -> None:
    clock = Clock()
    called: list[int] = []
    timers: list[Any] = [clock.callLater(seconds, called.append, seconds) for seconds in (1, 3)]
    clock.advance(2)
    for each in (*timers, *timers, None):
        stop_timer(each)
    clock.advance(9)
    assert called == [1]


def outcome_in_time(clock: Clock, work: Deferred[int]) -> list[Any]:
    results: list[Any] = []
    waiting = Deferred.fromCoroutine(in_time(clock, 2.0, work))
    waiting.addBoth(results.append)
    return results


def test_what_comes_in_time_is_passed_on() -> None:
    clock = Clock()
    works: list[Deferred[int]] = [Deferred(), Deferred()]
    results, errors = (outcome_in_time(clock, work) for work in works)
    clock.advance(1.9)
    works[0].callback(5)
    works[1].errback(ValueError("x"))
    assert results == [5]
    assert errors[0].check(ValueError)
    assert clock.getDelayedCalls() == []


def test_what_is_late_is_cancelled() -> None:
    clock = Clock()
    ended: list[object] = []
    results = outcome_in_time(clock, Deferred(ended.append))
    clock.advance(2.0)
    assert results[0].check(Late)
    assert len(ended) == 1


def test_what_ends_itself_when_it_is_cancelled_has_its_own_say() -> None:
    clock = Clock()
    results = outcome_in_time(clock, Deferred(lambda work: work.callback(7)))
    clock.advance(2.0)
    assert results == [7]


def test_who_waits_may_be_cancelled() -> None:
    clock = Clock()
    work: Deferred[int] = Deferred()
    waiting = Deferred.fromCoroutine(in_time(clock, 2.0, work))
    results: list[Any] = []
    waiting.addBoth(results.append)
    waiting.cancel()
    assert results[0].check(CancelledError)
    assert (work.called, clock.getDelayedCalls()) == (True, [])


def test_others_have_their_turn_between_slices_of_long_work() -> None:
    clock = Clock()
    done: list[str] = []

    def steps() -> Any:
        for number in range(5):
            done.append(str(number))
            clock.rightNow += 0.4
            yield

    working = Deferred.fromCoroutine(in_slices(clock, 1.0, steps()))
    while not working.called:
        done.append("others")
        clock.advance(0)
    assert done == ["0", "1", "2", "others", "3", "4"]
