from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.errors import ApiError, TooManyRequests
from extapi.http.response import Streaming
from extapi.storage.base import Backend, Batch, Page, Tail, Unavailable
from extapi.storage.keys import KeyLayout
from extapi.watch.cache import ResourceCache
from extapi.watch.cacher import Cacher
from tests.unit.watch.store import LAYOUT, PREFIX, V1, Kitchen, Pizzas, RecordingSink, now, over, pizza, select


def names(cache: ResourceCache) -> list[str]:
    return [f"{cached.namespace}/{cached.name}" for cached in cache.page("", b"", 0, select()).objects]


class Faulty:
    """A store in front of another one, which can be told to fail."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.down: Exception | None = None
        self.tails: list[Tail] = []
        self.get = backend.get
        self.commit = backend.commit
        self.compact = backend.compact
        self.progress = backend.progress
        self.revision = backend.revision
        self.close = backend.close

    async def oldest(self) -> int:
        if self.down:
            raise self.down
        return await self._backend.oldest()

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        return await self._backend.page(prefix, at=at, after=after, limit=limit)

    def tail(self, after: int) -> Tail:
        tail = self._backend.tail(after)
        self.tails.append(tail)
        return tail


@pytest.fixture
def kitchen() -> Iterator[Kitchen]:
    kitchen = Kitchen()
    yield kitchen
    now(kitchen.cacher.stop())
    assert kitchen.clock.getDelayedCalls() == []


async def begin(stream: Streaming, sink: RecordingSink) -> None:
    """A watch that was accepted before, and whose answer begins now."""
    await stream(sink)


def faulty(kitchen: Kitchen) -> Faulty:
    """The kitchen's cacher anew, on a store that can fail."""
    now(kitchen.cacher.stop())
    backend = Faulty(kitchen.backend)
    kitchen.cacher = Cacher(backend, kitchen.clock)
    kitchen.cache = kitchen.cacher.add(LAYOUT, kitchen.projector)
    return backend


def test_commits_are_in_the_cache_when_they_return(kitchen: Kitchen) -> None:
    revision = kitchen.put("one", size=3)
    cached = kitchen.cache.get("a", "one")
    assert cached is not None
    assert (cached.revision, cached.value, kitchen.cacher.revision) == (revision, pizza("one", size=3), revision)
    kitchen.remove("one")
    assert kitchen.cache.get("a", "one") is None
    assert len(kitchen.cache) == 0


def test_each_resource_gets_its_own_keys_and_others_are_left_alone(kitchen: Kitchen) -> None:
    now(kitchen.cacher.stop())
    kitchen.cacher = Cacher(kitchen.backend, kitchen.clock)
    pizzas = kitchen.cacher.add(LAYOUT, Pizzas())
    ovens = kitchen.cacher.add(KeyLayout("food.example", "ovens", namespaced=False), Pizzas())
    spaces = kitchen.cacher.add(KeyLayout("", "namespaces", namespaced=False), Pizzas())
    now(kitchen.cacher.start())
    for key in (
        PREFIX + b"a/one",
        b"/registry/food.example/ovens/big",
        b"/registry/core/namespaces/a",
        b"/registry/food.example/pizzasauce/x",
        b"compact_rev_key",
        b"/registry/food.example",
    ):
        now(kitchen.backend.commit(key, pizza("x"), expected=0))
    assert [names(cache) for cache in (pizzas, ovens, spaces)] == [["a/one"], ["/big"], ["/a"]]
    assert kitchen.cacher.revision == kitchen.first + 6


def test_resources_are_added_once_and_before_the_start(kitchen: Kitchen) -> None:
    with pytest.raises(ValueError, match="has a cache already"):
        kitchen.cacher.add(LAYOUT, Pizzas())
    with pytest.raises(ValueError, match="before the start"):
        kitchen.cacher.add(KeyLayout("food.example", "ovens", namespaced=True), Pizzas())


def test_what_was_there_before_the_start_is_there_after_it() -> None:
    kitchen = Kitchen(start=False)
    kitchen.put("one")
    kitchen.put("two", "b")
    kitchen.remove("one")
    with pytest.raises(TooManyRequests):
        kitchen.cache.get("b", "two")
    now(kitchen.cacher.start())
    assert names(kitchen.cache) == ["b/two"]
    assert kitchen.cacher.ready


def test_many_objects_are_read_in_pages_and_others_get_their_turn_between() -> None:
    kitchen = Kitchen(start=False)
    for number in range(12_000):
        now(kitchen.backend.commit(PREFIX + b"a/p%05d" % number, b"{}", expected=0))
    current = now(kitchen.backend.revision())
    now(kitchen.backend.compact(current, expected=kitchen.first))
    started = Deferred.fromCoroutine(kitchen.cacher.start())
    assert not over(started)
    kitchen.tick()
    assert over(started)
    assert names(kitchen.cache) == [f"a/p{number:05}" for number in range(12_000)]


def test_a_long_past_is_read_in_turns() -> None:
    kitchen = Kitchen(start=False)
    for number in range(6000):
        kitchen.put(f"p{number % 10}", size=number)
    started = Deferred.fromCoroutine(kitchen.cacher.start())
    assert not over(started)
    assert kitchen.cache.peek("a", "p0") is None
    kitchen.tick()
    assert over(started)
    assert len(kitchen.cache) == 10


def test_a_broken_log_ends_watches_refuses_reads_and_is_begun_anew(kitchen: Kitchen) -> None:
    backend = faulty(kitchen)
    now(kitchen.cacher.start())
    kitchen.put("one")
    sink, done = kitchen.watch(initial=True)
    backend.down = Unavailable("disk full")
    backend.tails[-1].close()
    assert over(done)
    assert not sink.aborted
    assert [event["type"] for event in sink.take()] == ["ADDED"]
    for refused in (
        lambda: kitchen.cache.get("a", "one"),
        lambda: kitchen.cache.page("a", b"", 0, select()),
        lambda: now(kitchen.cache.fresh()),
        lambda: now(kitchen.cache.at_least(1)),
        kitchen.watch,
    ):
        with pytest.raises(TooManyRequests, match=r"storage is \(re\)initializing") as raised:
            refused()
        assert raised.value.retry_after == 1
    backend.down = None
    kitchen.put("two")
    kitchen.tick(0.2)
    assert kitchen.cacher.ready
    assert names(kitchen.cache) == ["a/one", "a/two"]


def test_retry_after_grows_with_the_time_down(kitchen: Kitchen) -> None:
    backend = faulty(kitchen)
    now(kitchen.cacher.start())
    backend.down = Unavailable("disk full")
    backend.tails[-1].close()
    waits = []
    for _ in range(8):
        with pytest.raises(TooManyRequests) as raised:
            kitchen.cache.get("a", "one")
        waits.append(raised.value.retry_after)
        kitchen.tick(10)
    assert waits == [1, 1, 3, 6, 11, 20, 30, 30]


@pytest.mark.parametrize("error", [Unavailable("not yet"), ZeroDivisionError("a bug of the store")])
def test_the_start_waits_for_a_store_that_is_not_there_yet(kitchen: Kitchen, error: Exception) -> None:
    backend = faulty(kitchen)
    backend.down = error
    started = Deferred.fromCoroutine(kitchen.cacher.start())
    for _ in range(5):
        kitchen.tick(10)
    assert not over(started)
    backend.down = None
    kitchen.tick(10)
    assert over(started)
    assert kitchen.cacher.ready


def test_attempts_come_further_and_further_apart(kitchen: Kitchen) -> None:
    backend = faulty(kitchen)
    backend.down = Unavailable("not yet")
    started = Deferred.fromCoroutine(kitchen.cacher.start())
    pauses = []
    for _ in range(9):
        call: Any = kitchen.clock.getDelayedCalls()[0]
        pauses.append(round(call.getTime() - kitchen.clock.seconds(), 1))
        kitchen.tick(call.getTime() - kitchen.clock.seconds())
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0, 10.0]
    now(kitchen.cacher.stop())
    assert over(started)


def test_a_start_that_is_cancelled_leaves_nothing_behind(kitchen: Kitchen) -> None:
    backend = faulty(kitchen)
    backend.down = Unavailable("not yet")
    started = Deferred.fromCoroutine(kitchen.cacher.start())
    started.addErrback(lambda _: None)
    started.cancel()
    backend.down = None
    kitchen.tick(1)
    assert kitchen.cacher.ready


def test_stopping_ends_watches_and_refuses_what_comes(kitchen: Kitchen) -> None:
    kitchen.put("one")
    stream = kitchen.cache.watch(select(), "v1", V1, initial=True)
    sink, done = kitchen.watch()
    now(kitchen.cacher.stop())
    assert over(done)
    assert sink.take() == []
    with pytest.raises(ApiError) as raised:
        kitchen.watch()
    assert raised.value.code == 429
    late = Deferred.fromCoroutine(begin(stream, sink))
    assert over(late)
    assert sink.take() == []
    now(kitchen.cacher.stop())


def test_a_store_that_closes_is_waited_for(kitchen: Kitchen) -> None:
    now(kitchen.backend.close())
    assert not kitchen.cacher.ready
    kitchen.tick(60)
    assert not kitchen.cacher.ready


def test_marks_without_changes_move_the_position(kitchen: Kitchen) -> None:
    tail = kitchen.backend.tail(kitchen.first)
    now(kitchen.backend.commit(b"elsewhere", b"{}", expected=0))
    assert now(tail.__anext__()) == Batch([kitchen.backend._log[0]], kitchen.first + 1)
    assert kitchen.cache.revision == kitchen.first + 1
