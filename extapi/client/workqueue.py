"""Work for a controller: each key waits once, however often it is added, and comes back later when its work failed.

Follows client-go's ``workqueue``. Knows nothing of what the keys stand for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, FirstError, gatherResults
from twisted.logger import Logger

from extapi.client.base import TransportError
from extapi.client.clock import Clock
from extapi.errors import ApiError

FIRST_DELAY, LAST_DELAY = 0.5, 60.0
"""Seconds until a key that failed comes back, doubled with each failure in a row, and at most."""


class WorkQueue:
    """Have :meth:`each` key worked on, or iterate it: ``async for key in queue``. One reader; it never ends by itself.

    A key added while it is worked on comes again afterwards.
    """

    _log = Logger()

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._keys: dict[Hashable, None] = {}
        self._failures: dict[Hashable, int] = {}
        self._working: set[Hashable] = set()
        self._waiting: deque[Deferred[None]] = deque()

    def add(self, key: Hashable) -> None:
        """Have ``key`` worked on soon."""
        self._keys[key] = None
        self._wake()

    def add_later(self, key: Hashable, seconds: float) -> None:
        """Have ``key`` worked on when ``seconds`` have passed."""
        self._clock.callLater(seconds, self.add, key)

    def retry(self, key: Hashable, *, after: float = 0) -> None:
        """Have ``key`` worked on again, later with each call since the last :meth:`done`, not before ``after`` seconds."""
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        self.add_later(key, max(after, min(FIRST_DELAY * 2 ** min(count, 10), LAST_DELAY)))

    def done(self, key: Hashable) -> None:
        """The work on ``key`` succeeded: its next failure counts as the first."""
        self._failures.pop(key, None)

    async def each(self, work: Callable[[Any], Awaitable[float | None]], *, workers: int = 1) -> None:
        """Have ``work`` done for each key, until cancelled; for up to ``workers`` keys at a time, but never twice for one.

        A key whose work raises comes back as :meth:`retry` says, whatever was raised; what the API or the network is
        not to blame for is logged. Seconds that ``work`` returns are the time until it wants the key again. Raises
        ValueError for less than one worker.
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
            except CancelledError:
                raise
            except ApiError as error:
                self.retry(key, after=error.retry_after)
            except TransportError:
                self.retry(key)
            except Exception:  # noqa: BLE001 - one key that cannot be worked on must not keep the others waiting
                self._log.failure("the work on {key} failed and is tried again", key=key)
                self.retry(key)
            else:
                self.done(key)
                if again is not None:
                    self.add_later(key, again)
            finally:
                self._working.discard(key)
                if key in self._keys:
                    self._wake()

    def __len__(self) -> int:
        return len(self._keys)

    async def __aiter__(self) -> AsyncIterator[Any]:
        """The keys, in the order in which they were added first."""
        while True:
            yield await self._next()

    async def _next(self) -> Hashable:
        """The first key that nobody works on, taken out."""
        while True:
            # At most one key for each worker is passed over.
            for key in self._keys:
                if key not in self._working:
                    del self._keys[key]
                    return key
            waiting: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiting)
            await waiting

    def _wake(self) -> None:
        """Have one who waits look again."""
        if self._waiting:
            self._waiting.popleft().callback(None)


def _left(alive: set[Deferred[None]], each: Deferred[None]) -> Callable[[Any], Any]:
    """A callback that takes ``each`` out of ``alive`` and passes the result on."""

    def left(result: Any) -> Any:
        alive.discard(each)
        return result

    return left
