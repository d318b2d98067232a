from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.client.workqueue import FIRST_DELAY, LAST_DELAY, WorkQueue


def worker(queue: WorkQueue) -> list[Any]:
    """Everything that a reader of the queue gets, as it gets it."""
    got: list[Any] = []

    async def work() -> None:
        async for key in queue:
            got.append(key)  # noqa: PERF401 - one by one: the test looks in between

    Deferred.fromCoroutine(work())
    return got


def test_a_key_waits_once_however_often_it_is_added() -> None:
    queue = WorkQueue(Clock())
    for key in ("a", "b", "a"):
        queue.add(key)
    assert len(queue) == 2
    assert worker(queue) == ["a", "b"]


def test_a_waiting_reader_gets_what_is_added_and_gets_it_again_if_it_is_added_again() -> None:
    queue = WorkQueue(Clock())
    got = worker(queue)
    assert got == []
    queue.add("a")
    queue.add("a")
    assert got == ["a", "a"]


def test_what_failed_comes_back_later_each_time_until_it_succeeds() -> None:
    clock = Clock()
    queue = WorkQueue(clock)
    got = worker(queue)
    queue.retry("a")
    clock.advance(FIRST_DELAY - 0.01)
    assert got == []
    clock.advance(0.01)
    assert got == ["a"]
    queue.retry("a")
    clock.advance(FIRST_DELAY)
    assert got == ["a"]
    clock.advance(FIRST_DELAY)
    assert got == ["a", "a"]
    queue.done("a")
    queue.retry("a")
    clock.advance(FIRST_DELAY)
    assert got == ["a", "a", "a"]


def test_no_key_waits_longer_than_a_minute() -> None:
    clock = Clock()
    queue = WorkQueue(clock)
    got = worker(queue)
    for _ in range(40):
        queue.retry("a")
        clock.advance(LAST_DELAY)
    assert len(got) == 40
