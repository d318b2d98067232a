from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.errors import ApiError, Timeout, TooManyRequests
from extapi.http.response import Streaming
from extapi.storage.base import Backend, Batch, Page, Tail, Unavailable
from extapi.storage.keys import KeyLayout
from extapi.storage.tail import LogReader
from extapi.watch.cache import ResourceCache
from extapi.watch.cacher import Cacher
from extapi.watch.silence import BOUND
from tests.unit.watch.store import LAYOUT, PREFIX, V1, Kitchen, Pizzas, RecordingSink, caught, now, over, pizza, select


def names(cache: ResourceCache) -> list[str]:
    return [f"{cached.namespace}/{cached.name}" for cached in cache.page("", b"", 0, select()).objects]


class Faulty:
    """A store in front of another one, which can be told to fail."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.down: Exception | None = None
        self.fillings = 0
        """How often a cacher has begun to fill its caches."""
        self.broken: Exception | None = None
        """What every new tail ends with."""
        self.tails: list[Tail] = []
        self.get = backend.get
        self.commit = backend.commit
        self.compact = backend.compact
        self.progress = backend.progress
        self.revision = backend.revision
        self.close = backend.close

    async def oldest(self) -> int:
        self.fillings += 1
        if self.down:
            raise self.down
        return await self._backend.oldest()

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        return await self._backend.page(prefix, at=at, after=after, limit=limit)

    def tail(self, after: int) -> Tail:
        tail = self._backend.tail(after)
        self.tails.append(tail)
        if self.broken is not None:
            tail.end(self.broken)  # type: ignore[attr-defined]  # a LogReader
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


def test_before_the_start_a_resource_has_one_cache(kitchen: Kitchen) -> None:
    now(kitchen.cacher.stop())
    kitchen.open(start=False)
    with pytest.raises(ValueError, match="has a cache already"):
        kitchen.cacher.add(LAYOUT, Pizzas())


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


def behind(backend: Faulty) -> None:
    """The log breaks off, as it does for a reader that is too slow, or with the connection to a store elsewhere."""
    tail = backend.tails[-1]
    assert isinstance(tail, LogReader)
    backend._backend._tails.leave(tail)  # type: ignore[attr-defined]  # a MemoryBackend
    tail.end(Unavailable("the connection is lost"))


def test_a_broken_log_is_read_on_and_watches_live(kitchen: Kitchen) -> None:
    backend = faulty(kitchen)
    now(kitchen.cacher.start())
    kitchen.put("one")
    sink, done = kitchen.watch(initial=True)
    behind(backend)
    missed = kitchen.put("two")
    assert kitchen.cacher.ready
    assert names(kitchen.cache) == ["a/one"]  # what does not ask for more than the cache has goes on
    late, waiting = kitchen.watch()
    fresh = Deferred.fromCoroutine(kitchen.cache.fresh())
    assert not over(fresh)
    kitchen.tick(0.1)
    assert len(backend.tails) == 2
    assert over(fresh)
    assert kitchen.cache.revision == missed
    assert names(kitchen.cache) == ["a/one", "a/two"]
    assert [name for _, name, _ in sink.told()] == ["one", "two"]
    kitchen.remove("two")
    kitchen.tick()
    assert [kind for kind, _, _ in sink.told()] == ["DELETED"]
    assert [(kind, name) for kind, name, _ in late.told()] == [("ADDED", "two"), ("DELETED", "two")]
    assert not over(done)
    assert not over(waiting)


def test_reads_that_need_the_log_time_out_while_it_is_away(kitchen: Kitchen) -> None:
    backend = faulty(kitchen)
    now(kitchen.cacher.start())
    revision = kitchen.put("one")
    backend.broken = Unavailable("no route")
    behind(backend)
    kitchen.put("two")
    errors = caught(Deferred.fromCoroutine(kitchen.cache.fresh()))
    for _ in range(31):
        kitchen.tick(0.1)
    assert [(type(error), error.code) for error in errors if isinstance(error, ApiError)] == [(Timeout, 504)]
    assert now(kitchen.cache.at_least(revision)) == revision
    assert len(backend.tails) == 1 + 5  # after 0.1, 0.2, 0.4, 0.8 and 1.0 s more
    backend.broken = None
    kitchen.tick(1)
    assert names(kitchen.cache) == ["a/one", "a/two"]


def test_a_log_that_is_compacted_meanwhile_is_begun_anew(kitchen: Kitchen) -> None:
    backend = faulty(kitchen)
    now(kitchen.cacher.start())
    kitchen.put("one")
    sink, done = kitchen.watch(initial=True)
    behind(backend)
    kitchen.put("two")
    last = kitchen.put("three")
    now(kitchen.backend.compact(last, expected=kitchen.first))
    kitchen.tick(0.1)
    assert over(done)
    assert [name for _, name, _ in sink.told()] == ["one"]
    assert not kitchen.cacher.ready
    kitchen.tick(0.1)
    assert names(kitchen.cache) == ["a/one", "a/three", "a/two"]


def test_a_cache_that_is_filled_while_the_log_breaks_off_misses_nothing(kitchen: Kitchen, slow: Slow) -> None:
    oven(kitchen, "old")
    ovens = kitchen.cacher.add(OVENS, Pizzas())
    filling = Deferred.fromCoroutine(kitchen.cacher.fill(ovens))
    oven(kitchen, "before")
    behind(slow)
    oven(kitchen, "meanwhile")
    slow.slow = False
    slow.let()
    assert over(filling)
    assert names(ovens) == ["/before", "/old"]
    kitchen.tick(0.1)
    assert names(ovens) == ["/before", "/meanwhile", "/old"]


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


@pytest.mark.parametrize("error", [Unavailable("not yet"), ZeroDivisionError("a bug of the store"), CancelledError()])
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
    pauses: list[float] = []
    while len(pauses) < 9:
        before, tenths = backend.fillings, 0
        while backend.fillings == before:
            kitchen.tick(0.1)
            tenths += 1
        pauses.append(tenths / 10)
    assert pauses == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0, 10.0], abs=0.11)
    now(kitchen.cacher.stop())
    assert over(started)


def test_a_log_that_stays_away_is_told(kitchen: Kitchen) -> None:
    """Reads go on meanwhile, of what the caches have; nobody would see that they fall behind."""
    backend = faulty(kitchen)
    now(kitchen.cacher.start())
    kitchen.tick(BOUND)
    kitchen.tick(1)
    assert kitchen.cacher.check_log() is None  # an idle log in this process
    backend.broken = Unavailable("away")
    backend.tails[-1].end(Unavailable("away"))  # type: ignore[attr-defined]  # a LogReader
    for _ in range(int(BOUND) - 1):
        kitchen.tick(1)
    assert (kitchen.cacher.ready, kitchen.cacher.check_log()) == (True, None)
    for _ in range(12):
        kitchen.tick(1)
    assert kitchen.cacher.ready
    assert "silent" in (kitchen.cacher.check_log() or "")
    backend.broken = None
    for _ in range(12):
        kitchen.tick(1)
    assert kitchen.cacher.check_log() is None
    now(kitchen.cacher.stop())


class Mute:
    """A log from elsewhere that brings changes and leaves questions unanswered, as one that catches up."""

    def __init__(self, tail: Tail) -> None:
        self._tail = tail
        self.close = tail.close
        self.questions = 0

    def __aiter__(self) -> Mute:
        return self

    async def __anext__(self) -> Batch:
        return await self._tail.__anext__()

    async def ask(self) -> None:
        self.questions += 1
        await Deferred()


class Distant(Faulty):
    """A store whose log is :class:`Mute`."""

    def tail(self, after: int) -> Tail:
        tail = Mute(super().tail(after))
        self.tails.append(tail)
        return tail


def test_what_a_log_brings_is_a_sign_of_life_whatever_it_leaves_unanswered(kitchen: Kitchen) -> None:
    now(kitchen.cacher.stop())
    backend = Distant(kitchen.backend)
    kitchen.cacher = Cacher(backend, kitchen.clock)
    kitchen.cache = kitchen.cacher.add(LAYOUT, kitchen.projector)
    now(kitchen.cacher.start())
    for _ in range(15):
        kitchen.tick(1)
    mute = backend.tails[-1]
    assert isinstance(mute, Mute)
    assert mute.questions == 1
    for number in range(4):
        kitchen.put(f"some-{number}")
        for _ in range(20):
            kitchen.tick(1)
    assert kitchen.cacher.check_log() is None
    for _ in range(int(BOUND) + 1 - 20):
        kitchen.tick(1)
    assert "silent for 31 s" in (kitchen.cacher.check_log() or "")


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


OVENS = KeyLayout("food.example", "ovens", namespaced=False)


class Slow(Faulty):
    """A store whose pages wait until a test lets them come."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self.slow = False
        self.asked: list[tuple[int | None, Deferred[None]]] = []

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        if self.slow:
            waiting: Deferred[None] = Deferred()
            self.asked.append((at, waiting))
            await waiting
        return await super().page(prefix, at=at, after=after, limit=limit)

    def let(self) -> None:
        """The next page comes."""
        self.asked.pop(0)[1].callback(None)


@pytest.fixture
def slow(kitchen: Kitchen) -> Slow:
    """A store below a cacher that has been started; from now on its pages wait."""
    now(kitchen.cacher.stop())
    backend = Slow(kitchen.backend)
    kitchen.cacher = Cacher(backend, kitchen.clock)
    kitchen.cache = kitchen.cacher.add(LAYOUT, kitchen.projector)
    now(kitchen.cacher.start())
    backend.slow = True
    return backend


def oven(kitchen: Kitchen, name: str, expected: int = 0) -> int:
    return now(kitchen.backend.commit(b"/registry/food.example/ovens/" + name.encode(), pizza(name), expected=expected))


def test_a_cache_that_comes_later_has_what_was_stored_and_what_is_stored_meanwhile(
    kitchen: Kitchen, slow: Slow
) -> None:
    """Each commit once, whether it comes before, while or after the store is read, and the other caches go on."""
    first = oven(kitchen, "old")
    gone = oven(kitchen, "gone")
    ovens = kitchen.cacher.add(OVENS, Pizzas())
    filling = Deferred.fromCoroutine(kitchen.cacher.fill(ovens))
    assert [at for at, _ in slow.asked] == [gone]
    oven(kitchen, "new")
    second = oven(kitchen, "old", expected=first)
    now(kitchen.backend.commit(b"/registry/food.example/ovens/gone", None, expected=gone))
    kitchen.put("one")
    assert names(kitchen.cache) == ["a/one"]
    assert not over(filling)
    slow.let()
    assert over(filling)
    assert names(ovens) == ["/new", "/old"]
    cached = ovens.get("", "old")
    assert cached is not None
    assert (cached.revision, ovens.revision) == (second, kitchen.cache.revision)
    oven(kitchen, "late")
    assert names(ovens) == ["/late", "/new", "/old"]


def test_a_watch_of_a_cache_that_came_later_resumes_where_it_was_filled(kitchen: Kitchen, slow: Slow) -> None:
    before = oven(kitchen, "old")
    ovens = kitchen.cacher.add(OVENS, Pizzas())
    filling = Deferred.fromCoroutine(kitchen.cacher.fill(ovens))
    oven(kitchen, "new")
    slow.let()
    assert over(filling)
    kitchen.cache = ovens
    sink, _ = kitchen.watch(since=before)
    oven(kitchen, "late")
    kitchen.tick()
    assert [(kind, name) for kind, name, _ in sink.told()] == [("ADDED", "new"), ("ADDED", "late")]


def test_a_second_cache_of_a_resource_is_of_its_own(kitchen: Kitchen, slow: Slow) -> None:
    """The objects of each are made by its own projector; watches of the first go on until it is removed."""
    kitchen.put("one")
    sink, done = kitchen.watch()
    projector = Pizzas()
    second = kitchen.cacher.add(LAYOUT, projector)
    filling = Deferred.fromCoroutine(kitchen.cacher.fill(second))
    slow.let()
    assert over(filling)
    kitchen.put("two")
    kitchen.tick()
    assert [name for _, name, _ in sink.told()] == ["two"]
    assert names(kitchen.cache) == names(second) == ["a/one", "a/two"]
    first = kitchen.projector.projected.copy()
    cached = second.get("a", "one")
    assert cached is not None
    cached.serialized("v1")
    assert (kitchen.projector.projected, projector.projected) == (first, ["v1"])
    kitchen.cacher.remove(kitchen.cache)
    assert over(done)
    kitchen.put("three")
    assert names(second) == ["a/one", "a/three", "a/two"]


def test_a_removed_cache_ends_its_watches_after_their_last_event(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch()
    late = kitchen.cache.watch(select(), "v1", V1, initial=True)
    kitchen.put("one")
    kitchen.cacher.remove(kitchen.cache)
    assert over(done)
    assert [name for _, name, _ in sink.told()] == ["one"]
    assert not sink.aborted
    assert over(Deferred.fromCoroutine(begin(late, sink)))
    assert sink.take() == []


def test_a_removed_cache_is_current_for_as_long_as_somebody_has_it(kitchen: Kitchen) -> None:
    """A request that began with it reads what it has written itself; after the last one nothing is left of it."""
    cache = kitchen.cache
    kitchen.cacher.remove(cache)
    kitchen.put("one")
    assert now(cache.fresh()) == kitchen.cacher.revision
    assert names(cache) == ["a/one"]
    left = weakref.ref(cache)
    del cache, kitchen.cache
    assert left() is None  # by its references alone: the garbage collector does not see what was there at the start
    kitchen.put("two")


def test_a_removed_cache_is_filled_again_with_the_others(kitchen: Kitchen) -> None:
    """Here with what has been compacted since the log broke off, so that no log has it any more."""
    backend = faulty(kitchen)
    now(kitchen.cacher.start())
    kitchen.put("one")
    kitchen.cacher.remove(kitchen.cache)
    backend.tails[-1].close()
    kitchen.remove("one")
    newest = kitchen.put("two")
    now(kitchen.backend.compact(newest, expected=kitchen.first))
    kitchen.tick(0.2)
    assert names(kitchen.cache) == ["a/two"]


@pytest.mark.parametrize("error", [Unavailable("disk full"), ZeroDivisionError("a bug of the store")])
def test_a_store_that_fails_is_told_and_the_others_go_on(kitchen: Kitchen, slow: Slow, error: Exception) -> None:
    ovens = kitchen.cacher.add(OVENS, Pizzas())
    errors = caught(Deferred.fromCoroutine(kitchen.cacher.fill(ovens)))
    slow.asked.pop()[1].errback(error)
    assert errors == [error]
    kitchen.put("one")
    oven(kitchen, "new")
    assert names(kitchen.cache) == ["a/one"]
    assert len(ovens) == 0


def test_a_log_that_breaks_off_meanwhile_has_the_cache_filled_again(kitchen: Kitchen, slow: Slow) -> None:
    ovens = kitchen.cacher.add(OVENS, Pizzas())
    filling = Deferred.fromCoroutine(kitchen.cacher.fill(ovens))
    slow.slow = False
    slow.tails[-1].close()
    oven(kitchen, "new")
    kitchen.tick(0.2)
    assert kitchen.cacher.ready
    slow.let()
    assert not over(filling)
    kitchen.tick(0.2)
    assert over(filling)
    assert names(ovens) == ["/new"]


def test_a_log_that_does_not_come_back_is_told(kitchen: Kitchen, slow: Slow) -> None:
    slow.down = Unavailable("disk full")
    slow.tails[-1].close()
    errors = caught(Deferred.fromCoroutine(kitchen.cacher.fill(kitchen.cacher.add(OVENS, Pizzas()))))
    for _ in range(40):
        kitchen.tick(0.1)
    assert [str(error) for error in errors] == ["the log of the store broke off while a cache was filled"]
    slow.slow, slow.down = False, None
    kitchen.tick(20)
    assert kitchen.cacher.ready


def test_what_is_compacted_while_it_is_read_is_read_again(kitchen: Kitchen, slow: Slow) -> None:
    oven(kitchen, "old")
    ovens = kitchen.cacher.add(OVENS, Pizzas())
    filling = Deferred.fromCoroutine(kitchen.cacher.fill(ovens))
    newest = oven(kitchen, "new")
    now(kitchen.backend.compact(newest, expected=kitchen.first))
    slow.slow = False
    slow.let()
    kitchen.tick(0.2)
    assert over(filling)
    assert names(ovens) == ["/new", "/old"]


def test_more_commits_than_can_wait_have_the_cache_filled_again(kitchen: Kitchen, slow: Slow) -> None:
    ovens = kitchen.cacher.add(OVENS, Pizzas())
    filling = Deferred.fromCoroutine(kitchen.cacher.fill(ovens))
    revision = 0
    for _ in range(10_001):
        revision = oven(kitchen, "busy", expected=revision)
    slow.slow = False
    slow.let()
    assert not over(filling)
    kitchen.tick(0.2)
    assert over(filling)
    cached = ovens.get("", "busy")
    assert cached is not None
    assert cached.revision == revision


def test_a_fill_that_is_cancelled_leaves_nothing_behind(kitchen: Kitchen, slow: Slow) -> None:
    ovens = kitchen.cacher.add(OVENS, Pizzas())
    filling = Deferred.fromCoroutine(kitchen.cacher.fill(ovens))
    errors = caught(filling)
    filling.cancel()
    assert [type(error) for error in errors] == [CancelledError]
    left = weakref.ref(ovens)
    slow.asked.clear()
    errors.clear()
    del ovens, filling
    gc.collect()
    assert left() is None
