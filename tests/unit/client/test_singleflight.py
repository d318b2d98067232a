"""Answers that are shared, and kept."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, TimeoutError as CallTimeout

from extapi.client.singleflight import AnswerCache, SingleFlight, to_the_end
from tests.unit.client.building import now


class Bench:
    """Flights, the calls that were made, and what came of those who joined."""

    def __init__(self) -> None:
        self.clock: Any = now()
        self.flights: SingleFlight[str] = SingleFlight(self.clock, 30.0)
        self.calls: list[Deferred[str]] = []
        self.cancelled = 0
        self.results: list[Any] = []

    def join(self, key: str = "k") -> Deferred[Any]:
        async def call() -> str:
            waiting: Deferred[str] = Deferred()
            self.calls.append(waiting)
            try:
                return await waiting
            except CancelledError:
                self.cancelled += 1
                raise

        joining: Deferred[Any] = Deferred.fromCoroutine(self.flights.join(key, call))
        joining.addBoth(lambda result: self.results.append(getattr(result, "value", result)))
        return joining


def test_the_call_ends_with_the_last_who_waits() -> None:
    bench = Bench()
    first, second = bench.join(), bench.join()
    first.cancel()
    assert (len(bench.calls), bench.cancelled) == (1, 0)
    second.cancel()
    assert bench.cancelled == 1
    assert [type(result) for result in bench.results] == [CancelledError, CancelledError]
    assert bench.clock.getDelayedCalls() == []
    bench.join()
    bench.calls[1].callback("new")
    assert bench.results[2:] == ["new"]


def test_too_late_for_all() -> None:
    bench = Bench()
    bench.join(), bench.join()
    bench.clock.advance(30)
    assert [type(result) for result in bench.results] == [CallTimeout, CallTimeout]
    assert bench.cancelled == 1
    bench.join()
    assert len(bench.calls) == 2


def test_a_forgotten_call_that_ends_late_answers_nobody() -> None:
    clock: Any = now()
    flights: SingleFlight[str] = SingleFlight(clock, 30.0)
    calls: list[Deferred[str]] = []
    results: list[Any] = []

    async def call() -> str:
        calls.append(Deferred())
        return await to_the_end(calls[-1])  # goes on although it is cancelled

    def join() -> Deferred[Any]:
        joining: Deferred[Any] = Deferred.fromCoroutine(flights.join("k", call))
        return joining.addBoth(lambda result: results.append(getattr(result, "value", result)))

    join().cancel()
    join()
    calls[0].callback("old")
    assert [type(result) for result in results] == [CancelledError]
    calls[1].callback("new")
    assert results[1:] == ["new"]
    assert clock.getDelayedCalls() == []


def test_one_who_leaves_while_all_are_told() -> None:
    bench = Bench()
    joined = [bench.join() for _ in range(3)]
    joined[0].addCallback(lambda _: joined[2].cancel())
    bench.calls[0].callback("x")
    assert bench.results[0] == "x"
    assert [type(result) for result in bench.results[1:]] == [CancelledError, str]


@pytest.mark.parametrize("success", [True, False])
def test_to_the_end(success: bool) -> None:
    running: Deferred[str] = Deferred()
    results: list[Any] = []
    waiting = Deferred.fromCoroutine(to_the_end(running))
    waiting.addBoth(lambda result: results.append(getattr(result, "value", result)))
    waiting.cancel()
    waiting.cancel()
    assert (results, running.called) == ([], False)
    if success:
        running.callback("done")
        assert results == ["done"]
    else:
        error: Any = RuntimeError("broken")
        running.errback(error)
        assert [type(result) for result in results] == [CancelledError]


def test_a_failure_after_a_while_is_told() -> None:
    """What comes goes on from within the callbacks of what ended, where Twisted has not kept the failure yet."""
    answering: Deferred[str] = Deferred()

    async def call() -> str:
        return await answering

    results: list[Any] = []
    waiting = Deferred.fromCoroutine(to_the_end(Deferred.fromCoroutine(call())))
    waiting.addBoth(lambda result: results.append(result.value))
    error: Any = RuntimeError("broken")
    answering.errback(error)
    assert results == [error]


def test_a_cache_has_a_weight() -> None:
    clock: Any = now()
    cache: AnswerCache[str] = AnswerCache(clock, 10, weight=100)
    cache.put("a", "A", 5, weight=60)
    cache.put("b", "B", 5, weight=40)
    assert (cache.get("a"), cache.get("b")) == ("A", "B")
    cache.put("a", "AA", 5, weight=50)  # replaced: its old weight is gone
    assert (cache.get("a"), cache.get("b")) == ("AA", "B")
    cache.put("c", "C", 5, weight=30)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, "B", "C")
    cache.put("d", "D", 5, weight=101)
    assert all(cache.get(key) is None for key in "abcd")
    clock.advance(6)
    cache.put("e", "E", 5, weight=100)
    assert cache.get("e") == "E"


def test_an_answer_is_good_for_its_time_and_no_longer() -> None:
    clock: Any = now()
    cache: AnswerCache[str] = AnswerCache(clock, 10)
    cache.put("a", "A", 5)
    clock.advance(4.5)
    assert cache.get("a") == "A"
    clock.advance(0.5)
    assert cache.get("a") is None
    cache.put("b", "B", 0)
    assert cache.get("b") is None
