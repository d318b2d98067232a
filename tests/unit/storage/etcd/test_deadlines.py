"""Deadlines: those that come, in any order, those that are taken back, and one timer for all."""

from __future__ import annotations

from functools import partial

from twisted.internet.task import Clock

from extapi.storage.etcd.deadlines import Deadlines


def test_deadlines_come_when_they_are_due() -> None:
    clock = Clock()
    come: list[float] = []
    deadlines = Deadlines(clock)
    for seconds in (5.0, 2.0, 9.0, -1.0):
        deadlines.add(seconds, partial(come.append, seconds))
    assert len(clock.getDelayedCalls()) == 1
    clock.advance(0)
    assert come == [-1.0]
    clock.advance(1.9)
    assert come == [-1.0]
    clock.advance(0.1)
    assert come == [-1.0, 2.0]
    clock.pump([3.0, 4.0])
    assert come == [-1.0, 2.0, 5.0, 9.0]
    assert clock.getDelayedCalls() == []


def test_deadlines_are_taken_back() -> None:
    clock = Clock()
    come: list[float] = []
    deadlines = Deadlines(clock)
    first, second = deadlines.add(1.0, partial(come.append, 1)), deadlines.add(1.0, partial(come.append, 2))
    deadlines.remove(first)
    clock.advance(1.0)
    assert come == [2]
    deadlines.remove(second)
    deadlines.add(1.0, partial(come.append, 3))
    deadlines.close()
    assert clock.getDelayedCalls() == []
    clock.advance(1.0)
    assert come == [2]


def test_one_that_comes_takes_others_back_and_sets_new_ones() -> None:
    clock = Clock()
    come: list[float] = []
    deadlines = Deadlines(clock)

    def late() -> None:
        come.append(1)
        deadlines.remove(other)
        deadlines.add(0.5, partial(come.append, 3))

    deadlines.add(1.0, late)
    other = deadlines.add(1.0, partial(come.append, 2))
    clock.advance(1.0)
    assert come == [1]
    clock.advance(0.5)
    assert come == [1, 3]
