"""What watchers share: decisions, encodings, chunks."""

from __future__ import annotations

from typing import Any

from extapi.api.requirements import FieldRequirement
from extapi.api.selectors import FieldSelector, parse_field_selector
from extapi.watch.entry import Entry
from extapi.watch.rendering import ObjectRenderer
from extapi.watch.selection import Selection
from tests.unit.watch.store import Kitchen, now, over, select


class Counting(ObjectRenderer):
    """Counts what it is asked to encode."""

    def __init__(self) -> None:
        super().__init__("v1", "food.example/v1", "Pizza")
        self.events: list[str] = []

    def event(self, kind: str, entry: Entry, revision: int, *, first: bool = False) -> bytes:
        self.events.append(kind)
        return super().event(kind, entry, revision, first=first)


class Columned(Counting):
    """A first event that is not like the others, as that of tables."""

    distinct_first = True

    def event(self, kind: str, entry: Entry, revision: int, *, first: bool = False) -> bytes:
        data = super().event(kind, entry, revision)
        return data.replace(b'{"type"', b'{"columns":true,"type"') if first else data

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        data = super().bookmark(revision, initial_end=initial_end)
        return data.replace(b'{"type"', b'{"columns":true,"type"') if first else data


def columns(events: list[Any]) -> list[tuple[str, bool]]:
    return [(event["type"], "columns" in event) for event in events]


def test_an_event_is_encoded_once_for_all_who_see_it_alike() -> None:
    kitchen = Kitchen()
    renderer = Counting()
    alike = [kitchen.watch(renderer=renderer)[0] for _ in range(3)]
    equal = [kitchen.watch(select(labels=text), renderer=renderer)[0] for text in ("hot=yes", "hot in (yes)")]
    kitchen.put("one", labels={"hot": "no"})
    kitchen.tick()
    kitchen.put("one", labels={"hot": "yes"})
    kitchen.tick()
    assert renderer.events == ["ADDED", "MODIFIED", "ADDED"]
    assert len({id(sink.chunks[-1]) for sink in alike}) == 1
    assert equal[0].chunks[0] is equal[1].chunks[0]
    assert [kind for kind, _, _ in equal[0].told()] == ["ADDED"]


def test_a_lane_without_watchers_costs_nothing() -> None:
    kitchen = Kitchen()
    renderer = Counting()
    sinks = [kitchen.watch(select(namespace), renderer=renderer)[0] for namespace in ("", "a", "a")]
    for sink in sinks:
        sink.close()
    kitchen.put("one")
    kitchen.tick()
    assert renderer.events == []
    assert kitchen.cache._audience._lanes == {}


def test_one_that_leaves_does_not_take_the_others_along() -> None:
    kitchen = Kitchen()
    first, _ = kitchen.watch()
    second, _ = kitchen.watch()
    third, _ = kitchen.watch(select("a"))
    first.close()
    kitchen.put("one")
    kitchen.tick()
    assert (len(first.told()), len(second.told()), len(third.told())) == (0, 1, 1)


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
    renderer = Columned()
    early, _ = kitchen.watch(renderer=renderer)
    kitchen.put("one")
    kitchen.put("two")
    kitchen.tick()
    late, _ = kitchen.watch(renderer=renderer)
    initial, _ = kitchen.watch(renderer=renderer, initial=True)
    ended, _ = kitchen.watch(select("none"), renderer=renderer, initial=True, initial_end_bookmark=True)
    resumed, _ = kitchen.watch(renderer=renderer, since=kitchen.first + 1)
    marked, _ = kitchen.watch(renderer=renderer, bookmarks=True)
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


def test_newcomers_of_a_table_are_failed_like_the_others() -> None:
    kitchen = Kitchen()
    renderer = Columned()
    renderer._version = "v2"
    sink, done = kitchen.watch(renderer=renderer)
    kitchen.put("bad", size=13)
    kitchen.tick()
    assert [event["type"] for event in sink.take()] == ["ERROR"]
    assert over(done)


def test_watchers_that_could_not_be_told_do_not_go_on() -> None:
    def broken(fields: Any) -> bool:
        raise ZeroDivisionError("secret")

    kitchen = Kitchen()
    fields = FieldSelector((FieldRequirement("metadata.name", "!=", "x"),), broken)
    sink, done = kitchen.watch(Selection("", fields=fields))
    well, well_done = kitchen.watch()
    kitchen.put("one")
    kitchen.tick()
    (event,) = sink.take()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
    assert "secret" not in event["object"]["message"]
    assert over(done)
    assert len(well.told()) == 1
    assert not over(well_done)


def test_an_object_whose_fields_cannot_be_read_ends_the_watches_that_ask_for_them_with_its_error() -> None:
    """Its own error, after the events before it; others go on."""
    kitchen = Kitchen()
    by_size = Selection(fields=parse_field_selector("spec.size=1"), version="v2")
    asking, done = kitchen.watch(by_size)
    other, _ = kitchen.watch()
    kitchen.put("good", size=1)
    kitchen.put("bad", size=13)
    kitchen.put("late", size=1)
    kitchen.tick()
    events = asking.take()
    assert [event["type"] for event in events] == ["ADDED", "ERROR"]
    assert events[1]["object"]["message"] == "no such size in v2"
    assert over(done)
    assert len(other.told()) == 3
