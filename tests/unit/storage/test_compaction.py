"""When the past is forgotten (behaviour K15)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogEvent, globalLogPublisher

from extapi.storage.base import Unavailable
from extapi.storage.compaction import INTERVAL, Compactor
from extapi.storage.memory import MemoryBackend
from tests.unit.storage.test_memory import now


class Slow(MemoryBackend):
    """A store whose compactions take until they are let go."""

    gate: Deferred[None]

    async def compact(self, revision: int, *, expected: int) -> int:
        await self.gate
        return await super().compact(revision, expected=expected)


def write(store: MemoryBackend) -> int:
    live = now(store.get(b"/a"))
    return now(store.commit(b"/a", b"x", expected=live.revision if live else 0))


def test_history_lives_between_one_and_two_intervals() -> None:
    clock = Clock()
    store = MemoryBackend(clock)
    begin = now(store.oldest())
    compactor = Compactor(store, clock)
    compactor.start()
    write(store)
    clock.advance(INTERVAL - 1)
    recorded = write(store)
    clock.advance(1)
    assert now(store.oldest()) == begin
    later = write(store)
    clock.advance(INTERVAL - 1)
    assert now(store.oldest()) == begin
    clock.advance(1)
    assert now(store.oldest()) == recorded
    clock.advance(INTERVAL)
    assert now(store.oldest()) == later
    now(compactor.stop())
    write(store)
    clock.advance(3 * INTERVAL)
    assert now(store.oldest()) == later
    assert clock.getDelayedCalls() == []


def test_an_interval_of_zero_never_compacts() -> None:
    clock = Clock()
    compactor = Compactor(MemoryBackend(clock), clock, interval=0)
    compactor.start()
    assert clock.getDelayedCalls() == []
    now(compactor.stop())


def test_of_two_on_one_store_one_wins_each_time() -> None:
    clock = Clock()
    store = MemoryBackend(clock)
    compactors = [Compactor(store, clock, interval=10) for _ in range(2)]
    compactors[0].start()
    clock.advance(5)
    compactors[1].start()
    revisions = []
    oldest = []
    for _ in range(8):
        revisions.append(write(store))
        clock.advance(5)
        oldest.append(now(store.oldest()))
    # The second recorded later, found the first one's compaction in force, and took note instead of compacting twice.
    assert oldest == sorted(oldest)
    assert oldest[-1] >= revisions[3]
    assert oldest[-1] <= revisions[6]


def test_a_compaction_that_fails_is_tried_again() -> None:
    clock = Clock()
    store = Slow(clock)
    compactor = Compactor(store, clock, interval=10)
    compactor.start()
    recorded = write(store)
    clock.advance(10)
    write(store)
    store.gate = Deferred()
    logged: list[LogEvent] = []
    publisher: Any = globalLogPublisher
    publisher.addObserver(logged.append)
    try:
        clock.advance(10)
        store.gate.errback(Unavailable("disk full"))
    finally:
        publisher.removeObserver(logged.append)
    # A line for operators, who know what to do; no traceback, which is for errors of ours.
    assert [(event["log_level"].name, event["reason"], "log_failure" in event) for event in logged] == [
        ("warn", "disk full", False)
    ]
    assert now(store.oldest()) < recorded
    store.gate = Deferred()
    store.gate.callback(None)
    clock.advance(10)
    assert now(store.oldest()) == recorded


def test_stopping_waits_for_a_compaction_that_has_begun() -> None:
    clock = Clock()
    store = Slow(clock)
    compactor = Compactor(store, clock, interval=10)
    compactor.start()
    recorded = write(store)
    clock.advance(10)
    store.gate = Deferred()
    clock.advance(10)
    stopped = Deferred.fromCoroutine(compactor.stop())
    ended: list[None] = []
    stopped.addCallback(ended.append)
    assert ended == []
    store.gate.callback(None)
    assert ended == [None]
    assert now(store.oldest()) == recorded
    now(compactor.stop())
