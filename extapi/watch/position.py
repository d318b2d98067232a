"""How far the cache has read the log, whether it is ready, and which reads wait for a later revision.

All resources of a store share one position, since there is one tail. Knows revisions and time, not objects.
"""

from __future__ import annotations

import contextlib
import math
from typing import Final

from twisted.internet.defer import Deferred

from extapi.clock import Clock, stop_timer
from extapi.errors import Timeout, TooManyRequests
from extapi.storage.base import Backend, Unavailable

FRESH_SECONDS: Final = 3.0
"""How long a read waits for the cache to catch up, in seconds (behaviour E24, K12)."""


class Position:
    """The cache is complete up to ``revision`` while it is ``ready``."""

    def __init__(self, backend: Backend, clock: Clock, *, private: bool = False) -> None:
        self._backend = backend
        self.private = private
        """Whether only this process writes the log. A revision that has not been reached is then another process's."""
        self._clock = clock
        self._waiting: list[tuple[int, Deferred[None]]] = []
        self._next = math.inf
        """The lowest revision that is waited for, so that a commit need not look at later ones."""
        self._down_since = clock.seconds()
        self.revision = 0
        self.ready = False

    def check_ready(self) -> None:
        """Check that the cache can be read (behaviour E35, F18).

        Raises:
            TooManyRequests: The cache is being filled.
        """
        if not self.ready:
            down = min(self._clock.seconds() - self._down_since, 60.0)
            # calculateRetryAfterForUnreadyCache of k8s.io/apiserver/pkg/storage/cacher: 1 to 30 s, growing with downtime
            seconds = int(min(max(math.exp(0.06 * down), 1.0), 30.0))
            raise TooManyRequests("storage is (re)initializing", retry_after=seconds)

    def mark_ready(self, revision: int) -> None:
        """The cache is filled, and complete up to ``revision``."""
        self.ready = True
        self.advance(revision)

    def mark_unready(self) -> None:
        """The cache can no longer be read. Reads that wait for a revision go on waiting, as it may still arrive."""
        if self.ready:
            self.ready = False
            self._down_since = self._clock.seconds()

    def advance(self, revision: int) -> None:
        """The cache is complete up to ``revision``; resume the reads that waited for it."""
        self.revision = revision
        if self._next <= revision and self.ready:
            reached = [waiter for waiter in self._waiting if waiter[0] <= revision]
            self._waiting = [waiter for waiter in self._waiting if waiter[0] > revision]
            self._next = min((waiter[0] for waiter in self._waiting), default=math.inf)
            for _, waiting in reached:
                waiting.callback(None)

    def when_reached(self, revision: int) -> Deferred[None]:
        """A Deferred that fires once the cache is complete up to ``revision``; may be cancelled."""
        waiting: Deferred[None] = Deferred(self._forget)
        self._waiting.append((revision, waiting))
        self._next = min(self._next, revision)
        return waiting

    def _forget(self, gone: Deferred[None]) -> None:
        self._waiting = [waiter for waiter in self._waiting if waiter[1] is not gone]

    async def at_least(self, revision: int, seconds: float = FRESH_SECONDS) -> None:
        """Wait until the cache is complete up to ``revision``.

        Raises:
            Timeout: It is not within ``seconds`` (behaviour E24).
            TooManyRequests: The cache is being filled (behaviour E35).
        """
        self.check_ready()
        if self.revision >= revision:
            return
        with contextlib.suppress(Unavailable):  # the tail may still deliver it
            await self._backend.progress()
        if self.revision >= revision:
            self.check_ready()
            return
        waiting = self.when_reached(revision)
        timer = self._clock.callLater(seconds, waiting.errback, _TooLate())
        try:
            await waiting
        except _TooLate:
            self._forget(waiting)
            self.check_ready()
            raise Timeout.too_large_resource_version(revision, self.revision) from None
        finally:
            stop_timer(timer)


class _TooLate(Exception):
    """The time is up."""
