"""Answers shared by everybody who asks the same at the same time, and kept for a while: reviews of tokens and of access.

Knows keys, answers and a clock; must not know what is asked.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred, TimeoutError as FlightTimeout
from twisted.python.failure import Failure

from extapi.client.clock import Clock, Timer

A = TypeVar("A")


class AnswerCache(Generic[A]):
    """At most ``size`` answers, the one unused for longest goes first; each until its own time is over.

    ``weight``: what all of them may weigh together, where their keys differ in size.
    """

    def __init__(self, clock: Clock, size: int, weight: float = float("inf")) -> None:
        self._clock = clock
        self._size = size
        self._capacity = weight
        self._weight = 0
        self._answers: OrderedDict[Hashable, tuple[float, A, int]] = OrderedDict()

    def get(self, key: Hashable) -> A | None:
        """The answer, if one is kept."""
        found = self._answers.get(key)
        if found is None:
            return None
        if found[0] <= self._clock.seconds():
            self._drop(key)
            return None
        self._answers.move_to_end(key)
        return found[1]

    def put(self, key: Hashable, answer: A, seconds: float, *, weight: int = 1) -> None:
        """Keep the answer for ``seconds``; not at all if that is not positive."""
        if seconds <= 0:
            return
        if key in self._answers:
            self._drop(key)
        self._answers[key] = (self._clock.seconds() + seconds, answer, weight)
        self._weight += weight
        while len(self._answers) > self._size or self._weight > self._capacity:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: Hashable) -> None:
        self._weight -= self._answers.pop(key)[2]


@dataclass(slots=True, eq=False)
class _Flight(Generic[A]):
    """``waiting``: a dict used as an ordered set, since anybody may leave."""

    waiting: dict[Deferred[A], None]
    running: Deferred[A]
    timer: Timer


class Flights(Generic[A]):
    """One call at a time for each key. Who joins shares the answer, or the error.

    The call goes on as long as somebody waits for it, and is cancelled with the last of them; ``limit`` seconds end it
    for all (spec A25).
    """

    def __init__(self, clock: Clock, limit: float) -> None:
        self._clock = clock
        self._limit = limit
        self._flights: dict[Hashable, _Flight[A]] = {}

    async def join(self, key: Hashable, call: Callable[[], Awaitable[A]]) -> A:
        """The answer of the call that is under way for ``key``, or of ``call``. Raises what the call raises, or TimeoutError."""
        mine: Deferred[A] = Deferred(lambda _: self._leave(key, mine))
        flight = self._flights.get(key)
        if flight is not None:
            flight.waiting[mine] = None
            return await mine
        running: Deferred[A] = Deferred.fromCoroutine(_awaited(call))
        if running.called:
            return await running
        timer = self._clock.callLater(self._limit, self._late, key)
        self._flights[key] = flight = _Flight({mine: None}, running, timer)
        running.addBoth(self._landed, key, flight)
        return await mine

    def _landed(self, result: A | Failure, key: Hashable, flight: _Flight[A]) -> None:
        # A flight that everybody has left is forgotten, and there may be a new one for the key.
        if self._flights.get(key) is flight:
            self._end(key, flight)
            for each in list(flight.waiting):
                if not each.called:
                    each.callback(result)

    def _late(self, key: Hashable) -> None:
        flight = self._flights[key]
        self._end(key, flight)
        for each in list(flight.waiting):
            if not each.called:
                each.errback(FlightTimeout(self._limit, "Deferred"))
        flight.running.cancel()

    def _leave(self, key: Hashable, mine: Deferred[A]) -> None:
        flight = self._flights.get(key)
        if flight is None or mine not in flight.waiting:
            return  # it has landed, and is telling everybody
        del flight.waiting[mine]
        if not flight.waiting:
            self._end(key, flight)
            flight.running.cancel()

    def _end(self, key: Hashable, flight: _Flight[A]) -> None:
        del self._flights[key]
        if flight.timer.active():
            flight.timer.cancel()


async def to_the_end(running: Deferred[A]) -> A:
    """What comes of it, even if whoever waits is cancelled meanwhile; a failure is CancelledError then."""
    outcome: list[A | Failure] = []
    turn: Deferred[None] = Deferred()

    def tell(result: A | Failure) -> None:
        outcome.append(result)
        if not turn.called:
            turn.callback(None)

    # Taken by a callback, and not awaited afterwards: this goes on from within that callback, where a Deferred that
    # failed cannot be awaited yet.
    running.addBoth(tell)
    cancelled = False
    while not outcome:
        try:
            await turn
        except CancelledError:
            cancelled, turn = True, Deferred()
    result = outcome[0]
    if isinstance(result, Failure):
        if cancelled:
            raise CancelledError from result.value
        result.raiseException()
    return result


async def _awaited(call: Callable[[], Awaitable[A]]) -> A:
    return await call()
