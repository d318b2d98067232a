"""A queue of work for a controller: a key waits only once, however often it is added, and returns later if its work failed.

Follows client-go's ``workqueue``. What it holds is bounded by the number of keys. Knows nothing of what keys stand for.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from math import isnan
from numbers import Real
from typing import Any, NamedTuple

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.client.transport import TransportError
from extapi.clock import Clock, Timer, sleep
from extapi.errors import ApiError

FIRST_DELAY, LAST_DELAY = 0.5, 60.0
"""Seconds until a failed key returns: after the first failure, doubled with each further one, and at most."""
MANY = 8
"""Failures of a key in a row, after some minute, from which the log tells of refusals, too: at most a line per :data:`LAST_DELAY`."""
LONGEST_ASKED = 300.0
"""Seconds after which a failed key returns even if the server asked for more."""
TURN = 0.01
"""Seconds for which keys are handed out without a turn for others: work that waits for nothing must not block the server."""
SOONEST = 0.001
"""Seconds until a key is queued whose time has passed: work for which it always has must not take the whole processor."""
NEVER = 9e9
"""Seconds, some 290 years, from which a delay has no end: the longest ``time.Duration``."""


class _Later(NamedTuple):
    """When a key is queued."""

    at: float
    timer: Timer


class _Crew:
    """The workers of one :meth:`WorkQueue.each`."""

    def __init__(self) -> None:
        self._leaving = False

    def leave(self) -> None:
        """They are being cancelled from now on. Any other CancelledError comes from what they work with."""
        self._leaving = True

    def is_leaving(self) -> bool:
        """Whether :meth:`leave` was called."""
        return self._leaving


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
        self._turn, self._told = clock.seconds(), float("-inf")
        """When others had their turn, and when the log told of failures."""
        self._stopped = False

    def add(self, key: Hashable) -> None:
        """Queue ``key``."""
        if self._stopped:
            return
        self._keys[key] = None
        self._wake()

    def add_later(self, key: Hashable, seconds: float) -> None:
        """Queue ``key`` in ``seconds`` seconds; in a millisecond if that time has passed, never if it is infinite.

        A key waits only once: if it is to be queued later already, the earlier time counts.

        Args:
            key: The key.
            seconds: The delay.

        Raises:
            TypeError: ``seconds`` is not a number.
            ValueError: ``seconds`` is not a number (NaN).

        Source: ``k8s.io/client-go/util/workqueue`` delayingType.AddAfter, insert.
        """
        delay = max(_delay(seconds), SOONEST)
        if delay >= NEVER or self._stopped:
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

    def stop(self) -> None:
        """Forget all keys, and take no more. The server stops the queues of a controller when a run of it ends."""
        self._stopped = True
        self._keys.clear()
        self._failures.clear()
        for later in self._later.values():
            later.timer.cancel()
        self._later.clear()

    async def each(self, work: Callable[[Any], Awaitable[float | None]], *, workers: int = 1) -> None:
        """Call ``work`` for each key until cancelled, for up to ``workers`` keys at a time, but never for the same key at once.

        A key whose work raises is queued again as :meth:`retry` does it, whatever was raised: also a CancelledError, if it is not
        this call that was cancelled. Errors that come neither from the API nor from the network are logged; the others, if a
        key goes on failing. If this is cancelled, it returns when all workers have ended.

        Args:
            work: Processes a key. May return the number of seconds until the key is to be processed again.
            workers: How many keys may be processed at a time.

        Raises:
            ValueError: ``workers`` is less than 1.
        """
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        crew = _Crew()
        over: Deferred[None] = Deferred()
        running = [Deferred.fromCoroutine(self._work(work, crew)) for _ in range(workers)]
        for each in running:
            each.addErrback(_ending(over))
        try:
            await over
        except Exception:
            crew.leave()
            for each in running:
                each.cancel()
            await DeferredList(running)
            raise

    async def _work(self, work: Callable[[Any], Awaitable[float | None]], crew: _Crew) -> None:
        """One worker."""
        while not crew.is_leaving():
            key = await self._next()
            self._working.add(key)
            try:
                again = await work(key)
                if again is not None:
                    self.add_later(key, again)
            except GeneratorExit:  # nobody waits for it any more
                raise
            except BaseException as error:  # whatever an author's code raises, a failing key must not block the others
                if crew.is_leaving() and isinstance(error, CancelledError):
                    raise
                self._failed(key, error)
            else:
                self.done(key)
            finally:
                self._working.discard(key)
                if key in self._keys:
                    self._wake()

    def _failed(self, key: Hashable, error: BaseException) -> None:
        """The work on a key has raised."""
        self.retry(key, after=min(error.retry_after, LONGEST_ASKED) if isinstance(error, ApiError) else 0)
        if not isinstance(error, ApiError | TransportError):
            self._log.failure("processing {key} failed; it will be retried", key=key)
            return
        times, now = self._failures.get(key, 0), self._clock.seconds()
        if times >= MANY and now - self._told >= LAST_DELAY:
            self._told = now
            self._log.warn(
                "processing {key} has failed {times} times in a row, the last time with: {error}; it is retried, as are"
                " {others} other keys of its queue",
                key=key,
                times=times,
                error=str(error),
                others=len(self._failures) - 1,
            )

    def __len__(self) -> int:
        return len(self._keys)

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Iterate over the keys, in the order in which they were added first."""
        while True:
            yield await self._next()

    async def _next(self) -> Hashable:
        """Take out the first key that is not being processed."""
        if self._clock.seconds() - self._turn >= TURN:
            await sleep(self._clock, 0)
            self._turn = self._clock.seconds()
        while True:
            # At most one key per worker is skipped.
            for key in self._keys:
                if key not in self._working:
                    del self._keys[key]
                    return key
            waiting: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiting)
            await waiting
            self._turn = self._clock.seconds()

    def _wake(self) -> None:
        """Let one of the waiting workers look again."""
        if self._waiting:
            self._waiting.popleft().callback(None)


def _ending(over: Deferred[None]) -> Callable[[Failure], None]:
    """A callback that ends what waits for ``over`` with the first failure, and takes the others."""

    def end(failure: Failure) -> None:
        if not over.called:
            over.errback(failure)

    return end


def _delay(seconds: Any) -> float:
    """A delay that somebody else has computed."""
    if isinstance(seconds, bool) or not isinstance(seconds, Real):
        raise TypeError(f"a delay is a number of seconds, not {seconds!r}")
    bounded: Any = min(max(seconds, 0), NEVER)
    delay = float(bounded)
    if isnan(delay):
        raise ValueError("a delay is a number of seconds, not NaN")
    return delay
