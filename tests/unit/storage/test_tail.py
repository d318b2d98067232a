"""Readers of the log: bounds, and what a reader may do meanwhile."""

from __future__ import annotations

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.storage.base import Batch, LogEvent, Unavailable
from extapi.storage.tail import LogReader, Past, Tails


class Nothing:
    """A log without a past."""

    def past(self, after: int) -> Past:
        return Past(Batch([], after), more=False)


class Broken:
    def past(self, after: int) -> Past:
        raise Unavailable("the disk is on fire")


def change(revision: int, size: int = 1) -> LogEvent:
    return LogEvent(revision, b"/a", b"x" * size, None)


def publish(tails: Tails, revision: int, size: int = 1) -> None:
    tails.publish([change(revision, size)], revision)


def asked(tail: LogReader) -> Deferred[Batch]:
    return Deferred.fromCoroutine(tail.__anext__())


def outcome(deferred: Deferred[Batch]) -> object:
    results: list[object] = []
    deferred.addCallback(results.append)
    deferred.addErrback(lambda failure: results.append(failure.value))
    return results[0] if results else None


def live(tails: Tails) -> LogReader:
    """A tail that has read its first change live."""
    tail = tails.tail(0)
    first = asked(tail)
    publish(tails, 1)
    assert outcome(first) == Batch([change(1)], 1)
    return tail


def test_a_reader_too_many_changes_behind_is_told_so_once() -> None:
    tails = Tails(Nothing(), changes=3, size=1000)
    tail, other = live(tails), live(tails)
    other.close()
    for revision in (2, 3, 4, 5):
        publish(tails, revision)
    error = outcome(asked(tail))
    assert isinstance(error, Unavailable)
    assert "more than 3 changes" in str(error)
    assert isinstance(outcome(asked(tail)), StopAsyncIteration)
    publish(tails, 6)
    assert isinstance(outcome(asked(tail)), StopAsyncIteration)


def test_at_the_bound_nothing_is_lost() -> None:
    tails = Tails(Nothing(), changes=3, size=3)
    tail = live(tails)
    for revision in (2, 3, 4):
        publish(tails, revision)
    assert [outcome(asked(tail)) for _ in range(3)] == [Batch([change(revision)], revision) for revision in (2, 3, 4)]
    # What was read counts no more.
    for revision in (5, 6, 7):
        publish(tails, revision)
    assert outcome(asked(tail)) == Batch([change(5)], 5)


def test_a_reader_too_many_bytes_behind_is_told_so() -> None:
    tails = Tails(Nothing(), changes=1000, size=100)
    tail = live(tails)
    publish(tails, 2, 60)
    publish(tails, 3, 60)
    assert isinstance(outcome(asked(tail)), Unavailable)


def test_one_batch_always_fits() -> None:
    tails = Tails(Nothing(), changes=1, size=100)
    tail = live(tails)
    tails.publish([change(2, 500), change(3)], 3)
    assert outcome(asked(tail)) == Batch([change(2, 500), change(3)], 3)


def test_marks_do_not_pile_up() -> None:
    tails = Tails(Nothing())
    tail = live(tails)
    publish(tails, 2)
    for progress in (2, 3, 3, 9):
        tails.publish([], progress)
    assert outcome(asked(tail)) == Batch([change(2)], 9)
    assert outcome(asked(tail)) is None


def test_one_reader_at_a_time() -> None:
    tails = Tails(Nothing())
    tail = tails.tail(0)
    first = asked(tail)
    assert isinstance(outcome(asked(tail)), RuntimeError)
    publish(tails, 1)
    assert outcome(first) == Batch([change(1)], 1)


def test_after_a_cancelled_reader_another_may_come() -> None:
    tails = Tails(Nothing())
    tail = tails.tail(0)
    first = asked(tail)
    first.cancel()
    assert isinstance(outcome(first), CancelledError)
    publish(tails, 1)
    assert outcome(asked(tail)) == Batch([change(1)], 1)


def test_a_log_that_cannot_be_read_ends_the_tail() -> None:
    tail = Tails(Broken()).tail(0)
    with pytest.raises(Unavailable, match="on fire"):
        tail.__anext__().send(None)
    with pytest.raises(StopAsyncIteration):
        tail.__anext__().send(None)


def test_closing_drops_what_waits_and_ending_does_not() -> None:
    tails = Tails(Nothing())
    closed, ended = live(tails), live(tails)
    assert outcome(asked(closed)) == Batch([change(1)], 1)
    publish(tails, 2)
    closed.close()
    assert isinstance(outcome(asked(closed)), StopAsyncIteration)
    tails.end()
    assert outcome(asked(ended)) == Batch([change(2)], 2)
    assert isinstance(outcome(asked(ended)), StopAsyncIteration)
