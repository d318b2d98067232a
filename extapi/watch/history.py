"""The recent events of one resource, so that a watch can resume where an earlier one ended.

Bounded by count, age and bytes. Must not know watchers.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from extapi.clock import Clock
from extapi.errors import Expired
from extapi.watch.cachedobject import CachedObject
from extapi.watch.events import CacheEvent


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """How many events are kept (behaviour F13).

    Source: ``k8s.io/apiserver/pkg/storage/cacher/watch_cache.go``, which has the same numbers but no bound in bytes.
    """

    seconds: float = 75.0
    """Events younger than this are kept, within the other bounds."""
    min_events: int = 100
    """This many are kept, however old."""
    max_events: int = 102_400
    """More than this are never kept, however recent."""
    max_bytes: int = 128 * 1024 * 1024
    """Bytes of previous objects in events beyond ``min_events``: large objects must not exhaust the memory."""


class EventHistory:
    """The events after :attr:`since`: in order, without gaps."""

    def __init__(self, clock: Clock, settings: HistorySettings) -> None:
        self._clock = clock
        self._settings = settings
        self._events: deque[CacheEvent] = deque()
        self._size = 0
        self.since = 0
        """All events after this revision are here, none before it."""
        self.changed = 0
        """The revision of the last event, or the one at which the history began."""

    def start(self, revision: int) -> None:
        """Start over from the state at ``revision``."""
        self._events.clear()
        self._size = 0
        self.since = self.changed = revision

    def add(self, revision: int, cached: CachedObject | None, previous: CachedObject | None) -> CacheEvent:
        """Append an event, and drop events that exceed the bounds."""
        now = self._clock.seconds()
        event = CacheEvent(revision, cached, previous, now)
        self._events.append(event)
        self._size += _size(event)
        self.changed = revision
        settings = self._settings
        while len(self._events) > settings.min_events and (
            self._events[0].seconds < now - settings.seconds
            or len(self._events) > settings.max_events
            or self._size > settings.max_bytes
        ):
            gone = self._events.popleft()
            self._size -= _size(gone)
            self.since = gone.revision
        return event

    def after(self, revision: int) -> list[CacheEvent]:
        """All events after ``revision``.

        Raises:
            Expired: Some of them have been dropped (behaviour F8).
        """
        if revision < self.since:
            raise Expired(f"too old resource version: {revision} ({self.since})")
        found = []
        for event in reversed(self._events):
            if event.revision <= revision:
                break
            found.append(event)
        found.reverse()
        return found


def _size(event: CacheEvent) -> int:
    """The bytes that only the event may hold: the previous object. The new one is in the cache until it is replaced."""
    return event.previous.size if event.previous is not None else 0
