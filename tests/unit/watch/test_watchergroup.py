"""Watchers of a group: the first event of each, and the end of one during a delivery."""

from __future__ import annotations

from typing import Any

from extapi.watch.cachedobject import CachedObject
from extapi.watch.encoding import ObjectEncoder
from tests.unit.watch.store import Kitchen, now, over, select


class Columned(ObjectEncoder):
    """The first event of a watch differs from the others, as it does for tables."""

    distinct_first = True

    def __init__(self, version: str = "v1") -> None:
        super().__init__(version, "food.example/v1", "Pizza")

    def event(self, kind: str, cached: CachedObject, revision: int, *, first: bool = False) -> bytes:
        data = super().event(kind, cached, revision)
        return data.replace(b'{"type"', b'{"columns":true,"type"') if first else data

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        data = super().bookmark(revision, initial_end=initial_end)
        return data.replace(b'{"type"', b'{"columns":true,"type"') if first else data


def columns(events: list[Any]) -> list[tuple[str, bool]]:
    return [(event["type"], "columns" in event) for event in events]


def test_one_that_leaves_during_a_delivery_gets_no_more() -> None:
    kitchen = Kitchen()
    first, _ = kitchen.watch()
    second, _ = kitchen.watch()
    write = first.write

    def last_write(chunk: Any) -> None:
        write(chunk)
        second.close()

    first.write = last_write  # type: ignore[method-assign] # what a sink may do: the other connection breaks meanwhile
    kitchen.put("one")
    kitchen.tick()
    assert (len(first.told()), len(second.told())) == (1, 0)


def test_only_the_first_event_of_each_watcher_has_columns() -> None:
    kitchen = Kitchen()
    encoder = Columned()
    early, _ = kitchen.watch(encoder=encoder)
    kitchen.put("one")
    kitchen.put("two")
    kitchen.tick()
    late, _ = kitchen.watch(encoder=encoder)
    initial, _ = kitchen.watch(encoder=encoder, initial=True)
    ended, _ = kitchen.watch(select("none"), encoder=encoder, initial=True, initial_end_bookmark=True)
    resumed, _ = kitchen.watch(encoder=encoder, since=kitchen.first + 1)
    marked, _ = kitchen.watch(encoder=encoder, bookmarks=True)
    kitchen.tick(60)
    kitchen.put("three")
    kitchen.put("four", "none")
    kitchen.tick()
    new, more, mark = ("ADDED", True), ("ADDED", False), ("BOOKMARK", True)
    assert columns(early.take()) == [new, more, more, more]
    assert columns(late.take()) == [new, more]
    assert columns(initial.take()) == [new, more, more, more]
    assert columns(ended.take()) == [mark, more]
    assert columns(resumed.take()) == [new, more, more]
    assert columns(marked.take()) == [mark, more, more]
    kitchen.tick(60)
    assert columns(marked.take()) == [("BOOKMARK", False)]
    now(kitchen.cacher.stop())


def test_watchers_of_a_table_without_an_event_are_failed_like_the_others() -> None:
    kitchen = Kitchen()
    encoder = Columned("v2")
    sink, done = kitchen.watch(encoder=encoder)
    kitchen.put("bad", size=13)
    kitchen.tick()
    assert [event["type"] for event in sink.take()] == ["ERROR"]
    assert over(done)
