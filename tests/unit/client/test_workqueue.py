from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from extapi.client.workqueue import FIRST_DELAY, LAST_DELAY, WorkQueue
from extapi.errors import Conflict


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


def test_work_that_fails_comes_back_and_does_not_keep_other_keys_waiting() -> None:
    clock = Clock()
    queue = WorkQueue(clock)
    done: list[tuple[float, str]] = []

    async def work(key: str) -> float | None:
        done.append((clock.seconds(), key))
        if key == "refused" and len(done) < 3:
            raise Conflict.on("things", "example.com", key, Conflict.MODIFIED)
        return 7.0 if key == "later" and clock.seconds() < 1 else None

    Deferred.fromCoroutine(queue.each(work))
    for key in ("refused", "fine", "later"):
        queue.add(key)
    assert done == [(0, "refused"), (0, "fine"), (0, "later")]
    clock.pump([FIRST_DELAY, 7, LAST_DELAY])
    assert done[3:] == [(FIRST_DELAY, "refused"), (7 + FIRST_DELAY, "later")]


def test_a_defect_in_the_work_is_logged_and_ends_nothing() -> None:
    clock = Clock()
    queue = WorkQueue(clock)
    done: list[str] = []

    async def work(key: str) -> None:
        done.append(key)
        if done == ["broken"]:
            raise KeyError(key)

    Deferred.fromCoroutine(queue.each(work))
    with capturedLogs() as logs:
        queue.add("broken")
    assert [event["log_format"] for event in logs] == ["the work on {key} failed and is tried again"]
    queue.add("other")
    clock.advance(FIRST_DELAY)
    assert done == ["broken", "other", "broken"]


def test_work_ends_when_it_is_cancelled() -> None:
    queue = WorkQueue(Clock())
    never: Deferred[None] = Deferred()
    ended: list[Any] = []

    async def work(_key: str) -> None:
        await never

    running = Deferred.fromCoroutine(queue.each(work))
    running.addErrback(lambda failure: ended.append(failure.type))
    queue.add("a")
    running.cancel()
    assert ended == [CancelledError]
    queue.add("b")
    assert len(queue) == 1


def test_a_key_may_fail_for_days() -> None:
    clock = Clock()
    queue = WorkQueue(clock)
    got = worker(queue)
    for _ in range(1100):
        queue.retry("a")
        clock.advance(LAST_DELAY)
    assert len(got) == 1100
