"""The last events of one resource, so that a watch can go on where an earlier one ended.

Bounded by count, age and bytes. Must not know who watches.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import msgspec

from extapi.client.clock import Clock
from extapi.errors import Expired
from extapi.watch.entry import Entry


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """How much is kept (spec F13; ``watch_cache.go`` of k8s.io/apiserver has the same numbers, but for the bytes)."""

    seconds: float = 75.0
    """Events younger than this are kept, within the other bounds."""
    fewest: int = 100
    """So many are kept however old they are."""
    most: int = 102_400
    """More are never kept, however young."""
    size: int = 128 * 1024 * 1024
    """Bytes of stored objects in events, beyond the fewest: a few large objects must not fill the memory."""


class Event(msgspec.Struct, gc=False):
    """A change of one object. ``entry`` is ``None`` when it was deleted, ``previous`` when it was created."""

    revision: int
    entry: Entry | None
    previous: Entry | None
    seconds: float
    """When it came."""


class History:
    """The events after :attr:`since`, in order, without gaps."""

    def __init__(self, clock: Clock, settings: HistorySettings) -> None:
        self._clock = clock
        self._settings = settings
        self._events: deque[Event] = deque()
        self._size = 0
        self.since = 0
        """All later events are here; of earlier ones nothing is known."""
        self.changed = 0
        """No later change is known; at first, when the history began."""

    def start(self, revision: int) -> None:
        """Begin anew: the objects are known as they were at ``revision``."""
        self._events.clear()
        self._size = 0
        self.since = self.changed = revision

    def add(self, revision: int, entry: Entry | None, previous: Entry | None) -> Event:
        """Append an event and forget what has to go for it."""
        now = self._clock.seconds()
        event = Event(revision, entry, previous, now)
        self._events.append(event)
        self._size += _size(event)
        self.changed = revision
        settings = self._settings
        while len(self._events) > settings.fewest and (
            self._events[0].seconds < now - settings.seconds
            or len(self._events) > settings.most
            or self._size > settings.size
        ):
            gone = self._events.popleft()
            self._size -= _size(gone)
            self.since = gone.revision
        return event

    def after(self, revision: int) -> list[Event]:
        """All events after ``revision``. Raises :class:`Expired` when some of them are forgotten (spec F8)."""
        if revision < self.since:
            raise Expired(f"too old resource version: {revision} ({self.since})")
        found = []
        for event in reversed(self._events):
            if event.revision <= revision:
                break
            found.append(event)
        found.reverse()
        return found


def _size(event: Event) -> int:
    """What the event may hold alone: the previous object; the new one is in the cache until it is somebody's previous."""
    return len(event.previous.value) if event.previous is not None else 0
