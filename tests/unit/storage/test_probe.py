"""What counts as a store that takes no writes, and how it is tried again."""

from __future__ import annotations

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from extapi.storage.base import Backend, Overloaded, RevisionConflict, TooLarge, Unavailable, Uncertain
from extapi.storage.memory import MemoryBackend
from extapi.storage.probe import INTERVAL, KEY, REFUSES, ProbedBackend


class Faulty(MemoryBackend):
    """Raises ``error`` from every write."""

    error: Exception | None = None
    waiting: Deferred[None] | None = None
    tried = 0

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        self.tried += 1
        if self.waiting is not None:
            await self.waiting
        if self.error is not None:
            raise self.error
        return await super().commit(key, value, expected=expected)

    async def compact(self, revision: int, *, expected: int) -> int:
        if self.error is not None:
            raise self.error
        return await super().compact(revision, expected=expected)


class Bench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Faulty(self.clock)
        self.backend = ProbedBackend(self.store, self.clock)

    def write(self, key: bytes = b"k") -> object:
        outcomes: list[object] = []
        Deferred.fromCoroutine(self.backend.commit(key, b"v", expected=0)).addBoth(outcomes.append)
        return outcomes


def test_it_is_a_backend() -> None:
    assert isinstance(Bench().backend, Backend)


@pytest.mark.parametrize("error", [Unavailable("disk full"), OSError("input/output error")])
def test_a_failed_write_shows_until_an_attempt_succeeds(error: Exception) -> None:
    bench = Bench()
    bench.write()
    assert bench.backend.check() is None
    bench.store.error = error
    bench.write(b"other")
    assert bench.backend.check() == REFUSES
    bench.clock.advance(0)
    for _ in range(5):
        bench.clock.advance(INTERVAL)
    assert bench.backend.check() == REFUSES
    assert bench.store.tried == 2 + 1 + 5
    bench.store.error = None
    bench.clock.advance(INTERVAL)
    assert bench.backend.check() is None
    assert bench.clock.getDelayedCalls() == []


def test_one_write_that_the_store_cannot_take_is_not_the_store() -> None:
    """An attempt follows at once, so that no client's write keeps a server from its work for long."""
    bench = Bench()
    bench.store.error = Unavailable("string or blob too big")
    bench.write()
    bench.store.error = None
    bench.clock.advance(0)
    assert bench.backend.check() is None


@pytest.mark.parametrize(
    "error",
    [
        RevisionConflict(None),
        Overloaded("too many writes"),
        Uncertain("the connection is lost"),
        TooLarge("request is too large"),
        ValueError("key"),
        CancelledError(),
    ],
)
def test_what_is_no_sign_of_a_bad_store(error: Exception) -> None:
    bench = Bench()
    bench.store.error = error
    bench.write()
    assert bench.backend.check() is None
    assert bench.clock.getDelayedCalls() == []


def test_a_failed_compaction_shows_where_no_client_writes() -> None:
    bench = Bench()
    bench.store.error = Unavailable("disk full")
    outcomes: list[object] = []
    Deferred.fromCoroutine(bench.backend.compact(1, expected=1)).addBoth(outcomes.append)
    assert bench.backend.check() == REFUSES


def test_attempts_do_not_pile_up_on_a_disk_that_hangs() -> None:
    bench = Bench()
    bench.store.error = Unavailable("disk full")
    bench.write()
    bench.store.waiting = Deferred()
    bench.clock.advance(0)
    for _ in range(10):
        bench.clock.advance(INTERVAL)
    assert bench.store.tried == 2
    bench.store.error = None
    bench.store.waiting.callback(None)
    assert bench.backend.check() is None


def test_a_second_outage_is_healed_as_the_first() -> None:
    """The key of the attempts is there already, at some revision."""
    bench = Bench()
    for _ in range(2):
        bench.store.error = Unavailable("disk full")
        bench.write()
        bench.clock.advance(0)
        bench.store.error = None
        bench.clock.advance(INTERVAL)
        assert bench.backend.check() is None
    found: list[object] = []
    Deferred.fromCoroutine(bench.backend.get(KEY)).addCallback(found.append)
    assert found != [None]


def test_nothing_is_tried_after_the_end() -> None:
    bench = Bench()
    bench.store.error = Unavailable("disk full")
    bench.write()
    Deferred.fromCoroutine(bench.backend.close())
    assert bench.clock.getDelayedCalls() == []
    bench.write()
    assert bench.clock.getDelayedCalls() == []


def test_an_attempt_that_ends_after_the_end_is_the_last() -> None:
    bench = Bench()
    bench.store.error = Unavailable("disk full")
    bench.write()
    bench.store.waiting = Deferred()
    bench.clock.advance(0)
    Deferred.fromCoroutine(bench.backend.close())
    bench.store.waiting.callback(None)
    assert bench.store.tried == 2
    assert bench.clock.getDelayedCalls() == []


class Engaged(Faulty):
    """A store that another process keeps, and that judges itself."""

    name = "engine"

    async def open(self) -> None: ...

    def check(self) -> str | None:
        return None


def test_an_engine_judges_itself() -> None:
    """All servers on one that is full would be unready at once, and nobody could read."""
    clock = Clock()
    store = Engaged(clock)
    backend = ProbedBackend(store, clock)
    store.error = Unavailable("etcd: mvcc: database space exceeded")
    outcomes: list[object] = []
    Deferred.fromCoroutine(backend.commit(b"k", b"v", expected=0)).addBoth(outcomes.append)
    assert backend.check() is None
    assert clock.getDelayedCalls() == []
