"""Work for a controller: each key waits once, however often it is added, and comes back later when its work failed.

Follows client-go's ``workqueue``. Knows nothing of what the keys stand for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
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
        self._waiting: Deferred[None] | None = None

    def add(self, key: Hashable) -> None:
        """Have ``key`` worked on soon."""
        self._keys[key] = None
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def add_later(self, key: Hashable, seconds: float) -> None:
        """Have ``key`` worked on when ``seconds`` have passed."""
        self._clock.callLater(seconds, self.add, key)

    def retry(self, key: Hashable) -> None:
        """Have ``key`` worked on again, later with each call since the last :meth:`done`."""
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        self.add_later(key, min(FIRST_DELAY * 2 ** min(count, 10), LAST_DELAY))

    def done(self, key: Hashable) -> None:
        """The work on ``key`` succeeded: its next failure counts as the first."""
        self._failures.pop(key, None)

    async def each(self, work: Callable[[Any], Awaitable[float | None]]) -> None:
        """Have ``work`` done for one key after the other, until cancelled.

        A key whose work raises comes back as :meth:`retry` says, whatever was raised; what the API or the network is
        not to blame for is logged. Seconds that ``work`` returns are the time until it wants the key again.
        """
        async for key in self:
            try:
                again = await work(key)
            except CancelledError:
                raise
            except (ApiError, TransportError):
                self.retry(key)
            except Exception:  # noqa: BLE001 - one key that cannot be worked on must not keep the others waiting
                self._log.failure("the work on {key} failed and is tried again", key=key)
                self.retry(key)
            else:
                self.done(key)
                if again is not None:
                    self.add_later(key, again)

    def __len__(self) -> int:
        return len(self._keys)

    async def __aiter__(self) -> AsyncIterator[Any]:
        """The keys, in the order in which they were added first."""
        while True:
            while not self._keys:
                self._waiting = Deferred()
                await self._waiting
            key = next(iter(self._keys))
            del self._keys[key]
            yield key
