from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from extapi.errors import BadRequest, RequestTooLarge, TooManyRequests
from extapi.listener.body import AHEAD, GRACE, RATE, BodyMemory, RequestBody


def reading(body: RequestBody, limit: int) -> list[object]:
    """Start to read; what comes of it is put into the list."""
    results: list[object] = []
    Deferred.fromCoroutine(body.read(limit)).addCallbacks(results.append, lambda failure: results.append(failure.value))
    return results


def test_body_that_is_there_is_read_without_waiting() -> None:
    wanted: list[bool] = []
    body = RequestBody(3, lambda: wanted.append(True))
    body.feed(b"ab")
    body.feed(b"c")
    body.finish()
    assert (reading(body, 3), wanted) == ([b"abc"], [])


def test_reader_wakes_when_poked_and_all_is_there() -> None:
    wanted: list[bool] = []
    body = RequestBody(0, lambda: wanted.append(True))
    results = reading(body, 10)
    assert (wanted, body.empty) == ([True], True)
    body.feed(b"ab")
    body.poke()
    body.finish()
    assert results == []
    body.poke()
    body.poke()
    assert results == [b"ab"]


@pytest.mark.parametrize(("size", "full"), [(AHEAD - 1, False), (AHEAD, True)])
def test_full_until_somebody_reads(size: int, *, full: bool) -> None:
    body = RequestBody(0, lambda: None)
    body.feed(b"x" * size)
    assert body.full is full
    reading(body, 1 << 20)
    assert not body.full


@pytest.mark.parametrize("length", [11, 0])
def test_too_large(length: int) -> None:
    body = RequestBody(length, lambda: None)
    body.feed(b"x" * 11)
    (error,) = reading(body, 10)
    assert isinstance(error, RequestTooLarge)
    assert str(error) == "Request entity too large: limit is 10"
    body.feed(b"x" * AHEAD)
    assert not body.full


def test_too_large_while_waiting() -> None:
    body = RequestBody(0, lambda: None)
    results = reading(body, 10)
    body.feed(b"x" * 10)
    body.poke()
    assert results == []
    body.feed(b"x")
    body.poke()
    assert isinstance(results[0], RequestTooLarge)


def test_failure_reaches_the_reader_once() -> None:
    body = RequestBody(5, lambda: None)
    results = reading(body, 10)
    first = BadRequest("first")
    body.fail(first)
    body.fail(BadRequest("second"))
    body.feed(b"dropped")
    body.poke()
    assert results == [first]


def test_failure_after_the_end_is_none() -> None:
    body = RequestBody(1, lambda: None)
    body.feed(b"x")
    body.finish()
    body.fail(BadRequest("late"))
    assert reading(body, 10) == [b"x"]


def test_discarded_body_takes_no_room() -> None:
    body = RequestBody(0, lambda: None)
    body.feed(b"x" * AHEAD)
    body.discard()
    body.feed(b"x" * AHEAD)
    assert not body.full


def test_a_body_that_is_waited_for_has_time_for_what_has_come() -> None:
    body = RequestBody(0, lambda: None)
    body.expect(100.0)
    assert body.due == float("inf")  # nobody waits for it
    reading(body, 1 << 20)
    assert body.due == 100.0 + GRACE
    body.feed(b"x" * (3 * RATE))
    assert body.due == 100.0 + GRACE + 3
    body.finish()
    body.poke()
    assert body.due == float("inf")


def held(memory: BodyMemory, size: int) -> tuple[RequestBody, list[object]]:
    """A body that somebody reads and of which so much has come, and what comes of it."""
    body = RequestBody(0, lambda: None)
    results = reading(body, 1 << 20)
    body.feed(b"x" * size)
    memory.hold(body, 0.0)
    return body, results


def test_what_has_ended_makes_room_for_others() -> None:
    memory = BodyMemory(100)
    for _ in range(3):
        body, results = held(memory, 80)
        assert (results, memory.total) == ([], 80)
        memory.release(body)
        memory.release(body)
        assert memory.total == 0
    _, first = held(memory, 80)
    _, second = held(memory, 30)
    assert isinstance(first[0], TooManyRequests)  # the largest goes
    assert (second, memory.total) == ([], 30)


def more(body: RequestBody) -> list[object]:
    """Start to wait for the next piece; what comes of it is put into the list."""
    results: list[object] = []
    Deferred.fromCoroutine(body.more()).addCallbacks(results.append, lambda failure: results.append(failure.value))
    return results


def test_pieces_are_given_as_they_arrive() -> None:
    wanted: list[bool] = []
    body = RequestBody(0, lambda: wanted.append(True))
    body.feed(b"a")
    body.feed(b"b")
    assert more(body) == [b"ab"]
    waiting = more(body)
    body.expect(0.0)
    assert (waiting, body.due) == ([], float("inf"))
    body.feed(b"c")
    body.poke()
    assert (waiting, body.kept) == ([b"c"], 0)
    body.feed(b"d")
    body.finish()
    assert (more(body), more(body), more(body)) == ([b"d"], [b""], [b""])


def test_a_reader_of_pieces_makes_room() -> None:
    body = RequestBody(0, lambda: None)
    body.feed(b"x" * AHEAD)
    assert body.full
    more(body)
    assert not body.full


def test_a_body_that_breaks_off_fails_its_reader_in_pieces() -> None:
    body = RequestBody(0, lambda: None)
    waiting = more(body)
    body.fail(BadRequest("unexpected EOF"))
    body.poke()
    (error,) = waiting
    assert isinstance(error, BadRequest)
