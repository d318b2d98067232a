"""Versions that nobody reads any more: the bytes of their objects are let go, so that one list does not cost memory for ever.

Must not know who reads; a read of an object whose bytes are gone makes them again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred

from extapi.clock import Clock, sleep, stop_timer
from extapi.watch.orderedobjects import OrderedObjects

SECONDS: Final = 300.0
"""A version that is not listed for so long, and has no watcher, is let go; at the latest after twice this time."""
_TURN: Final = 10_000
"""Objects that are looked at in one turn of the reactor: some 5 ms."""


class UnreadVersions:
    """The versions in which the objects of one resource have been listed."""

    def __init__(self, clock: Clock, objects: OrderedObjects, watched: Callable[[], Collection[str]]) -> None:
        """Prepare.

        Args:
            clock: The reactor's clock.
            objects: The objects of the resource.
            watched: The versions that have watchers.
        """
        self._clock = clock
        self._objects = objects
        self._watched = watched
        self.read: set[str] = set()
        """The versions that have been read in the current period; :meth:`mark` the others."""
        self._made: set[str] = set()
        self._timer: Any = None
        self._sweeping: Deferred[None] | None = None
        self._closed = False

    def mark(self, version: str) -> None:
        """The version is read now."""
        self.read.add(version)
        self._made.add(version)
        if self._timer is None and not self._closed:
            self._timer = self._clock.callLater(SECONDS, self._end_period)

    def close(self) -> None:
        """Let nothing go any more."""
        self._closed = True
        timer, self._timer = self._timer, None
        stop_timer(timer)
        sweeping, self._sweeping = self._sweeping, None
        if sweeping is not None:
            sweeping.cancel()

    def _end_period(self) -> None:
        kept = self._made & (self.read | set(self._watched()))
        unread = self._made - kept
        self._made = kept
        self.read.clear()
        self._timer = self._clock.callLater(SECONDS, self._end_period) if kept else None
        if unread:
            self._sweeping = Deferred.fromCoroutine(self._let_go(unread))

    async def _let_go(self, versions: Collection[str]) -> None:
        try:
            for count, cached in enumerate(list(self._objects.between(b"", None)), 1):
                for version in versions:
                    if version not in self.read:  # it may be read again by now
                        cached.drop(version)
                if count % _TURN == 0:
                    await sleep(self._clock, 0)
        except CancelledError:
            return
