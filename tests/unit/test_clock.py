from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from extapi.clock import sleep


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
