"""Slow clients, large beginnings, and the bounds of what is kept for them (behaviour F17)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.http.response import PIECE, Chunk
from extapi.watch.cache import CacheSettings
from extapi.watch.cachewatcher import CacheWatcher, WatchLimits
from tests.unit.watch.store import Kitchen, RecordingSink, now, over

LIMITS = WatchLimits(pending=10_000, grace=5)


@pytest.fixture
def kitchen() -> Iterator[Kitchen]:
    kitchen = Kitchen(settings=CacheSettings(limits=LIMITS))
    yield kitchen
    now(kitchen.cacher.stop())
    assert kitchen.clock.getDelayedCalls() == []
    assert len(kitchen.cache._broadcaster) == 0


def stuck() -> RecordingSink:
    sink = RecordingSink()
    sink.stuck = True
    return sink


def put_until_ended(kitchen: Kitchen) -> int:
    """Change a pizza again and again, far more than a stuck watcher may have pending."""
    for number in range(300):
        kitchen.put("one", size=number)
        kitchen.tick()
    return 300


def test_a_client_that_takes_nothing_is_ended_when_too_much_is_pending(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(sink=stuck())
    quick, _ = kitchen.watch()
    events = put_until_ended(kitchen)
    assert len(quick.take()) == events
    assert LIMITS.pending < sink.pending < LIMITS.pending + 1000
    assert (sink.aborted, over(done)) == (False, False)
    kitchen.tick(LIMITS.grace)
    assert (sink.aborted, over(done)) == (True, True)


def test_one_that_is_only_slow_gets_what_it_was_sent_and_a_clean_end(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(sink=stuck())
    put_until_ended(kitchen)
    kitchen.tick(LIMITS.grace / 2)
    sink.drain()
    assert over(done)
    assert not sink.aborted
    assert "ERROR" not in [event["type"] for event in sink.take()]


def test_one_that_goes_meanwhile_is_not_waited_for(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(sink=stuck())
    put_until_ended(kitchen)
    sink.close()
    assert over(done)
    assert not sink.aborted


def test_a_client_that_catches_up_goes_on(kitchen: Kitchen) -> None:
    sink, done = kitchen.watch(sink=stuck())
    for _ in range(5):
        for number in range(50):
            kitchen.put("one", size=number)
        kitchen.tick()
        sink.drain()
    assert not over(done)
    assert len(sink.take()) == 250


def fill(kitchen: Kitchen, count: int) -> None:
    for number in range(count):
        kitchen.put(f"p{number:04}", labels={"filling": "x" * 1000})


def test_a_large_beginning_waits_for_the_client(kitchen: Kitchen) -> None:
    fill(kitchen, 1000)
    sink, _ = kitchen.watch(sink=stuck(), initial=True, initial_end_bookmark=True)
    assert 4 * PIECE < sink.pending <= 6 * PIECE
    assert all(len(chunk.data) <= PIECE for chunk in sink.chunks)
    kitchen.put("live")
    kitchen.remove("p0999")
    kitchen.tick()
    while sink.pending:
        sink.drain()
    events = sink.take()
    assert [event["object"]["metadata"].get("name") for event in events[:1000]] == [
        f"p{number:04}" for number in range(1000)
    ]
    assert [(event["type"], event["object"]["metadata"].get("name")) for event in events[1000:]] == [
        ("BOOKMARK", None),
        ("ADDED", "live"),
        ("DELETED", "p0999"),
    ]


def test_live_events_that_wait_for_a_beginning_are_bounded(kitchen: Kitchen) -> None:
    fill(kitchen, 1000)
    sink, done = kitchen.watch(sink=stuck(), initial=True)
    put_until_ended(kitchen)
    written = len(sink.chunks)
    sink.drain()
    assert len(sink.chunks) == written
    assert over(done)
    assert not sink.aborted


def test_waiting_events_that_were_sent_make_room_for_others() -> None:
    clock, sink = Clock(), RecordingSink()
    watcher = CacheWatcher(sink, clock, 100)
    watcher.deliver([Chunk(b"12345")] * 16)
    sending: Deferred[None] = Deferred.fromCoroutine(watcher.send_initial([]))
    assert len(sink.chunks) == 15  # then others have their turn
    watcher.deliver([Chunk(b"123456789")] * 10)
    assert not watcher.slow
    clock.advance(0)
    assert sending.called
    assert len(sink.chunks) == 26


def test_a_beginning_is_interrupted_by_the_end_of_its_time(kitchen: Kitchen) -> None:
    fill(kitchen, 1000)
    sink, done = kitchen.watch(sink=stuck(), initial=True, deadline_seconds=10)
    kitchen.tick(10)
    assert over(done)
    assert len(sink.take()) < 1000


def test_a_beginning_of_many_pieces_lets_others_have_their_turn(kitchen: Kitchen) -> None:
    fill(kitchen, 2000)
    sink, _ = kitchen.watch(initial=True)
    begun = len(sink.chunks)
    assert begun == 15
    kitchen.put("live")
    for _ in range(5):
        kitchen.tick()
    told = sink.told()
    assert len(told) == 2001
    assert told[-1][1] == "live"


def test_a_peer_that_goes_ends_a_large_beginning(kitchen: Kitchen) -> None:
    fill(kitchen, 2000)
    sink, done = kitchen.watch(initial=True)
    sink.close()
    assert over(done)
    kitchen.tick()
    assert len(sink.chunks) == 15


def test_an_object_that_fails_while_a_beginning_is_written_ends_the_watch(kitchen: Kitchen) -> None:
    from tests.unit.watch.test_stream import V2  # noqa: PLC0415 -- the one test here that needs a second version

    fill(kitchen, 1000)
    sink, done = kitchen.watch(sink=stuck(), key="v2", encoder=V2, initial=True)
    kitchen.put("bad", size=13)
    kitchen.tick()
    assert sink.take()[-1]["type"] == "ERROR"
    assert over(done)
