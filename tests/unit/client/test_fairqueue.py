"""Whose call comes next: rate, number, and turns between flows."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.client.fairqueue import BURST, PATIENCE, QPS, RUNNING, WAITING, FairQueue
from extapi.errors import TooManyRequests
from tests.unit.client.building import now


class Bench:
    """A queue, who has had a turn, and who was refused."""

    def __init__(self, **options: Any) -> None:
        self.clock: Any = now()
        self.queue = FairQueue(self.clock, **{"rate": 1.0, "burst": 1000.0, "running": 1, **options})
        self.turns: list[str] = []
        self.begun: list[str] = []
        self.refused: list[tuple[str, Any]] = []

    def ask(self, flow: str, name: str = "") -> Deferred[None]:
        async def ask() -> None:
            await self.queue.turn(flow)
            self.turns.append(name or flow)
            self.begun.append(flow)

        asking: Deferred[None] = Deferred.fromCoroutine(ask())
        asking.addErrback(lambda failure: self.refused.append((name or flow, failure.value)))
        return asking

    def end(self) -> None:
        """End the call that began first."""
        self.queue.done(self.begun.pop(0))

    def serve(self) -> None:
        """End each call as soon as it has begun, until nobody waits."""
        while self.begun:
            self.end()


def test_flows_take_turns() -> None:
    bench = Bench()
    for number in range(4):
        bench.ask("greedy", f"greedy{number}")
    bench.ask("modest")
    bench.ask("other")
    bench.serve()
    assert bench.turns == ["greedy0", "greedy1", "modest", "other", "greedy2", "greedy3"]


def test_so_many_run_at_a_time() -> None:
    bench = Bench(running=3)
    for number in range(10):
        bench.ask(f"flow{number}", str(number))
    assert (bench.turns, bench.queue.running) == (["0", "1", "2"], 3)
    bench.end()
    assert (bench.turns[3:], bench.queue.running) == (["3"], 3)


def test_one_flow_never_has_all_that_run() -> None:
    bench = Bench(running=4)
    for number in range(5):
        bench.ask("stuck", f"stuck{number}")
    assert bench.turns == ["stuck0", "stuck1"]
    bench.ask("a")
    bench.ask("b")
    bench.ask("c")
    assert bench.turns[2:] == ["a", "b"]
    bench.queue.done("a")
    assert bench.turns[4:] == ["c"]
    bench.queue.done("stuck")
    assert bench.turns[5:] == ["stuck2"]


def test_the_rate_holds_also_for_those_who_wait() -> None:
    bench = Bench(rate=2.0, burst=3.0, running=100)
    for number in range(8):
        bench.ask("a", str(number))
    assert len(bench.turns) == 3
    bench.clock.advance(0.4)
    assert len(bench.turns) == 3
    bench.clock.advance(0.1)
    assert len(bench.turns) == 4
    for _ in range(4):
        bench.clock.advance(0.5)
    assert (len(bench.turns), bench.clock.getDelayedCalls()) == (8, [])


def test_a_flow_that_waits_with_too_many_is_refused_and_no_other() -> None:
    bench = Bench(waiting=2)
    for number in range(4):
        bench.ask("a", f"a{number}")
    ((name, error),) = bench.refused
    assert (name, type(error), error.retry_after) == ("a3", TooManyRequests, 1)
    bench.ask("b")
    bench.serve()
    assert bench.turns == ["a0", "a1", "b", "a2"]


def test_nobody_waits_for_ever() -> None:
    bench = Bench()
    bench.ask("a")
    bench.clock.advance(1)
    bench.ask("b")
    bench.clock.advance(PATIENCE - 0.1)
    assert bench.refused == []
    bench.clock.advance(0.1)
    ((name, error),) = bench.refused
    assert (name, error.code, bench.queue.waiting("b")) == ("b", 429, 0)
    bench.end()
    assert (bench.turns, bench.queue.running, bench.clock.getDelayedCalls()) == (["a"], 0, [])


def test_who_goes_away_leaves_the_place() -> None:
    bench = Bench(waiting=2)
    bench.ask("a", "first")
    leaving = bench.ask("a", "leaving")
    bench.ask("a", "staying")
    leaving.cancel()
    assert isinstance(bench.refused.pop()[1], CancelledError)
    bench.ask("a", "new")
    assert bench.refused == []
    bench.serve()
    assert bench.turns == ["first", "staying", "new"]


def test_the_last_one_who_leaves_stops_the_clock() -> None:
    bench = Bench(burst=1.0, running=5)
    bench.ask("a")
    leaving = bench.ask("a")
    assert len(bench.clock.getDelayedCalls()) == 2
    leaving.cancel()
    assert bench.clock.getDelayedCalls() == []


def test_calls_that_end_at_once_do_not_pile_up() -> None:
    """Each begins the next: within each other they would exceed Python's stack."""
    bench = Bench(waiting=5000, burst=6000.0)
    bench.ask("a")

    async def quick() -> None:
        await bench.queue.turn("a")
        bench.queue.done("a")

    asking = [Deferred.fromCoroutine(quick()) for _ in range(5000)]
    assert not any(one.called for one in asking)
    bench.end()
    assert all(one.called for one in asking)


def test_the_figures_of_k8s_io_apiserver() -> None:
    assert (QPS, BURST) == (200, 400)
    # One flow never holds all places for writes of kube-apiserver, nor those here.
    assert max(RUNNING, WAITING) < 200


def test_a_turn_that_is_free_is_had_without_waiting() -> None:
    queue = FairQueue(now())
    with pytest.raises(StopIteration):
        queue.turn("a").send(None)
