from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from extapi.client.workqueue import FIRST_DELAY, LAST_DELAY, LONGEST_ASKED, SOONEST, TURN, WorkQueue
from extapi.errors import Conflict, TooManyRequests


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
    assert [event["log_format"] for event in logs] == ["processing {key} failed; it will be retried"]
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


class Jobs:
    """Work that ends when the test says so."""

    def __init__(self) -> None:
        self.underway: dict[str, Deferred[None]] = {}
        self.begun: list[str] = []
        self.cancelled: list[str] = []

    async def work(self, key: str) -> None:
        assert key not in self.underway
        self.begun.append(key)
        mine = self.underway[key] = Deferred(lambda _: self.cancelled.append(key))
        await mine

    def end(self, key: str) -> None:
        self.underway.pop(key).callback(None)


def test_workers_work_on_several_keys_at_a_time() -> None:
    queue, jobs = WorkQueue(Clock()), Jobs()
    Deferred.fromCoroutine(queue.each(jobs.work, workers=2))
    for key in "abc":
        queue.add(key)
    assert jobs.begun == ["a", "b"]
    jobs.end("b")
    assert jobs.begun == ["a", "b", "c"]


def test_a_key_is_never_worked_on_twice_at_a_time() -> None:
    queue, jobs = WorkQueue(Clock()), Jobs()
    Deferred.fromCoroutine(queue.each(jobs.work, workers=3))
    for key in ("a", "a", "b"):
        queue.add(key)
    assert jobs.begun == ["a", "b"]  # the third worker has nothing to do, though there is an "a" again
    assert len(queue) == 1
    jobs.end("b")
    assert jobs.begun == ["a", "b"]
    jobs.end("a")
    assert jobs.begun == ["a", "b", "a"]


def test_all_workers_end_when_one_is_cancelled() -> None:
    queue, jobs = WorkQueue(Clock()), Jobs()
    ended: list[Any] = []
    running = Deferred.fromCoroutine(queue.each(jobs.work, workers=3))
    running.addErrback(lambda failure: ended.append(failure.type))
    queue.add("a")
    queue.add("b")
    running.cancel()
    assert ended == [CancelledError]
    assert sorted(jobs.cancelled) == ["a", "b"]
    queue.add("c")
    assert jobs.begun == ["a", "b"]


def test_work_without_workers_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="workers must be at least 1, not 0"):
        WorkQueue(Clock()).each(lambda _: succeed(None), workers=0).send(None)


def test_a_key_comes_back_no_sooner_than_the_server_asks_for() -> None:
    clock, done = Clock(), []
    queue = WorkQueue(clock)

    async def work(key: str) -> None:
        done.append((key, clock.seconds()))
        if len(done) == 1:
            raise TooManyRequests("later", retry_after=7)

    Deferred.fromCoroutine(queue.each(work))
    queue.add("a")
    for _ in range(20):
        clock.advance(0.5)
    assert done == [("a", 0.0), ("a", 7.0)]


def test_a_key_waits_once_and_until_the_earliest_of_its_times() -> None:
    """As in client-go's ``TestDeduping``, which adds at 50 and 70, and at 50 and 30 ms."""
    clock = Clock()
    queue = WorkQueue(clock)
    got = worker(queue)
    for seconds in (50, 30, 70):
        queue.add_later("a", seconds)
    assert len(clock.getDelayedCalls()) == 1
    clock.advance(29)
    assert got == []
    clock.advance(1)
    assert (got, clock.getDelayedCalls()) == (["a"], [])
    clock.advance(60)
    assert got == ["a"]
    queue.add_later("a", 10)
    clock.advance(10)
    assert got == ["a", "a"]


def test_work_that_asks_for_a_time_or_fails_begins_no_second_series_of_runs_with_each_change() -> None:
    clock, runs = Clock(), []
    queue = WorkQueue(clock)

    async def work(key: str) -> float:
        runs.append(key)
        if key == "fails":
            raise Conflict("no")
        return 10

    Deferred.fromCoroutine(queue.each(work))
    for _ in range(60):
        queue.add("returns")
        queue.add("fails")
        clock.advance(1)
    assert len(clock.getDelayedCalls()) == 2
    runs.clear()
    clock.pump([1] * 120)
    assert (runs.count("returns"), runs.count("fails")) == (12, 2)


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        (float("nan"), "a delay is a number of seconds, not NaN"),
        ("60", "a delay is a number of seconds, not '60'"),
        (False, "a delay is a number of seconds, not False"),
    ],
)
def test_a_delay_that_is_none_fails_the_key_and_not_the_others(seconds: Any, reason: str) -> None:
    clock, done = Clock(), []
    queue = WorkQueue(clock)
    with pytest.raises((TypeError, ValueError), match=reason):
        queue.add_later("a", seconds)

    async def work(key: str) -> Any:
        done.append((key, clock.seconds()))
        return seconds if key == "odd" else None

    Deferred.fromCoroutine(queue.each(work))
    with capturedLogs() as logs:
        queue.add("odd")
    assert [str(event["log_failure"].value) for event in logs] == [reason]
    queue.add("other")
    clock.pump([FIRST_DELAY, 2 * FIRST_DELAY])
    assert done == [("odd", 0), ("other", 0), ("odd", FIRST_DELAY), ("odd", 3 * FIRST_DELAY)]


@pytest.mark.parametrize(
    ("seconds", "runs"),
    [(-0.5, 2), (0, 2), (float("-inf"), 2), (-(10**400), 2), (float("inf"), 1), (10**400, 1), (1e300, 1)],
)
def test_a_time_that_has_passed_is_now_and_one_that_never_comes_is_not_waited_for(seconds: float, runs: int) -> None:
    """client-go: "immediately add things with no delay"."""
    clock, done = Clock(), []
    queue = WorkQueue(clock)

    async def work(key: str) -> float | None:
        done.append(key)
        return seconds if key == "a" and done.count("a") < 2 else None

    Deferred.fromCoroutine(queue.each(work))
    queue.add("a")
    queue.add("b")
    assert done == ["a", "b"]  # others have their turn before
    clock.advance(SOONEST)
    assert sorted(done) == ["a"] * runs + ["b"]
    assert clock.getDelayedCalls() == []


@pytest.mark.parametrize("error", [CancelledError(), SystemExit(3), KeyboardInterrupt()])
def test_only_who_runs_the_queue_ends_it(error: BaseException) -> None:
    """What is cancelled inside of the work, such as a stopped informer's ``wait_synced``, is a failure of its key."""
    clock = Clock()
    done: list[Any] = []
    queue = WorkQueue(clock)

    async def work(key: str) -> None:
        done.append(key)
        if done == ["broken"]:
            raise error

    running = Deferred.fromCoroutine(queue.each(work))
    with capturedLogs() as logs:
        queue.add("broken")
    assert [event["log_failure"].value for event in logs] == [error]
    queue.add("other")
    clock.advance(FIRST_DELAY)
    assert done == ["broken", "other", "broken"]
    running.addErrback(lambda failure: done.append(failure.type))
    running.cancel()
    assert done[3:] == [CancelledError]


@pytest.mark.parametrize("raises", [True, False])
def test_a_worker_that_is_cancelled_ends_when_its_work_does_and_takes_no_other_key(raises: bool) -> None:
    queue, parting = WorkQueue(Clock()), Deferred[None]()
    log: list[Any] = []

    async def work(key: str) -> None:
        log.append(key)
        try:
            await Deferred[None]()
        except CancelledError:
            await parting
            if raises:
                raise

    running = Deferred.fromCoroutine(queue.each(work, workers=2))
    running.addErrback(lambda failure: log.append(failure.type))
    for key in "abc":
        queue.add(key)
    running.cancel()
    assert log == ["a", "b"]
    parting.callback(None)
    assert log == ["a", "b", CancelledError]


def test_a_queue_that_is_stopped_keeps_nothing_and_takes_nothing() -> None:
    clock = Clock()
    queue = WorkQueue(clock)
    queue.add("a")
    queue.retry("b")
    queue.add_later("c", 3600)
    queue.stop()
    queue.add("d")
    queue.add_later("e", 60)
    assert (len(queue), clock.getDelayedCalls(), worker(queue)) == (0, [], [])


def test_work_whose_time_stays_in_the_past_has_a_bound() -> None:
    clock, runs = Clock(), []
    queue = WorkQueue(clock)

    async def work(key: str) -> float:
        runs.append(key)
        return -0.25

    Deferred.fromCoroutine(queue.each(work))
    queue.add("late")
    clock.pump([SOONEST] * 100)
    assert len(runs) == 101


def test_work_that_waits_for_nothing_leaves_others_their_turn() -> None:
    clock, runs = Clock(), []
    queue = WorkQueue(clock)

    async def work(key: str) -> None:
        runs.append(key)
        clock.rightNow += TURN / 2  # it takes a while, without a pause
        if len(runs) < 100:
            queue.add(key)

    Deferred.fromCoroutine(queue.each(work))
    queue.add("again")
    assert len(runs) == 2
    clock.advance(0)
    assert len(runs) > 2


def test_a_key_that_is_refused_for_minutes_is_told_once_a_minute() -> None:
    clock = Clock()
    queue = WorkQueue(clock)

    async def work(key: str) -> None:
        raise Conflict(f"{key} is not right")

    Deferred.fromCoroutine(queue.each(work))
    with capturedLogs() as logs:
        for key in "abc":
            queue.add(key)
        clock.pump([0.5] * 126)
        assert logs == []
        clock.pump([0.5] * 274)
    assert [formatEvent(event) for event in logs] == [
        f"processing a has failed {times} times in a row, the last time with: a is not right; it is retried, as are"
        " 2 other keys of its queue"
        for times in (8, 9, 10)
    ]


def test_no_answer_keeps_a_key_away_for_ever() -> None:
    clock, done = Clock(), []
    queue = WorkQueue(clock)

    async def work(key: str) -> None:
        done.append(clock.seconds())
        raise TooManyRequests("later", retry_after=10**9)

    Deferred.fromCoroutine(queue.each(work))
    queue.add("a")
    clock.pump([1] * 301)
    assert done == [0, LONGEST_ASKED]
