"""Calls shared by all callers with the same key at the same time, and a cache of their answers: for reviews.

Like Go's ``golang.org/x/sync/singleflight`` and ``k8s.io/apimachinery/pkg/util/cache.LRUExpireCache``. Knows keys,
answers and a clock, not what the calls do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred, TimeoutError as CallTimeout
from twisted.python.failure import Failure

from extapi.clock import Clock, Timer, stop_timer

A = TypeVar("A")


class AnswerCache(Generic[A]):
    """A cache of answers, each with its own expiry; the least recently used one is evicted first.

    Args:
        clock: The reactor's clock.
        size: How many answers to keep.
        weight: How much all answers may weigh together, if their keys differ in size.
    """

    def __init__(self, clock: Clock, size: int, weight: float = float("inf")) -> None:
        self._clock = clock
        self._size = size
        self._capacity = weight
        self._weight = 0
        self._answers: OrderedDict[Hashable, tuple[float, A, int]] = OrderedDict()

    def get(self, key: Hashable) -> A | None:
        """The answer, if there is one that has not expired."""
        found = self._answers.get(key)
        if found is None:
            return None
        if found[0] <= self._clock.seconds():
            self._drop(key)
            return None
        self._answers.move_to_end(key)
        return found[1]

    def put(self, key: Hashable, answer: A, seconds: float, *, weight: int = 1) -> None:
        """Keep the answer for ``seconds``; not at all unless that is positive."""
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
class _SharedCall(Generic[A]):
    """A call under way. ``waiting`` is a dict used as an ordered set, because any caller may leave."""

    waiting: dict[Deferred[A], None]
    running: Deferred[A]
    timer: Timer


class SingleFlight(Generic[A]):
    """One call at a time per key: callers that join share its answer or error.

    The call continues while anyone waits for it, and is cancelled when the last waiter is; after ``limit`` seconds it
    ends for all (behaviour A25).
    """

    def __init__(self, clock: Clock, limit: float) -> None:
        self._clock = clock
        self._limit = limit
        self._calls: dict[Hashable, _SharedCall[A]] = {}

    async def join(self, key: Hashable, call: Callable[[], Awaitable[A]]) -> A:
        """The answer of the call under way for ``key``; if there is none, of ``call``.

        Raises:
            Exception: Whatever the call raises.
            TimeoutError: Twisted's: the call took too long.
        """
        mine: Deferred[A] = Deferred(lambda _: self._leave(key, mine))
        shared = self._calls.get(key)
        if shared is not None:
            shared.waiting[mine] = None
            return await mine
        running: Deferred[A] = Deferred.fromCoroutine(_awaited(call))
        if running.called:
            return await running
        timer = self._clock.callLater(self._limit, self._late, key)
        self._calls[key] = shared = _SharedCall({mine: None}, running, timer)
        running.addBoth(self._ended, key, shared)
        return await mine

    def _ended(self, result: A | Failure, key: Hashable, shared: _SharedCall[A]) -> None:
        # A call that all have left is forgotten, and there may be a new one for the key.
        if self._calls.get(key) is shared:
            self._remove(key, shared)
            for each in list(shared.waiting):
                if not each.called:
                    each.callback(result)

    def _late(self, key: Hashable) -> None:
        shared = self._calls[key]
        self._remove(key, shared)
        for each in list(shared.waiting):
            if not each.called:
                each.errback(CallTimeout(self._limit, "Deferred"))
        shared.running.cancel()

    def _leave(self, key: Hashable, mine: Deferred[A]) -> None:
        shared = self._calls.get(key)
        if shared is None or mine not in shared.waiting:
            return  # the call has ended and is telling all waiters
        del shared.waiting[mine]
        if not shared.waiting:
            self._remove(key, shared)
            shared.running.cancel()

    def _remove(self, key: Hashable, shared: _SharedCall[A]) -> None:
        del self._calls[key]
        stop_timer(shared.timer)


async def to_the_end(running: Deferred[A]) -> A:
    """Wait for a result even if the waiter is cancelled meanwhile.

    Raises:
        twisted.internet.defer.CancelledError: The waiter was cancelled, and ``running`` failed.
        Exception: The failure of ``running`` otherwise.
    """
    outcome: list[A | Failure] = []
    turn: Deferred[None] = Deferred()

    def tell(result: A | Failure) -> None:
        outcome.append(result)
        if not turn.called:
            turn.callback(None)

    # Taken by a callback, and not awaited afterwards: this coroutine continues from within that callback, where a Deferred
    # that failed cannot be awaited yet.
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
