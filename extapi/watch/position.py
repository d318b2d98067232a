"""How far the cache has read the log, whether it is usable at all, and who waits for it to come further.

One position serves all resources of a store: there is one tail. Knows revisions and time, and no objects.
"""

from __future__ import annotations

import contextlib
import math
from typing import Final

from twisted.internet.defer import Deferred

from extapi.client.clock import Clock
from extapi.errors import Timeout, TooManyRequests
from extapi.storage.base import Backend, Unavailable

FRESH_SECONDS: Final = 3.0
"""How long a read waits for the cache to catch up (spec E24, K12)."""


class Position:
    """Complete up to ``revision``, while ``ready``."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._waiting: list[tuple[int, Deferred[None]]] = []
        self._next = math.inf
        """No waiter wants less: those of a far future cost a commit nothing."""
        self._down_since = clock.seconds()
        self.revision = 0
        self.ready = False

    def check_ready(self) -> None:
        """Raise TooManyRequests while the cache is filled (spec E35, F18)."""
        if not self.ready:
            down = min(self._clock.seconds() - self._down_since, 60.0)
            # calculateRetryAfterForUnreadyCache of k8s.io/apiserver/pkg/storage/cacher: 1 to 30, growing with downtime
            seconds = int(min(max(math.exp(0.06 * down), 1.0), 30.0))
            raise TooManyRequests("storage is (re)initializing", retry_after=seconds)

    def open(self, revision: int) -> None:
        """The cache is filled and complete up to ``revision``."""
        self.ready = True
        self.advance(revision)

    def shut(self) -> None:
        """The cache is not usable any more. Who waits for a revision goes on waiting: it may come."""
        if self.ready:
            self.ready = False
            self._down_since = self._clock.seconds()

    def advance(self, revision: int) -> None:
        """Everything up to ``revision`` is in the cache: wake those who waited for it."""
        self.revision = revision
        if self._next <= revision and self.ready:
            reached = [waiter for waiter in self._waiting if waiter[0] <= revision]
            self._waiting = [waiter for waiter in self._waiting if waiter[0] > revision]
            self._next = min((waiter[0] for waiter in self._waiting), default=math.inf)
            for _, waiting in reached:
                waiting.callback(None)

    def reached(self, revision: int) -> Deferred[None]:
        """Fires once the cache is complete up to ``revision``; may be cancelled."""
        waiting: Deferred[None] = Deferred(self._forget)
        self._waiting.append((revision, waiting))
        self._next = min(self._next, revision)
        return waiting

    def _forget(self, gone: Deferred[None]) -> None:
        self._waiting = [waiter for waiter in self._waiting if waiter[1] is not gone]

    async def at_least(self, revision: int, seconds: float = FRESH_SECONDS) -> None:
        """Wait until the cache is complete up to ``revision``.

        Raises :class:`Timeout` when it is not within ``seconds`` (spec E24), or TooManyRequests (spec E35).
        """
        self.check_ready()
        if self.revision >= revision:
            return
        with contextlib.suppress(Unavailable):  # the tail may still bring it
            await self._backend.progress()
        if self.revision >= revision:
            self.check_ready()
            return
        waiting = self.reached(revision)
        timer = self._clock.callLater(seconds, waiting.errback, _TooLate())
        try:
            await waiting
        except _TooLate:
            self._forget(waiting)
            self.check_ready()
            raise Timeout.too_large_resource_version(revision, self.revision) from None
        finally:
            if timer.active():
                timer.cancel()


class _TooLate(Exception):
    """The time is over."""
