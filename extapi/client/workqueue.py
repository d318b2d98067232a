"""A queue of work for a controller: a key waits only once, however often it is added, and returns later if its work failed.

Follows client-go's ``workqueue``. What it holds is bounded by the number of keys. Knows nothing of what keys stand for.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from math import isnan
from numbers import Real
from typing import Any, NamedTuple

from twisted.internet.defer import CancelledError, Deferred, FirstError, gatherResults
from twisted.logger import Logger

from extapi.client.transport import TransportError
from extapi.clock import Clock, Timer
from extapi.errors import ApiError

FIRST_DELAY, LAST_DELAY = 0.5, 60.0
"""Seconds until a failed key returns: after the first failure, doubled with each further one, and at most."""
NEVER = 9e9
"""Seconds, some 290 years, from which a delay has no end: the longest ``time.Duration``."""


class _Later(NamedTuple):
    """When a key is queued."""

    at: float
    timer: Timer


class WorkQueue:
    """A queue of keys: process them with :meth:`each`, or iterate over them with ``async for key in queue``.

    Neither ends by itself. A key that is added while it is processed is processed again afterwards. If you iterate over
    the queue yourself, call :meth:`done` for each key that succeeded and :meth:`retry` for each that failed.
    """

    _log = Logger()

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # In a plain dict, finding the first of many keys costs a step for each that was taken out before it.
        self._keys: OrderedDict[Hashable, None] = OrderedDict()
        self._later: dict[Hashable, _Later] = {}
        self._failures: dict[Hashable, int] = {}
        self._working: set[Hashable] = set()
        self._waiting: deque[Deferred[None]] = deque()

    def add(self, key: Hashable) -> None:
        """Queue ``key``."""
        self._keys[key] = None
        self._wake()

    def add_later(self, key: Hashable, seconds: float) -> None:
        """Queue ``key`` in ``seconds`` seconds; at once if that is not more than 0, never if it is infinite.

        A key waits only once: if it is to be queued later already, the earlier time counts.

        Args:
            key: The key.
            seconds: The delay.

        Raises:
            TypeError: ``seconds`` is not a number.
            ValueError: ``seconds`` is not a number (NaN).

        Source: ``k8s.io/client-go/util/workqueue`` delayingType.AddAfter, insert.
        """
        delay = _delay(seconds)
        if not delay:
            self.add(key)
            return
        if delay >= NEVER:
            return
        at = self._clock.seconds() + delay
        known = self._later.get(key)
        if known is not None:
            if known.at <= at:
                return
            known.timer.cancel()
        self._later[key] = _Later(at, self._clock.callLater(delay, self._due, key))

    def _due(self, key: Hashable) -> None:
        del self._later[key]
        self.add(key)

    def retry(self, key: Hashable, *, after: float = 0) -> None:
        """Queue ``key`` again after a delay, which doubles with each call until :meth:`done`, and is at least ``after`` seconds.

        If it is to be queued earlier already, as after another failure, it is queued then.
        """
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        self.add_later(key, max(_delay(after), min(FIRST_DELAY * 2 ** min(count, 10), LAST_DELAY)))

    def done(self, key: Hashable) -> None:
        """Processing ``key`` has succeeded: its next failure counts as the first."""
        self._failures.pop(key, None)

    async def each(self, work: Callable[[Any], Awaitable[float | None]], *, workers: int = 1) -> None:
        """Call ``work`` for each key until cancelled, for up to ``workers`` keys at a time, but never for the same key at once.

        A key whose work raises is queued again as :meth:`retry` does it, whatever was raised; errors that come neither
        from the API nor from the network are logged.

        Args:
            work: Processes a key. May return the number of seconds until the key is to be processed again.
            workers: How many keys may be processed at a time.

        Raises:
            ValueError: ``workers`` is less than 1.
        """
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        running = [Deferred.fromCoroutine(self._work(work)) for _ in range(workers)]
        alive = set(running)
        for each in running:
            each.addBoth(_left(alive, each))
        try:
            await gatherResults(running, consumeErrors=True)
        except FirstError as error:
            for each in list(alive):
                each.cancel()
            error.subFailure.raiseException()

    async def _work(self, work: Callable[[Any], Awaitable[float | None]]) -> None:
        """One worker."""
        while True:
            key = await self._next()
            self._working.add(key)
            try:
                again = await work(key)
                if again is not None:
                    self.add_later(key, again)
            except CancelledError:
                raise
            except ApiError as error:
                self.retry(key, after=error.retry_after)
            except TransportError:
                self.retry(key)
            except Exception:  # noqa: BLE001 - a failing key must not block the others
                self._log.failure("processing {key} failed; it will be retried", key=key)
                self.retry(key)
            else:
                self.done(key)
            finally:
                self._working.discard(key)
                if key in self._keys:
                    self._wake()

    def __len__(self) -> int:
        return len(self._keys)

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Iterate over the keys, in the order in which they were added first."""
        while True:
            yield await self._next()

    async def _next(self) -> Hashable:
        """Take out the first key that is not being processed."""
        while True:
            # At most one key per worker is skipped.
            for key in self._keys:
                if key not in self._working:
                    del self._keys[key]
                    return key
            waiting: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiting)
            await waiting

    def _wake(self) -> None:
        """Let one of the waiting workers look again."""
        if self._waiting:
            self._waiting.popleft().callback(None)


def _left(alive: set[Deferred[None]], each: Deferred[None]) -> Callable[[Any], Any]:
    """A callback that removes ``each`` from ``alive`` and passes the result on."""

    def left(result: Any) -> Any:
        alive.discard(each)
        return result

    return left


def _delay(seconds: Any) -> float:
    """A delay that somebody else has computed."""
    if isinstance(seconds, bool) or not isinstance(seconds, Real):
        raise TypeError(f"a delay is a number of seconds, not {seconds!r}")
    bounded: Any = min(max(seconds, 0), NEVER)
    delay = float(bounded)
    if isnan(delay):
        raise ValueError("a delay is a number of seconds, not NaN")
    return delay
