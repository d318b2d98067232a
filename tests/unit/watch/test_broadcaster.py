"""What watchers share: decisions, encodings, chunks."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from extapi.api.requirements import FieldRequirement
from extapi.api.selectors import FieldSelectorQuery, parse_field_selector
from extapi.watch.broadcaster import EventStream
from extapi.watch.cache import CacheSettings
from extapi.watch.cachedobject import CachedObject
from extapi.watch.cachewatcher import CacheWatcher
from extapi.watch.encoding import ObjectEncoder
from extapi.watch.history import HistorySettings
from extapi.watch.selection import Selection
from extapi.watch.stream import WatchStream
from extapi.watch.watchergroup import WatcherGroup
from tests.unit.watch.store import Kitchen, RecordingSink, over, select


class Counting(ObjectEncoder):
    """Counts what it is asked to encode."""

    def __init__(self) -> None:
        super().__init__("v1", "food.example/v1", "Pizza")
        self.events: list[str] = []

    def event(self, kind: str, cached: CachedObject, revision: int, *, first: bool = False) -> bytes:
        self.events.append(kind)
        return super().event(kind, cached, revision, first=first)


def test_an_event_is_encoded_once_for_all_who_see_it_alike() -> None:
    kitchen = Kitchen()
    encoder = Counting()
    alike = [kitchen.watch(encoder=encoder)[0] for _ in range(3)]
    equal = [kitchen.watch(select(labels=text), encoder=encoder)[0] for text in ("hot=yes", "hot in (yes)")]
    kitchen.put("one", labels={"hot": "no"})
    kitchen.tick()
    kitchen.put("one", labels={"hot": "yes"})
    kitchen.tick()
    assert encoder.events == ["ADDED", "MODIFIED", "ADDED"]
    assert len({id(sink.chunks[-1]) for sink in alike}) == 1
    assert equal[0].chunks[0] is equal[1].chunks[0]
    assert [kind for kind, _, _ in equal[0].told()] == ["ADDED"]


def test_a_stream_without_watchers_costs_nothing() -> None:
    kitchen = Kitchen()
    encoder = Counting()
    sinks = [kitchen.watch(select(namespace), encoder=encoder)[0] for namespace in ("", "a", "a")]
    for sink in sinks:
        sink.close()
    kitchen.put("one")
    kitchen.tick()
    assert encoder.events == []
    assert kitchen.cache._broadcaster._streams == {}


def test_one_that_leaves_does_not_take_the_others_along() -> None:
    kitchen = Kitchen()
    first, _ = kitchen.watch()
    second, _ = kitchen.watch()
    third, _ = kitchen.watch(select("a"))
    first.close()
    kitchen.put("one")
    kitchen.tick()
    assert (len(first.told()), len(second.told()), len(third.told())) == (0, 1, 1)


def test_watchers_that_could_not_be_told_do_not_go_on() -> None:
    def broken(fields: Any) -> bool:
        raise ZeroDivisionError("secret")

    kitchen = Kitchen()
    fields = FieldSelectorQuery((FieldRequirement("metadata.name", "!=", "x"),), broken)
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


# -- memory


class Keeping(ObjectEncoder):
    """Keeps what it has encoded, so that a test can count who else does."""

    def __init__(self) -> None:
        super().__init__("v1", "food.example/v1", "Pizza")
        self.made: list[bytes] = []

    def event(self, kind: str, cached: CachedObject, revision: int, *, first: bool = False) -> bytes:
        self.made.append(super().event(kind, cached, revision, first=first))
        return self.made[-1]


def alive(kitchen: Kitchen) -> dict[str, int]:
    """How many objects of a watch there are, apart from those of other tests."""
    gc.collect()
    kinds = (EventStream, WatcherGroup, CacheWatcher, WatchStream, Keeping)
    every = Counter(map(type, gc.get_objects()))  # in one go: a process that has run other tests has a million
    return {kind.__name__: sum(every[each] for each in every if issubclass(each, kind)) for kind in kinds}


def close(sink: RecordingSink, kitchen: Kitchen) -> None:
    sink.close()


def time_passes(sink: RecordingSink, kitchen: Kitchen) -> None:
    kitchen.tick(1800)


def stop_reading(sink: RecordingSink, kitchen: Kitchen) -> None:
    """It is cut off as too slow."""
    sink.stuck = True
    for number in range(45):
        kitchen.put(f"big{number}", labels={"x": "y" * 100_000})
        kitchen.tick()
    kitchen.tick(5)
    assert sink.aborted


@pytest.mark.parametrize("end", [close, stop_reading, time_passes])
@pytest.mark.parametrize("initial", [True, False])
def test_nothing_of_a_watch_is_left_when_it_is_over(
    end: Callable[[RecordingSink, Kitchen], None], initial: bool
) -> None:
    kitchen = Kitchen()
    before = alive(kitchen)
    for namespace in ("", "a", ""):
        sink, done = kitchen.watch(select(namespace), encoder=Keeping(), initial=initial, bookmarks=True)
        kitchen.put("one", size=len(namespace))
        kitchen.tick()
        assert alive(kitchen) != before
        end(sink, kitchen)
        assert over(done)
        del sink, done
    assert alive(kitchen) == before


def test_a_group_goes_with_its_last_watcher_though_its_stream_stays() -> None:
    kitchen = Kitchen()
    staying, _ = kitchen.watch()
    before = alive(kitchen)
    for _ in range(3):
        leaving, done = kitchen.watch(select("b"))
        kitchen.put("one", "b")
        kitchen.tick()
        leaving.close()
        del leaving, done
    assert alive(kitchen) == before
    assert len(staying.take()) == 3


def test_the_bytes_of_an_event_go_once_it_is_sent() -> None:
    kitchen = Kitchen()
    encoder = Keeping()
    sinks = [kitchen.watch(select(namespace), encoder=encoder)[0] for namespace in ("", "", "a")]
    for number in range(3):
        kitchen.put("one", size=number)
        kitchen.tick()
    assert len(encoder.made) == 3
    for sink in sinks:
        sink.chunks.clear()
    while encoder.made:
        data = encoder.made.pop()
        assert sys.getrefcount(data) == 2  # our name, and the argument


def test_an_object_that_has_changed_goes_with_its_bytes_in_every_version() -> None:
    """Only the history holds what has been, and that is bounded."""
    kitchen = Kitchen(settings=CacheSettings(HistorySettings(min_events=1, max_events=1)))
    kitchen.put("one")
    kinds: list[bytes] = []
    cached = kitchen.cache.get("a", "one")
    assert cached is not None
    kinds += [cached.serialized(version).data for version in ("v1", "v2")]
    del cached
    for number in range(3):
        kitchen.put("one", size=number)
        kitchen.tick()
    while kinds:
        data = kinds.pop()
        assert sys.getrefcount(data) == 2
