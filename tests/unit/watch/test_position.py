from __future__ import annotations

from collections.abc import Callable

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from extapi.errors import Timeout, TooManyRequests
from extapi.storage.base import Unavailable
from extapi.storage.memory import MemoryBackend
from extapi.watch.position import Position
from tests.unit.watch.store import caught, now, over


class RESTRequest(MemoryBackend):
    """Tells a test when a progress mark is asked for."""

    answer: Callable[[], None] = staticmethod(lambda: None)

    async def progress(self) -> None:
        self.answer()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def backend(clock: Clock) -> RESTRequest:
    return RESTRequest(clock)


@pytest.fixture
def position(clock: Clock, backend: RESTRequest) -> Position:
    position = Position(backend, clock)
    position.mark_ready(10)
    return position


def test_what_is_reached_is_not_waited_for(position: Position, clock: Clock) -> None:
    now(position.at_least(10))
    assert clock.getDelayedCalls() == []


def test_a_mark_that_comes_when_asked_for_is_enough(position: Position, backend: RESTRequest, clock: Clock) -> None:
    backend.answer = lambda: position.advance(12)
    now(position.at_least(11))
    assert clock.getDelayedCalls() == []


def test_waiters_go_on_when_their_revision_is_reached(position: Position, clock: Clock) -> None:
    eleven = Deferred.fromCoroutine(position.at_least(11))
    twelve = Deferred.fromCoroutine(position.at_least(12))
    clock.advance(2.9)
    position.advance(11)
    assert (over(eleven), over(twelve)) == (True, False)
    position.advance(12)
    assert over(twelve)
    assert clock.getDelayedCalls() == []


def test_after_three_seconds_the_revision_is_too_large(position: Position, clock: Clock) -> None:
    waiting = Deferred.fromCoroutine(position.at_least(99))
    errors = caught(waiting)
    clock.advance(2.99)
    assert errors == []
    clock.advance(0.02)
    (error,) = errors
    assert isinstance(error, Timeout)
    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Timeout: Too large resource version: 99, current: 10",
        "reason": "Timeout",
        "details": {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
        "code": 504,
    }
    position.advance(99)


def test_a_store_that_cannot_be_asked_may_still_bring_it(position: Position, backend: RESTRequest) -> None:
    def fail() -> None:
        raise Unavailable("not now")

    backend.answer = fail
    waiting = Deferred.fromCoroutine(position.at_least(11))
    position.advance(11)
    assert over(waiting)


def test_one_that_is_shut_refuses_at_once_and_after_a_wait(position: Position, clock: Clock) -> None:
    waiting = Deferred.fromCoroutine(position.at_least(11))
    errors = caught(waiting)
    position.mark_unready()
    with pytest.raises(TooManyRequests):
        now(position.at_least(1))
    position.advance(11)
    assert not errors
    clock.advance(3)
    assert isinstance(errors[0], TooManyRequests)


def test_opening_again_wakes_those_who_wait(position: Position) -> None:
    waiting = Deferred.fromCoroutine(position.at_least(11))
    position.mark_unready()
    position.mark_ready(12)
    assert over(waiting)


def test_one_that_shuts_while_it_is_asked_refuses(position: Position, backend: RESTRequest) -> None:
    def shut() -> None:
        position.mark_unready()
        position.revision = 50

    backend.answer = shut
    with pytest.raises(TooManyRequests):
        now(position.at_least(11))


def test_who_is_cancelled_waits_no_more(position: Position, clock: Clock) -> None:
    waiting = Deferred.fromCoroutine(position.at_least(11))
    errors = caught(waiting)
    waiting.cancel()
    assert isinstance(errors[0], CancelledError)
    assert clock.getDelayedCalls() == []
    position.advance(11)
