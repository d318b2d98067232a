"""Watches of a version whose conversion waits: in order, without gap or repeat, and no other stream is held up."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.api.selectors import parse_field_selector
from extapi.errors import InternalError
from extapi.watch.cache import CacheSettings
from extapi.watch.cachedobject import NotPrepared
from extapi.watch.conversioncalls import ConversionLimits
from extapi.watch.encoding import ObjectEncoder
from extapi.watch.selection import Selection
from tests.unit.watch.bakery import Bakery
from tests.unit.watch.store import RecordingSink, caught, now, over, select

V2 = ObjectEncoder("v2", "food.example/v2", "Pizza")
V3 = ObjectEncoder("v3", "food.example/v3", "Pizza")
BIG = Selection(fields=parse_field_selector("spec.size=9"), version="v2")


@pytest.fixture
def bakery() -> Iterator[Bakery]:
    bakery = Bakery()
    yield bakery
    now(bakery.cacher.stop())
    assert len(bakery.cache._broadcaster) == 0
    assert bakery.cache._broadcaster._streams == {}
    bakery.close()


def watch(bakery: Bakery, selection: Selection | None = None, **options: Any) -> tuple[RecordingSink, Deferred[None]]:
    return bakery.watch(selection, key="v2", encoder=V2, **options)


def names(sink: RecordingSink) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name, _ in sink.told()]


# -- live events


def test_an_event_waits_for_its_object_and_what_follows_waits_behind_it(bakery: Bakery) -> None:
    sink, _ = watch(bakery)
    bakery.put("one", size=4)
    bakery.tick()
    bakery.put("two")
    bakery.remove("two")
    bakery.tick()
    assert sink.chunks == []
    first = bakery.projector.calls[0]
    assert first.names == ["one"]
    first.finish()
    assert [(event["type"], event["object"]["spec"]["size"]) for event in sink.take()] == [("ADDED", "4")]
    bakery.answer()
    assert names(sink) == [("ADDED", "two"), ("DELETED", "two")]


def test_an_object_that_is_there_first_still_comes_second(bakery: Bakery) -> None:
    sink, _ = watch(bakery)
    bakery.put("one")
    bakery.tick()
    bakery.put("two")
    bakery.tick()
    reader = bakery.ask("two")
    bakery.projector.calls[1].finish()
    assert over(reader)
    assert sink.chunks == []
    bakery.projector.calls[0].finish()
    assert names(sink) == [("ADDED", "one"), ("ADDED", "two")]
    assert len(bakery.projector.calls) == 2


def test_what_came_while_one_was_waited_for_is_one_call(bakery: Bakery) -> None:
    watch(bakery)
    for name in ("one", "two", "three"):
        bakery.put(name)
        bakery.tick()
    bakery.projector.calls[0].finish()
    assert [call.names for call in bakery.projector.calls] == [["one"], ["two", "three"]]
    bakery.answer()


def test_other_streams_do_not_wait(bakery: Bakery) -> None:
    slow, _ = watch(bakery)
    other, _ = bakery.watch(key="v3", encoder=V3)
    stored, _ = bakery.watch()
    bakery.put("one")
    bakery.tick()
    assert names(stored) == [("ADDED", "one")]
    bakery.projector.calls[1].finish()
    assert names(other) == [("ADDED", "one")]
    assert slow.chunks == []
    bakery.projector.calls[0].finish()
    assert names(slow) == [("ADDED", "one")]


def test_what_is_prepared_already_comes_at_once(bakery: Bakery) -> None:
    bakery.put("one")
    sink, _ = watch(bakery)
    bakery.ask("one")
    bakery.answer()
    bakery.remove("one")
    bakery.tick()
    assert names(sink) == [("DELETED", "one")]


def test_what_no_watcher_selects_is_not_converted(bakery: Bakery) -> None:
    sink, _ = watch(bakery, select("b"))
    bakery.put("one", "a")
    bakery.tick()
    assert bakery.projector.calls == []
    bakery.put("one", "b")
    bakery.tick()
    bakery.answer()
    assert names(sink) == [("ADDED", "one")]


def test_fields_of_the_version_are_selected_by_once_they_are_there(bakery: Bakery) -> None:
    sink, _ = watch(bakery, BIG)
    bakery.put("one", size=9)
    bakery.put("two", size=1)
    bakery.put("one", size=1)
    bakery.tick()
    assert sink.chunks == []
    bakery.answer()
    assert names(sink) == [("ADDED", "one"), ("DELETED", "one")]


def test_an_object_that_was_never_read_may_leave_a_selection(bakery: Bakery) -> None:
    bakery.put("one", size=9)
    sink, _ = watch(bakery, BIG)
    bakery.put("one", size=1)
    bakery.tick()
    assert bakery.projector.calls[0].names == ["one", "one"]
    bakery.answer()
    assert names(sink) == [("DELETED", "one")]


def test_events_of_one_turn_are_encoded_once_for_all_who_see_them_alike(bakery: Bakery) -> None:
    sinks = [watch(bakery)[0] for _ in range(3)]
    bakery.put("one")
    bakery.tick()
    bakery.answer()
    assert len({id(sink.chunks[0]) for sink in sinks}) == 1


# -- the beginning


def test_who_comes_while_events_wait_gets_none_of_them_twice(bakery: Bakery) -> None:
    early, _ = watch(bakery)
    bakery.put("one")
    bakery.tick()
    late, _ = watch(bakery, initial=True)
    bakery.put("two")
    bakery.tick()
    bakery.answer()
    assert names(early) == [("ADDED", "one"), ("ADDED", "two")]
    assert names(late) == [("ADDED", "one"), ("ADDED", "two")]


def test_initial_events_wait_and_live_ones_come_after_them(bakery: Bakery) -> None:
    bakery.put("one")
    bakery.put("two")
    sink, _ = watch(bakery, initial=True, initial_end_bookmark=True)
    bakery.put("three")
    bakery.tick()
    initial, live = bakery.projector.calls
    live.finish()
    assert sink.chunks == []
    initial.finish()
    events = sink.take()
    assert [(event["type"], event["object"]["metadata"].get("name")) for event in events] == [
        ("ADDED", "one"),
        ("ADDED", "two"),
        ("BOOKMARK", None),
        ("ADDED", "three"),
    ]
    assert events[2]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_missed_events_wait_and_live_ones_come_after_them(bakery: Bakery) -> None:
    first = bakery.put("one")
    bakery.put("one", size=2)
    bakery.remove("one")
    sink, _ = watch(bakery, since=first)
    bakery.put("three")
    bakery.tick()
    bakery.answer()
    assert names(sink) == [("MODIFIED", "one"), ("DELETED", "one"), ("ADDED", "three")]


def test_initial_events_are_selected_by_fields_of_the_version(bakery: Bakery) -> None:
    for name, size in (("a", 1), ("b", 9), ("c", 9)):
        bakery.put(name, size=size)
    sink, _ = watch(bakery, BIG, initial=True)
    named, _ = watch(
        bakery, Selection("a", fields=parse_field_selector("spec.size=9,metadata.name=b"), version="v2"), initial=True
    )
    bakery.answer()
    assert names(sink) == [("ADDED", "b"), ("ADDED", "c")]
    assert names(named) == [("ADDED", "b")]
    assert [call.names for call in bakery.projector.calls] == [["a", "b", "c"]]


def test_many_initial_events_are_converted_a_few_at_a_time() -> None:
    bakery = Bakery(objects=2)
    for number in range(5):
        bakery.put(f"p{number}")
    sink, _ = watch(bakery, initial=True)
    for expected in (["p0", "p1"], ["p2", "p3"], ["p4"]):
        (call,) = bakery.projector.open
        assert call.names == expected
        call.finish()
        assert [name for _, name in names(sink)] == expected


class Opening(ObjectEncoder):
    """Marks the first event of a watch, as tables do."""

    distinct_first = True

    def event(self, kind: str, cached: Any, revision: int, *, first: bool = False) -> bytes:
        return (b" " if first else b"") + super().event(kind, cached, revision, first=first)


@pytest.mark.parametrize("initial", [True, False])
@pytest.mark.parametrize("selection", [Selection(), BIG], ids=["all", "by fields"])
def test_only_the_first_event_of_a_watch_opens_it(bakery: Bakery, initial: bool, selection: Selection) -> None:
    encoder = Opening("v2", "food.example/v2", "Pizza")
    bakery.put("one", size=9)
    sink, _ = bakery.watch(selection, key="v2", encoder=encoder, initial=initial)
    bakery.answer()
    bakery.put("two", size=9)
    bakery.tick()
    bakery.answer()
    bakery.put("three", size=9)
    bakery.tick()
    bakery.answer()
    lines = sink.data.splitlines()
    assert len(lines) == (3 if initial else 2)
    assert [line.startswith(b" ") for line in lines] == [True, *[False] * (len(lines) - 1)]


# -- bookmarks


def test_a_bookmark_comes_after_the_events_that_it_covers(bakery: Bakery) -> None:
    sink, _ = watch(bakery, bookmarks=True)
    bakery.tick(45)
    covered = bakery.put("one")
    bakery.tick(15)
    bakery.put("two")
    bakery.tick()
    assert sink.chunks == []
    bakery.answer()
    told = sink.told()
    assert [(kind, name) for kind, name, _ in told] == [("ADDED", "one"), ("BOOKMARK", ""), ("ADDED", "two")]
    assert told[1][2] == str(covered)


# -- failures


def test_the_failure_of_one_ends_the_watches_that_would_see_it(bakery: Bakery) -> None:
    sink, done = watch(bakery)
    other, other_done = watch(bakery, select("b"))
    bakery.put("good")
    bakery.put("bad", size=13)
    bakery.put("late")
    bakery.put("theirs", "b")
    bakery.tick()
    bakery.answer()
    events = sink.take()
    assert [event["type"] for event in events] == ["ADDED", "ERROR"]
    assert (events[1]["object"]["code"], events[1]["object"]["message"]) == (500, "no such size in v2")
    assert (over(done), over(other_done)) == (True, False)
    assert names(other) == [("ADDED", "theirs")]


def test_the_failure_of_one_among_the_initial_events_comes_after_those_before_it(bakery: Bakery) -> None:
    for name, size in (("a", 1), ("bad", 13), ("c", 1)):
        bakery.put(name, size=size)
    sink, done = watch(bakery, initial=True, initial_end_bookmark=True)
    bakery.answer()
    assert [event["type"] for event in sink.take()] == ["ADDED", "ERROR"]
    assert over(done)


def test_a_failure_is_told_to_those_who_waited_and_not_kept(bakery: Bakery) -> None:
    sink, done = watch(bakery)
    bakery.put("one")
    bakery.tick()
    bakery.projector.calls[0].fail(InternalError("not now"))
    (event,) = sink.take()
    assert (event["type"], event["object"]["message"]) == ("ERROR", "not now")
    assert over(done)
    (cached,) = bakery.cached("one")
    assert isinstance(cached.serialized("v2").error, NotPrepared)
    again, _ = watch(bakery, initial=True)
    bakery.answer()
    assert names(again) == [("ADDED", "one")]


def test_a_converter_that_never_answers_ends_its_watches_in_time(bakery: Bakery) -> None:
    sink, done = watch(bakery)
    _, stored_done = bakery.watch()
    bakery.put("one")
    bakery.tick()
    bakery.tick(30)
    assert not over(done)
    bakery.tick(1)
    (event,) = sink.take()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
    assert "longer than 31 s" in event["object"]["message"]
    assert (over(done), over(stored_done)) == (True, False)


def test_too_many_events_that_wait_end_the_watches_cleanly() -> None:
    for limits in ({"events": 3}, {"events_size": 300}):
        bakery = Bakery(**limits)
        sink, done = watch(bakery)
        _, stored_done = bakery.watch()
        for number in range(5):
            bakery.put(f"p{number}")
            bakery.tick()
        assert (over(done), over(stored_done)) == (True, False)
        assert sink.chunks == []
        assert bakery.cache._broadcaster._streams.keys() == {"v1"}
        (call,) = bakery.projector.calls
        assert call.cancelled


# -- the end


@pytest.mark.parametrize("how", ["the peer goes", "its time is over", "the listener cancels", "the server stops"])
@pytest.mark.parametrize("initial", [True, False])
def test_the_end_of_a_watch_cancels_what_it_waits_for(bakery: Bakery, how: str, initial: bool) -> None:
    if initial:
        bakery.put("one")
    sink, done = watch(bakery, initial=initial, deadline_seconds=10)
    errors = caught(done)
    if not initial:
        bakery.put("one")
        bakery.tick()
    (call,) = bakery.projector.calls
    if how == "the peer goes":
        sink.close()
    elif how == "its time is over":
        bakery.tick(10)
    elif how == "the listener cancels":
        done.cancel()
    else:
        now(bakery.cacher.stop())
    assert over(done)
    assert [type(error) for error in errors] == ([CancelledError] if how == "the listener cancels" else [])
    assert call.cancelled
    assert sink.chunks == []
    assert bakery.cache._broadcaster._streams == {}


def test_one_that_leaves_does_not_take_the_others_along(bakery: Bakery) -> None:
    leaving, _ = watch(bakery)
    staying, _ = watch(bakery)
    bakery.put("one")
    bakery.tick()
    joining, _ = watch(bakery)
    leaving.close()
    joining.close()
    bakery.answer()
    bakery.put("two")
    bakery.tick()
    bakery.answer()
    assert names(staying) == [("ADDED", "one"), ("ADDED", "two")]
    assert leaving.chunks == joining.chunks == []


def test_a_place_that_is_kept_survives_the_others_of_its_group(bakery: Bakery) -> None:
    other, _ = watch(bakery, select("b"))  # keeps the stream
    leaving, _ = watch(bakery)
    bakery.put("one")
    bakery.tick()
    joining, _ = watch(bakery)
    leaving.close()
    bakery.put("two")
    bakery.tick()
    bakery.answer()
    assert names(joining) == [("ADDED", "two")]
    assert other.chunks == []


def test_what_comes_before_the_first_watcher_of_a_group_is_not_converted(bakery: Bakery) -> None:
    leaving, _ = watch(bakery)
    bakery.put("one")
    bakery.tick()
    bakery.put("two")
    bakery.tick()
    joining, _ = watch(bakery)
    leaving.close()
    bakery.put("three")
    bakery.tick()
    bakery.answer()
    assert [call.names for call in bakery.projector.calls] == [["one"], ["three"]]
    assert names(joining) == [("ADDED", "three")]


def test_a_slow_client_is_cut_off_as_ever(bakery: Bakery) -> None:
    sink = RecordingSink()
    sink.stuck = True
    _, done = watch(bakery, sink=sink)
    for number in range(60):
        bakery.put(f"p{number}", labels={"x": "y" * 100_000})
        bakery.tick()
        bakery.answer()
    assert sink.pending < 6 * 1024 * 1024
    bakery.tick(5)
    assert sink.aborted
    assert over(done)


def test_nothing_of_a_stream_is_left_when_its_last_watcher_has_gone(bakery: Bakery) -> None:
    _, done = watch(bakery, deadline_seconds=1)
    bakery.put("one")
    bakery.tick()
    stream = bakery.cache._broadcaster._streams["v2"]
    left = [weakref.ref(stream), weakref.ref(stream._queue)]  # type: ignore[attr-defined]
    del stream
    bakery.tick(1)
    assert over(done)
    bakery.projector.calls.clear()
    gc.collect()
    assert [ref() for ref in left] == [None, None]


def test_settings_reach_the_cache() -> None:
    assert Bakery().cache._preparation._limits == CacheSettings().conversion == ConversionLimits()
