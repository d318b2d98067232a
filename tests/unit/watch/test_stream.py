"""The rules of behaviour F, each on a real store and cache; only the socket is a sink that remembers.

Each story is told twice: of commits of this process, and of those of another one, whose log comes late.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.watch.cache import CacheSettings
from extapi.watch.encoding import ObjectEncoder
from extapi.watch.history import HistorySettings
from tests.unit.watch.store import Kitchen, LaggingKitchen, RecordingSink, caught, now, over, select

V2 = ObjectEncoder("v2", "food.example/v2", "Pizza")


@pytest.fixture(params=[Kitchen, LaggingKitchen])
def kitchen(request: pytest.FixtureRequest) -> Iterator[Kitchen]:
    kitchen: Kitchen = request.param()
    yield kitchen
    now(kitchen.cacher.stop())
    assert kitchen.clock.getDelayedCalls() == []
    assert len(kitchen.cache._broadcaster) == 0
    assert kitchen.cache._broadcaster._streams == {}


def test_events_have_the_object_in_the_version_and_end_in_a_newline(kitchen: Kitchen) -> None:
    sink, _ = kitchen.watch(key="v2", encoder=V2)
    revision = kitchen.put("one", size=4)
    kitchen.tick()
    assert sink.data.endswith(b"}\n")
    assert sink.take() == [
        {
            "type": "ADDED",
            "object": {
                "apiVersion": "food.example/v2",
                "kind": "Pizza",
                "metadata": {"name": "one", "namespace": "a", "resourceVersion": str(revision)},
                "spec": {"size": "4"},
            },
        }
    ]


def test_changes_come_in_order_with_their_revisions(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch()
    first = kitchen.put("one")
    kitchen.put("one", size=2)
    kitchen.put("two")
    kitchen.tick()
    kitchen.remove("one")
    kitchen.tick()
    told = sink.told()
    assert [(kind, name, int(revision) - first) for kind, name, revision in told] == [
        ("ADDED", "one", 0),
        ("MODIFIED", "one", 1),
        ("ADDED", "two", 2),
        ("DELETED", "one", 3),
    ]
    assert not over(done)


def test_a_deleted_object_is_shown_as_it_was(kitchen: Kitchen) -> None:
    kitchen.put("one", size=7)
    sink, _ = kitchen.watch()
    revision = kitchen.remove("one")
    kitchen.tick()
    (event,) = sink.take()
    assert event["type"] == "DELETED"
    assert event["object"]["spec"] == {"size": 7}
    assert event["object"]["metadata"]["resourceVersion"] == str(revision)


@pytest.mark.parametrize("kitchen", [Kitchen], indirect=True)  # those of another process may come in several turns
def test_one_write_a_turn(kitchen: Kitchen) -> None:
    sink, _ = kitchen.watch()
    for number in range(5):
        kitchen.put(f"p{number}")
    assert sink.chunks == []
    kitchen.tick()
    assert len(sink.chunks) == 1
    assert len(sink.take()) == 5


def test_initial_events_are_all_objects_then_live_without_gap_or_repeat(kitchen: Kitchen) -> None:
    kitchen.put("one")
    kitchen.put("two")
    earlier, _ = kitchen.watch()
    kitchen.put("three")  # not told to anybody yet when the second watch begins
    sink, _ = kitchen.watch(initial=True)
    kitchen.put("four")
    kitchen.tick()
    assert [(kind, name) for kind, name, _ in sink.told()] == [
        ("ADDED", "one"),
        ("ADDED", "three"),
        ("ADDED", "two"),
        ("ADDED", "four"),
    ]
    assert [name for _, name, _ in earlier.told()] == ["three", "four"]


def test_the_end_of_the_initial_events_is_an_annotated_bookmark(kitchen: Kitchen) -> None:
    kitchen.put("one")
    kitchen.put("two")
    kitchen.remove("two")
    sink, _ = kitchen.watch(initial=True, initial_end_bookmark=True)
    added, bookmark = sink.take()
    assert added["type"] == "ADDED"
    assert bookmark == {
        "type": "BOOKMARK",
        "object": {
            "kind": "Pizza",
            "apiVersion": "food.example/v1",
            "metadata": {
                "resourceVersion": str(kitchen.first + 3),
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
        },
    }


def test_without_a_revision_it_begins_now(kitchen: Kitchen) -> None:
    kitchen.put("one")
    sink, _ = kitchen.watch()
    zero, _ = kitchen.watch(since=0)
    kitchen.put("two")
    kitchen.tick()
    assert [name for _, name, _ in sink.told()] == [name for _, name, _ in zero.told()] == ["two"]


def test_a_watch_goes_on_after_a_revision(kitchen: Kitchen) -> None:
    first = kitchen.put("one")
    kitchen.put("one", size=2)
    kitchen.put("two")
    sink, _ = kitchen.watch(since=first)
    kitchen.put("three")
    kitchen.tick()
    assert sink.told() == [
        ("MODIFIED", "one", str(first + 1)),
        ("ADDED", "two", str(first + 2)),
        ("ADDED", "three", str(first + 3)),
    ]


def test_it_goes_on_after_a_restart_from_before_it(kitchen: Kitchen) -> None:
    first = kitchen.put("one")
    kitchen.put("two")
    kitchen.remove("one")
    now(kitchen.cacher.stop())
    kitchen.open()
    sink, _ = kitchen.watch(since=first)
    assert sink.told() == [("ADDED", "two", str(first + 1)), ("DELETED", "one", str(first + 2))]


def test_a_revision_that_is_too_old_is_an_error_event_and_the_end(kitchen: Kitchen) -> None:
    now(kitchen.cacher.stop())
    kitchen.settings = CacheSettings(HistorySettings(min_events=1, max_events=1))
    kitchen.open()
    first = kitchen.put("one")
    kitchen.put("two")
    kitchen.put("three")
    sink, done = kitchen.watch(since=first)
    assert sink.take() == [
        {
            "type": "ERROR",
            "object": {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": f"too old resource version: {first} ({first + 1})",
                "reason": "Expired",
                "code": 410,
            },
        }
    ]
    assert over(done)


def test_a_revision_in_the_future_waits_and_then_tells_only_what_is_after_it(kitchen: Kitchen) -> None:
    first = kitchen.put("one")
    sink, done = kitchen.watch(since=first + 2, bookmarks=True)
    kitchen.tick(100)
    for name in ("two", "three", "four"):
        kitchen.put(name)
    kitchen.tick()
    assert sink.told() == [("ADDED", "four", str(first + 3))]
    assert not over(done)


def test_a_watch_that_waits_for_the_future_ends_in_time(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(since=kitchen.first + 9, deadline_seconds=10)
    kitchen.tick(10)
    assert over(done)
    assert sink.chunks == []


def test_initial_events_from_the_future_are_an_error_after_three_seconds(kitchen: Kitchen) -> None:
    current = kitchen.put("one")
    sink, done = kitchen.watch(initial=True, since=current + 5)
    kitchen.tick(2.9)
    assert sink.chunks == []
    kitchen.tick(0.2)
    (event,) = sink.take()
    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 504
    assert event["object"]["message"] == f"Timeout: Too large resource version: {current + 5}, current: {current}"
    assert event["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert over(done)


def test_initial_events_wait_for_their_revision(kitchen: Kitchen) -> None:
    current = kitchen.put("one")
    sink, _ = kitchen.watch(initial=True, since=current + 1)
    kitchen.put("two")
    kitchen.tick(0.1)
    assert [name for _, name, _ in sink.told()] == ["one", "two"]


def test_a_watch_that_ends_while_it_waits_for_its_revision_says_nothing(kitchen: Kitchen) -> None:
    current = kitchen.put("one")
    sink, done = kitchen.watch(initial=True, since=current + 1, deadline_seconds=1)
    kitchen.tick(2)
    kitchen.put("two")
    assert over(done)
    assert sink.chunks == []


# -- selections


def test_objects_come_into_and_leave_a_selection(kitchen: Kitchen) -> None:
    sink, _ = kitchen.watch(select(labels="hot=yes"))
    kitchen.put("never", labels={"hot": "no"})
    kitchen.put("never", labels={"hot": "no"}, size=2)
    kitchen.remove("never")
    start = kitchen.put("one", labels={"hot": "no"})
    kitchen.put("one", labels={"hot": "yes"}, size=2)
    kitchen.put("one", labels={"hot": "yes"}, size=3)
    kitchen.put("one", labels={"hot": "no"}, size=4)
    kitchen.put("one", labels={"hot": "yes"}, size=5)
    kitchen.remove("one")
    kitchen.tick()
    events = sink.take()
    assert [
        (event["type"], event["object"]["spec"]["size"], int(event["object"]["metadata"]["resourceVersion"]) - start)
        for event in events
    ] == [("ADDED", 2, 1), ("MODIFIED", 3, 2), ("DELETED", 3, 3), ("ADDED", 5, 4), ("DELETED", 5, 5)]
    assert events[2]["object"]["metadata"]["labels"] == {"hot": "yes"}


@pytest.mark.parametrize("options", [{"initial": True}, {"since": 0}, {}])
def test_a_selection_holds_from_the_beginning(kitchen: Kitchen, options: dict[str, Any]) -> None:
    kitchen.put("one", "a")
    kitchen.put("one", "b")
    if "since" in options:
        options = {"since": kitchen.first}
    sink, _ = kitchen.watch(select("b", fields="metadata.name=one"), **options)
    kitchen.put("two", "b")
    kitchen.put("one", "a", size=2)
    kitchen.put("one", "b", size=2)
    kitchen.tick()
    told = [(event["type"], event["object"]["metadata"]["namespace"]) for event in sink.take()]
    assert told == ([("ADDED", "b")] if options else []) + [("MODIFIED", "b")]


# -- time


def test_a_watch_ends_cleanly_in_time(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(deadline_seconds=30)
    kitchen.tick(29.9)
    assert not over(done)
    kitchen.tick(0.1)
    assert over(done)
    assert (sink.chunks, sink.aborted) == ([], False)


@pytest.mark.parametrize("seconds", [0, -5])
def test_no_time_is_the_end_at_once(kitchen: Kitchen, seconds: float) -> None:
    kitchen.put("one")
    sink, done = kitchen.watch(initial=True, deadline_seconds=seconds)
    assert over(done)
    assert sink.chunks == []


def test_bookmarks_come_every_minute_and_before_the_end(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(bookmarks=True, deadline_seconds=150)
    kitchen.tick(59)
    assert sink.chunks == []
    revision = kitchen.put("one")
    kitchen.tick(1)
    added, bookmark = sink.take()
    assert added["type"] == "ADDED"
    assert bookmark == {
        "type": "BOOKMARK",
        "object": {"kind": "Pizza", "apiVersion": "food.example/v1", "metadata": {"resourceVersion": str(revision)}},
    }
    kitchen.tick(60)
    assert [event["type"] for event in sink.take()] == ["BOOKMARK"]
    kitchen.tick(27.9)
    assert sink.chunks == []
    kitchen.tick(0.2)
    assert [event["type"] for event in sink.take()] == ["BOOKMARK"]
    assert not over(done)
    kitchen.tick(2)
    assert over(done)
    assert sink.chunks == []


def test_a_bookmark_comes_after_the_events_that_it_covers(kitchen: Kitchen) -> None:
    sink, _ = kitchen.watch(bookmarks=True)
    kitchen.tick(59.9)
    kitchen.clock.callLater(0.1, kitchen.put, "one")  # in the very turn of the bookmark, but after it
    kitchen.clock.callLater(0.05, kitchen.put, "two")
    kitchen.tick(0.1)
    told = sink.told()
    assert [(kind, name) for kind, name, _ in told] == [("ADDED", "two"), ("BOOKMARK", ""), ("ADDED", "one")]
    assert told[1][2] == told[0][2] < told[2][2]


def test_the_events_before_a_bookmark_may_be_the_end(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(key="v2", encoder=V2, bookmarks=True)
    kitchen.tick(59.9)
    kitchen.clock.callLater(0.05, kitchen.put, "bad", size=13)
    kitchen.tick(0.1)
    assert [event["type"] for event in sink.take()] == ["ERROR"]
    assert over(done)


def test_there_are_no_bookmarks_unless_asked_for(kitchen: Kitchen) -> None:
    sink, _ = kitchen.watch()
    kitchen.tick(200)
    assert sink.chunks == []


def test_the_peer_goes(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(bookmarks=True)
    sink.close()
    assert over(done)
    kitchen.put("one")
    kitchen.tick(100)
    assert sink.chunks == []


def test_the_listener_cancels(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(bookmarks=True)
    errors = caught(done)
    done.cancel()
    assert isinstance(errors[0], CancelledError)
    kitchen.put("one")
    kitchen.tick(100)
    assert sink.chunks == []


# -- what cannot be shown


def test_an_object_that_cannot_be_shown_ends_the_watches_that_would_see_it(kitchen: Kitchen) -> None:
    bad, bad_done = kitchen.watch(key="v2", encoder=V2)
    other, other_done = kitchen.watch(select("b"), key="v2", encoder=V2)
    stored, stored_done = kitchen.watch()
    kitchen.put("good")
    kitchen.put("bad", size=13)
    kitchen.put("after")
    kitchen.tick()
    events = bad.take()
    assert [event["type"] for event in events] == ["ADDED", "ERROR"]
    assert events[1]["object"]["code"] == 500
    assert events[1]["object"]["message"] == "no such size in v2"
    assert (over(bad_done), over(other_done), over(stored_done)) == (True, False, False)
    assert other.chunks == []
    assert len(stored.take()) == 3


def test_one_that_cannot_be_shown_ends_the_watch_at_its_first_event(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(key="v2", encoder=V2)
    kitchen.put("bad", size=13)
    kitchen.tick()
    assert [event["type"] for event in sink.take()] == ["ERROR"]
    assert over(done)


def test_one_that_cannot_be_shown_ends_the_initial_events(kitchen: Kitchen) -> None:
    kitchen.put("a-good")
    kitchen.put("bad", size=13)
    kitchen.put("c-good")
    sink, done = kitchen.watch(key="v2", encoder=V2, initial=True, initial_end_bookmark=True)
    assert [event["type"] for event in sink.take()] == ["ADDED", "ERROR"]
    assert over(done)


def test_a_bug_in_a_renderer_ends_its_watches_only(kitchen: Kitchen) -> None:
    class Broken(ObjectEncoder):
        def event(self, kind: str, cached: Any, revision: int, *, first: bool = False) -> bytes:
            raise ZeroDivisionError("secret")

    sink, done = kitchen.watch(key="broken", encoder=Broken("v1", "food.example/v1", "Pizza"))
    well, well_done = kitchen.watch()
    kitchen.put("one")
    kitchen.tick()
    (event,) = sink.take()
    assert event["object"]["reason"] == "InternalError"
    assert "secret" not in json.dumps(event)
    assert over(done)
    assert len(well.take()) == 1
    assert not over(well_done)


def test_a_watch_accepted_before_the_log_broke_off_is_refused_in_the_stream(kitchen: Kitchen) -> None:
    stream = kitchen.cache.watch(select(), "v1", V2, initial=True)
    kitchen.cacher._interrupt()
    sink = RecordingSink()

    async def run() -> None:
        await stream(sink)

    done = Deferred.fromCoroutine(run())
    (event,) = sink.take()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 429)
    assert over(done)
