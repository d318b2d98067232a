"""Answers shared by everybody who asks the same at the same time, and kept for a while: reviews of tokens and of access.

Knows keys, answers and a clock; must not know what is asked.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from extapi.client.clock import Clock

A = TypeVar("A")


class AnswerCache(Generic[A]):
    """At most ``size`` answers, the one unused for longest goes first; each until its own time is over."""

    def __init__(self, clock: Clock, size: int) -> None:
        self._clock = clock
        self._size = size
        self._answers: OrderedDict[Hashable, tuple[float, A]] = OrderedDict()

    def get(self, key: Hashable) -> A | None:
        """The answer, if one is kept."""
        found = self._answers.get(key)
        if found is None:
            return None
        if found[0] <= self._clock.seconds():
            del self._answers[key]
            return None
        self._answers.move_to_end(key)
        return found[1]

    def put(self, key: Hashable, answer: A, seconds: float) -> None:
        """Keep the answer for ``seconds``; not at all if that is not positive."""
        if seconds <= 0:
            return
        self._answers[key] = (self._clock.seconds() + seconds, answer)
        self._answers.move_to_end(key)
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)


class Flights(Generic[A]):
    """One call at a time for each key. Who joins shares the answer, or the error.

    The call goes on when somebody who waits for it gives up; ``limit`` seconds end it for all (spec A25).
    """

    def __init__(self, clock: Clock, limit: float) -> None:
        self._clock = clock
        self._limit = limit
        self._waiting: dict[Hashable, list[Deferred[A]]] = {}

    async def join(self, key: Hashable, call: Callable[[], Awaitable[A]]) -> A:
        """The answer of the call that is under way for ``key``, or of ``call``. Raises what the call raises."""
        mine: Deferred[A] = Deferred()
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append(mine)
        else:
            self._waiting[key] = [mine]
            flight: Deferred[A] = Deferred.fromCoroutine(_awaited(call))
            clock: Any = self._clock
            flight.addTimeout(self._limit, clock)
            flight.addBoth(self._landed, key)
        return await mine

    def _landed(self, result: A | Failure, key: Hashable) -> None:
        for each in self._waiting.pop(key):
            if not each.called:
                each.callback(result)


async def _awaited(call: Callable[[], Awaitable[A]]) -> A:
    return await call()
