"""The tail of a watch, with a log that is played by hand: marks, holes, repeats, late tails, and every way to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.storage.base import Batch, Compacted, Future, LogEvent, Unavailable
from extapi.storage.etcd import wire
from extapi.storage.etcd.times import TOLD_SECONDS
from extapi.storage.etcd.watch import WatchTail
from tests.unit.storage.etcd.test_wire import field, header, kv
from tests.unit.watch.store import caught, now, over


class Stream:
    """The call of a watch."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.cancelled = False

    def send(self, message: bytes, *, last: bool = False) -> None:
        self.sent.append(message)

    def cancel(self) -> None:
        self.cancelled = True


class PlayedLog:
    """What the backend does for a tail."""

    def __init__(self, current: int = 10) -> None:
        self.clock = Clock()
        self.current = current
        self.oldest = 1
        self.refusal: Exception | None = None
        self.stream = Stream()
        self.tails: list[WatchTail] = []
        self.start = 0
        self.offset = 0
        self.marks: list[wire.Entry] = []
        self.raised: Exception | None = None
        self.highest = 0
        self.changes: list[int] = []
        self.refused_for: list[tuple[Any, str]] = []

    async def begins(self, tail: WatchTail, after: int) -> int:
        self.tails.append(tail)
        if self.refusal is not None:
            raise self.refusal
        return self.current

    async def watch(self, start: int, message: Callable[[bytes], None], end: Callable[[Exception | None], None]) -> Any:
        self.start, self.message, self.end = start, message, end
        return self.stream

    def refused(self, call: Any, reason: str) -> None:
        self.refused_for.append((call, reason))

    def key(self, full: bytes) -> bytes | None:
        return full.removeprefix(b"/p") if full.startswith(b"/p/") else None

    def noticed(self, event: wire.EtcdEvent) -> None:
        self.marks.append(event.entry)
        if self.raised is not None:
            for tail in tuple(self.tails):
                tail.end(self.raised)

    def changed(self, event: wire.EtcdEvent) -> None:
        self.changes.append(event.entry.revision)

    def seen(self, revision: int) -> None:
        self.highest = revision

    def compacted(self, oldest: int) -> int:
        self.oldest = max(self.oldest, oldest)
        return self.oldest

    def ended(self, tail: WatchTail) -> None:
        self.tails.remove(tail)

    def tail(self, after: int) -> tuple[WatchTail, list[Batch], Deferred[None]]:
        """A tail that is read."""
        tail = WatchTail(self, self.clock, after)
        batches: list[Batch] = []

        async def follow() -> None:
            async for batch in tail:
                batches.append(batch)  # noqa: PERF401 - each as it comes

        return tail, batches, Deferred.fromCoroutine(follow())

    def created(self) -> None:
        self.message(header(self.current) + field(3, 1))

    def mark(self, revision: int) -> None:
        self.message(header(revision) + field(2, -1))

    def put(self, *revisions: int, value: bytes = b"v", fragment: bool = False) -> None:
        events = b"".join(field(11, field(2, kv(b"/p/a", value, revision))) for revision in revisions)
        self.message(header(10**6) + field(7, fragment) + events)


def put(revision: int) -> LogEvent:
    return LogEvent(revision, b"/a", b"v", None)


def test_the_past_comes_first_and_a_mark_says_where_it_ends() -> None:
    log = PlayedLog(10)
    tail, batches, _ = log.tail(3)
    assert log.start == 4
    assert log.stream.sent == []
    log.created()
    assert batches == []  # the revision of that answer is ahead of what was sent
    assert log.stream.sent == [wire.WATCH_PROGRESS]
    log.put(5, 7)  # and so is that of an answer with events
    assert batches == [Batch([put(5), put(7)], 7)]
    log.clock.advance(0.1)
    assert log.stream.sent == [wire.WATCH_PROGRESS] * 2  # a watch that catches up drops the question
    log.mark(12)
    assert batches[1:] == [Batch([], 12)]
    log.clock.advance(10)
    assert log.stream.sent == [wire.WATCH_PROGRESS] * 2
    assert log.clock.getDelayedCalls() == []
    tail.close()


def test_marks_that_say_nothing_new_are_dropped() -> None:
    log = PlayedLog(3)
    _, batches, _ = log.tail(3)
    log.created()
    assert log.stream.sent == []
    log.mark(3)
    log.mark(2)
    assert batches == []


def test_changes_that_come_twice_are_given_once() -> None:
    """Etcd issue 20221."""
    log = PlayedLog()
    _, batches, _ = log.tail(3)
    log.put(4, 5)
    log.put(4, 5, 6)
    log.put(6)
    assert [[change.revision for change in batch.changes] for batch in batches] == [[4, 5], [6]]


def test_two_changes_of_one_transaction_are_both_given() -> None:
    log = PlayedLog()
    _, batches, _ = log.tail(3)
    log.put(4, 4)
    assert [change.revision for change in batches[0].changes] == [4, 4]


def test_an_answer_in_fragments_is_one_batch() -> None:
    log = PlayedLog()
    _, batches, _ = log.tail(3)
    log.put(4, fragment=True)
    log.put(5, fragment=True)
    assert batches == []
    log.put(6)
    assert batches == [Batch([put(4), put(5), put(6)], 6)]


def test_a_delete_has_the_value_before() -> None:
    log = PlayedLog()
    _, batches, _ = log.tail(3)
    gone = field(1, 1) + field(2, kv(b"/p/a", b"", 5)) + field(3, kv(b"/p/a", b"old", 4))
    log.message(header(9) + field(11, gone))
    assert batches == [Batch([LogEvent(5, b"/a", None, b"old")], 5)]


def test_a_delete_whose_value_was_compacted_ends_the_tail() -> None:
    """Kubernetes issue 123072: what was deleted cannot be told."""
    log = PlayedLog()
    _, batches, done = log.tail(3)
    errors = caught(done)
    log.message(header(9) + field(11, field(1, 1) + field(2, kv(b"/p/a", b"", 5))))
    assert [type(error) for error in errors] == [Compacted]
    assert batches == []


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (field(4, 1) + field(5, 30), Compacted, "oldest kept is 30"),
        (field(4, 1) + field(6, b"etcdserver: no leader"), Unavailable, "etcdserver: no leader"),
        (b"\xff", Unavailable, "something else"),
    ],
)
def test_etcd_ends_the_watch(answer: bytes, kind: type[Exception], text: str) -> None:
    log = PlayedLog()
    _, _, done = log.tail(3)
    errors = caught(done)
    log.created()
    log.put(4)
    log.message(header(9) + answer)
    assert [type(error) for error in errors] == [kind]
    assert text in str(errors[0])
    assert log.tails == []
    assert log.clock.getDelayedCalls() == []
    log.put(5)  # what is still on its way is nobody's


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (field(4, 1) + field(6, b"etcdserver: invalid auth token"), True),
        (field(4, 1) + field(6, b"etcdserver: no leader"), True),
        (b"\xff", True),
        (field(4, 1) + field(5, 30), False),  # what is compacted is so everywhere
    ],
)
def test_what_another_connection_may_mend_is_told(answer: bytes, left: bool) -> None:
    log = PlayedLog()
    _, _, done = log.tail(3)
    caught(done)
    log.message(header(9) + answer)
    assert [call for call, _ in log.refused_for] == [log.stream] * left


@pytest.mark.parametrize("reason", [b"invalid auth token", b"revision of auth store is old", b"user name is empty"])
def test_a_watch_that_needs_a_new_token_is_begun_again_once(reason: bytes) -> None:
    refusal = header(9) + field(3, 1) + field(4, 1) + field(6, b"rpc error: etcdserver: " + reason)
    log = PlayedLog()
    _, batches, done = log.tail(3)
    errors = caught(done)
    first, log.stream, log.start = log.stream, Stream(), 0
    log.message(refusal)
    assert [call for call, _ in log.refused_for] == [first]
    assert (first.cancelled, log.start) == (True, 4)
    log.created()
    log.put(4)
    assert batches == [Batch([put(4)], 4)]
    log.message(refusal)
    assert [type(error) for error in errors] == [Unavailable]
    assert [call for call, _ in log.refused_for] == [first, log.stream]


def test_any_answer_is_a_sign_of_life() -> None:
    log = PlayedLog(3)
    tail = WatchTail(log, log.clock, 3)
    with pytest.raises(Unavailable, match="has not begun"):
        now(tail.ask())
    tail, batches, done = log.tail(3)
    caught(done)
    log.created()
    one = Deferred.fromCoroutine(tail.ask())
    assert log.stream.sent == [wire.WATCH_PROGRESS]
    assert not over(one)
    log.mark(3)  # which says nothing new
    assert over(one)
    assert batches == []
    two = Deferred.fromCoroutine(tail.ask())
    three = Deferred.fromCoroutine(tail.ask())
    log.put(4)
    assert (over(two), over(three)) == (True, True)
    four = Deferred.fromCoroutine(tail.ask())
    errors = caught(four)
    log.end(Exception("lost"))
    assert [type(error) for error in errors] == [Unavailable]
    with pytest.raises(Unavailable, match="has ended"):
        now(tail.ask())


def test_a_connection_that_breaks_ends_the_tail_after_what_came() -> None:
    log = PlayedLog()
    tail = WatchTail(log, log.clock, 3)
    first = Deferred.fromCoroutine(tail.__anext__())
    log.put(4)
    assert over(first)
    log.put(5)
    log.end(Exception("lost"))
    assert now(tail.__anext__()) == Batch([put(5)], 5)
    with pytest.raises(Unavailable, match="broke off: lost"):
        now(tail.__anext__())
    with pytest.raises(StopAsyncIteration):
        now(tail.__anext__())


@pytest.mark.parametrize("error", [Compacted(5), Future(2), Unavailable("no route")])
def test_a_tail_that_cannot_begin_says_why(error: Exception) -> None:
    log = PlayedLog()
    log.refusal = error
    _, _, done = log.tail(3)
    assert caught(done) == [error]
    assert log.tails == []


def test_revisions_are_those_of_etcd_and_the_offset() -> None:
    log = PlayedLog(1_010)
    log.offset = 1_000
    tail, batches, _ = log.tail(1_003)
    assert log.start == 4
    log.created()
    log.put(3, 5)
    log.mark(12)
    assert batches == [Batch([put(1_005)], 1_005), Batch([], 1_012)]
    assert log.highest == 1_012
    assert now(tail.reached(1_012)) is None
    tail.close()


def test_the_mark_is_watched_along_and_is_no_change() -> None:
    """What comes before a new numbering is given, what comes after it is not: it has other numbers."""
    log = PlayedLog()
    tail, batches, done = log.tail(3)
    errors = caught(done)
    marked = field(11, field(2, kv(b"/mark", b"{}", 6)))
    log.message(
        header(9) + field(11, field(2, kv(b"/p/a", b"v", 5))) + marked + field(11, field(2, kv(b"/p/a", b"v", 7)))
    )
    assert batches == [Batch([put(5)], 5), Batch([put(7)], 7)]
    assert log.marks == [wire.Entry(b"/mark", b"{}", 6)]
    log.message(header(9) + field(11, field(2, kv(b"/mark", b"{}", 8))))
    assert batches[2:] == [Batch([], 8)]
    log.raised = Compacted(100)
    marked = field(11, field(2, kv(b"/mark", b"{}", 10)))
    log.message(
        header(9) + field(11, field(2, kv(b"/p/a", b"v", 9))) + marked + field(11, field(2, kv(b"/p/a", b"v", 11)))
    )
    assert batches[3:] == [Batch([put(9)], 9)]
    assert errors == [log.raised]
    tail.close()


def test_closing_lets_the_reader_go_and_cancels_the_watch() -> None:
    log = PlayedLog()
    tail, _, done = log.tail(3)
    log.created()
    tail.close()
    tail.close()
    assert over(done)
    assert log.stream.cancelled
    assert log.clock.getDelayedCalls() == []


def test_a_reader_that_is_too_far_behind_is_told() -> None:
    log = PlayedLog()
    tail = WatchTail(log, log.clock, 3)
    first = Deferred.fromCoroutine(tail.__anext__())
    log.put(4)
    assert over(first)
    for revision in range(5, 10_007):
        log.put(revision)
    with pytest.raises(Unavailable, match="10000 changes"):
        now(tail.__anext__())


def test_an_answer_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.storage.etcd.watch.BEHIND_BYTES", 1000)
    log = PlayedLog()
    _, _, done = log.tail(3)
    errors = caught(done)
    for revision in range(4, 8):
        log.put(revision, value=bytes(400), fragment=True)
    assert "more than 1000 bytes as one answer" in str(errors[0])


def test_a_commit_waits_for_the_tail_within_a_bound() -> None:
    """And then no more until the tail has caught up: a silent member costs one bound, and not one for each commit."""
    log = PlayedLog()
    tail, _, _ = log.tail(3)
    waiting = Deferred.fromCoroutine(tail.reached(11))
    assert not over(waiting)
    log.put(11)
    assert over(waiting)
    late = Deferred.fromCoroutine(tail.reached(12))
    log.clock.advance(TOLD_SECONDS)
    assert over(late)
    for revision in (13, 14):
        now(tail.reached(revision))
    log.put(12, 13)
    now(tail.reached(15))
    log.put(14, 15)
    again = Deferred.fromCoroutine(tail.reached(16))
    assert not over(again)
    tail.close()
    assert over(again)


def test_who_wants_progress_asks_until_it_comes() -> None:
    log = PlayedLog(3)
    tail, _, _ = log.tail(3)
    log.created()
    one = Deferred.fromCoroutine(tail.marked(20))
    two = Deferred.fromCoroutine(tail.marked(21))
    assert log.stream.sent == [wire.WATCH_PROGRESS]
    log.mark(20)
    assert (over(one), over(two)) == (True, False)
    log.clock.advance(0.1)
    assert log.stream.sent == [wire.WATCH_PROGRESS] * 2
    log.mark(21)
    assert over(two)
    now(tail.marked(21))
    log.clock.advance(1)
    assert log.stream.sent == [wire.WATCH_PROGRESS] * 2
