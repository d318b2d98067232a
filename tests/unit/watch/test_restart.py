"""The cache on a store that survives the process: real files, and a real reactor that is turned by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred

from extapi.http.response import Sink, Streaming
from extapi.privatereactor import drive, private_reactor
from extapi.storage.sqlite import SqliteBackend
from extapi.watch.cache import CacheSettings
from extapi.watch.cacher import Cacher
from extapi.watch.history import HistorySettings
from extapi.watch.selection import Selection
from tests.unit.watch.store import LAYOUT, PREFIX, V1, Pizzas, RecordingSink, now, pizza


async def run(stream: Streaming, sink: Sink) -> None:
    await stream(sink)


def test_a_watch_goes_on_where_it_was_before_the_restart(tmp_path: Path) -> None:
    async def day(reactor: Any, since: int | None) -> tuple[int, list[tuple[str, str, str]]]:
        backend = SqliteBackend(reactor, tmp_path / "pizzas.db")
        cacher = Cacher(backend, reactor)
        cache = cacher.add(LAYOUT, Pizzas())
        await cacher.start()
        sink = RecordingSink()
        done = Deferred.fromCoroutine(run(cache.watch(Selection(), "v1", V1, since=since), sink))
        revision = await backend.revision()
        name = b"a/p%d" % revision
        revision = await backend.commit(PREFIX + name, pizza(name.decode()[2:]), expected=0)
        assert now(cache.fresh()) == revision  # it has the commit when that returns: nobody waits
        await backend.commit(PREFIX + name, None, expected=revision)
        await cacher.stop()
        await done
        await backend.close()
        return revision, sink.told()

    with private_reactor() as reactor:
        first, told = drive(reactor, day(reactor, None))
        assert [kind for kind, _, _ in told] == ["ADDED", "DELETED"]
        second, told = drive(reactor, day(reactor, first))
        assert second == first + 2
        assert [(kind, int(revision) - first) for kind, _, revision in told] == [
            ("DELETED", 1),
            ("ADDED", 2),
            ("DELETED", 3),
        ]


def test_what_was_compacted_before_the_restart_is_too_old(tmp_path: Path) -> None:
    async def story(reactor: Any) -> bytes:
        backend = SqliteBackend(reactor, tmp_path / "pizzas.db")
        revision = await backend.commit(PREFIX + b"a/one", pizza("one"), expected=0)
        revision = await backend.commit(PREFIX + b"a/one", pizza("one", size=2), expected=revision)
        await backend.compact(revision, expected=await backend.oldest())
        cacher = Cacher(backend, reactor)
        cache = cacher.add(LAYOUT, Pizzas())
        await cacher.start()
        sink = RecordingSink()
        await run(cache.watch(Selection(), "v1", V1, since=revision - 1), sink)
        cached = cache.get("a", "one")
        assert cached is not None
        assert cached.revision == revision
        await cacher.stop()
        await backend.close()
        return sink.data

    with private_reactor() as reactor:
        assert b'"reason":"Expired"' in drive(reactor, story(reactor))


def test_no_more_of_the_past_is_replayed_than_a_history_holds(tmp_path: Path) -> None:
    """A store that others write to, too, may have far more revisions: a start must not take longer for each of them."""

    async def story(reactor: Any) -> tuple[list[str], bytes]:
        backend = SqliteBackend(reactor, tmp_path / "pizzas.db")
        for number in range(9):
            revision = await backend.commit(PREFIX + b"a/p%d" % number, pizza(f"p{number}"), expected=0)
        cacher = Cacher(backend, reactor, settings=CacheSettings(history=HistorySettings(max_events=4)))
        cache = cacher.add(LAYOUT, Pizzas())
        await cacher.start()
        assert len(cache) == 9
        resumed, late = RecordingSink(), RecordingSink()
        await run(cache.watch(Selection(), "v1", V1, since=revision - 5), late)
        done = Deferred.fromCoroutine(run(cache.watch(Selection(), "v1", V1, since=revision - 4), resumed))
        await cacher.stop()
        await done
        await backend.close()
        return [kind for kind, _, _ in resumed.told()], late.data

    with private_reactor() as reactor:
        told, late = drive(reactor, story(reactor))
        assert told == ["ADDED"] * 4
        assert b'"reason":"Expired"' in late
