"""Work that is done once for all who ask: one run at a time, and none that began before it was asked for."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from extapi.controlplane.aggregator.coalescing import LONGEST, PAUSE, CoalescedWork, Stopped


class Work:
    """Runs that the test ends."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.runs: list[Deferred[int]] = []
        self.most = 0
        self.coalesced = CoalescedWork(self._run, self.clock)

    async def _run(self) -> int:
        run: Deferred[int] = Deferred()
        self.runs.append(run)
        self.most = max(self.most, sum(not each.called for each in self.runs))
        return await run

    def ask(self) -> Deferred[int]:
        return Deferred.fromCoroutine(self.coalesced.run())

    def end(self, seconds: float = 0.0) -> None:
        self.clock.advance(seconds)
        self.runs[-1].callback(len(self.runs))


def result(asked: Deferred[int]) -> object:
    found: list[object] = []
    asked.addBoth(found.append)
    return found[0] if found else None


def given_up(failure: Any) -> None:
    failure.trap(CancelledError)


def test_who_asks_during_a_run_waits_for_the_next_and_all_of_them_for_one() -> None:
    work = Work()
    first = work.ask()
    others = [work.ask() for _ in range(300)]
    work.end()
    assert result(first) == 1
    assert len(work.runs) == 2
    assert not any(each.called for each in others)
    work.end()
    assert {result(each) for each in others} == {2}
    assert (len(work.runs), work.most) == (2, 1)


def test_a_run_is_followed_by_a_rest_so_that_more_can_ask() -> None:
    work = Work()
    work.ask()
    work.end(seconds=0.1)
    asked = [work.ask()]
    assert len(work.runs) == 1
    work.clock.advance(0.1 * PAUSE * 0.9)
    asked.append(work.ask())
    assert len(work.runs) == 1
    work.clock.advance(0.1 * PAUSE * 0.2)
    assert len(work.runs) == 2
    work.end(seconds=60)
    assert [result(each) for each in asked] == [2, 2]
    work.ask()
    work.clock.advance(LONGEST)
    assert len(work.runs) == 3


def test_nobody_rests_who_has_done_so_already() -> None:
    work = Work()
    work.ask()
    work.end(seconds=0.1)
    work.clock.advance(LONGEST)
    work.ask()
    assert len(work.runs) == 2


def test_who_gives_up_ends_nobody_elses_run() -> None:
    work = Work()
    first, second, third = work.ask(), work.ask(), work.ask()
    for each in (first, second):
        each.addErrback(given_up)
        each.cancel()
    work.end()
    assert len(work.runs) == 2
    work.end()
    assert result(third) == 2


def test_nothing_is_done_for_those_who_have_all_given_up() -> None:
    work = Work()
    work.ask()
    second = work.ask()
    second.addErrback(given_up)
    second.cancel()
    work.end()
    assert len(work.runs) == 1


def test_what_a_run_raises_is_raised_to_all_of_its_own() -> None:
    work = Work()
    first, second = work.ask(), work.ask()
    work.runs[0].errback(ValueError("bad"))
    with pytest.raises(ValueError, match="bad"):
        raise result(first).value  # type: ignore[attr-defined]  # a Failure
    work.end()
    assert result(second) == 2


def test_who_waits_when_it_is_stopped_is_told() -> None:
    work = Work()
    asked = [work.ask(), work.ask()]
    work.coalesced.stop()
    for each in asked:
        with pytest.raises(Stopped):
            raise result(each).value  # type: ignore[attr-defined]  # a Failure
    assert (len(work.runs), work.clock.getDelayedCalls()) == (1, [])
