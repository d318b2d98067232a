"""What watchers share: decisions, encodings, chunks."""

from __future__ import annotations

from typing import Any

from extapi.api.requirements import FieldRequirement
from extapi.api.selectors import FieldSelectorQuery, parse_field_selector
from extapi.watch.cachedobject import CachedObject
from extapi.watch.encoding import ObjectEncoder
from extapi.watch.selection import Selection
from tests.unit.watch.store import Kitchen, over, select


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
