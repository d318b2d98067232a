"""A change of an object, and the event that a watcher receives for it.

Pure data; must not know watchers, or how events are encoded.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from extapi.errors import ApiError
from extapi.watch.cachedobject import CachedObject, NotPrepared
from extapi.watch.selection import Predicate

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"


class CacheEvent(msgspec.Struct, gc=False):
    """A change of one object."""

    revision: int
    object: CachedObject | None
    """The object after the change; None if it was deleted."""
    previous: CachedObject | None
    """The object before the change; None if it was created."""
    seconds: float
    """The time at which the cache received the event."""

    def objects(self) -> tuple[CachedObject, ...]:
        """The object after the change and before it, as far as there are any."""
        return tuple(cached for cached in (self.object, self.previous) if cached is not None)


class WatchEvent(NamedTuple):
    """An event as a watcher receives it."""

    type: str
    """ADDED, MODIFIED or DELETED."""
    object: CachedObject
    revision: int
    """The resourceVersion that the object is sent with: of a DELETED event, the revision of the deletion."""


def to_watch_event(predicate: Predicate | None, event: CacheEvent) -> WatchEvent | None:
    """The event for watchers with ``predicate``; None if they receive nothing (behaviour F12).

    An object that no longer matches, or was deleted, is sent as it was before, with the revision of the change.
    """
    cached, previous = event.object, event.previous
    matches = cached is not None and (predicate is None or predicate(cached))
    matched = previous is not None and (predicate is None or predicate(previous))
    if matches and cached is not None:
        return WatchEvent(MODIFIED if matched else ADDED, cached, event.revision)
    if matched and previous is not None:
        return WatchEvent(DELETED, previous, event.revision)
    return None


def objects_read(predicate: Predicate | None, event: CacheEvent) -> tuple[CachedObject, ...]:
    """The objects that have to be prepared, if conversion may wait, before watchers with ``predicate`` get the event."""
    try:
        watched = to_watch_event(predicate, event)
    except NotPrepared:
        return event.objects()
    except ApiError:
        return ()  # delivery will meet the same error
    return () if watched is None else (watched.object,)
