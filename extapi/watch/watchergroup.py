"""Watchers with the same encoding and the same selection: one decision and one chunk per event for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from extapi.errors import ApiError
from extapi.http.response import Chunk
from extapi.watch.cachedobject import CachedObject, Representation
from extapi.watch.cachewatcher import CacheWatcher
from extapi.watch.encoding import EventEncoder, encode_event, to_chunks
from extapi.watch.events import CacheEvent, WatchEvent, objects_read, to_watch_event
from extapi.watch.selection import Predicate


class WatcherGroup:
    """The watchers of one encoding and one selection."""

    __slots__ = ("_encoder", "_joining", "_predicate", "_representation", "_unstarted", "_watchers")

    def __init__(self, encoder: EventEncoder, predicate: Predicate | None, representation: Representation) -> None:
        self._encoder = encoder
        self._representation = representation
        self._predicate = predicate
        self._watchers: dict[CacheWatcher, None] = {}
        self._unstarted: dict[CacheWatcher, None] = {}
        """Watchers that have not been sent an event, if the encoder writes the first event differently."""

        self._joining: dict[CacheWatcher, bool] = {}
        """Watchers that join when the events before them are delivered, and whether they have not been sent an event."""

    def __len__(self) -> int:
        return len(self._watchers) + len(self._unstarted) + len(self._joining)

    def add(self, watcher: CacheWatcher, *, unstarted: bool) -> None:
        """Send the watcher all events from now on; ``unstarted``: it has not been sent an event yet."""
        members = self._unstarted if unstarted and self._encoder.distinct_first else self._watchers
        members[watcher] = None

    def remove(self, watcher: CacheWatcher) -> None:
        """Send the watcher no more events; does nothing if it is not in the group."""
        self._watchers.pop(watcher, None)
        self._unstarted.pop(watcher, None)
        self._joining.pop(watcher, None)

    def reserve(self, watcher: CacheWatcher, *, unstarted: bool) -> None:
        """Keep the place of a watcher that is to join later; see :meth:`add`."""
        self._joining[watcher] = unstarted

    def join(self, watcher: CacheWatcher) -> None:
        """Send the watcher all events from now on, unless it has been removed since its place was kept."""
        unstarted = self._joining.pop(watcher, None)
        if unstarted is not None:
            self.add(watcher, unstarted=unstarted)

    def start(self, watcher: CacheWatcher) -> None:
        """The watcher has been sent its first event."""
        if watcher in self._joining:
            self._joining[watcher] = False
        elif watcher in self._unstarted:
            del self._unstarted[watcher]
            self._watchers[watcher] = None

    def reads(self, change: CacheEvent) -> Sequence[CachedObject]:
        """The objects that have to be prepared before :meth:`deliver`, if conversion may wait."""
        return objects_read(self._predicate, change) if self._watchers or self._unstarted else ()

    def bookmark(self, watcher: CacheWatcher, revision: int) -> None:
        """Send one watcher a bookmark."""
        first = watcher in self._unstarted
        self.start(watcher)
        self._representation.sent += 1
        watcher.deliver([Chunk(self._encoder.bookmark(revision, initial_end=False, first=first))])

    def deliver(self, changes: Sequence[CacheEvent], encode: Callable[[WatchEvent], bytes]) -> None:
        """Send all watchers the events that they select, in shared chunks.

        Args:
            changes: The changes since the last delivery.
            encode: Encodes an event that is not the first one of a watch; may remember what it has encoded.
        """
        opening: WatchEvent | None = None
        parts: list[bytes] = []
        failure: ApiError | None = None
        for change in changes:
            try:
                event = to_watch_event(self._predicate, change)
                if event is not None:
                    parts.append(encode(event))
                    opening = opening or event
            except ApiError as error:
                failure = error
                break
        if opening is not None:
            self._send(opening, parts)
        if failure is not None:
            self.fail(failure)

    def fail(self, error: ApiError) -> None:
        """End all watchers with an ERROR event."""
        for watcher in (*self._watchers, *self._unstarted):
            watcher.fail(error)

    def end(self) -> None:
        """End all watchers cleanly, those that are to join included."""
        for watcher in (*self._watchers, *self._unstarted, *self._joining):
            watcher.end()

    def _send(self, opening: WatchEvent, parts: list[bytes]) -> None:
        """Send encoded events; ``opening`` is the first of them, which unstarted watchers get in its own encoding."""
        self._representation.sent += len(parts) * (len(self._watchers) + len(self._unstarted))
        if self._unstarted:
            unstarted, self._unstarted = self._unstarted, {}
            first = encode_event(self._encoder, opening, first=True)
            chunks = list(to_chunks([first, *parts[1:]]))
            for watcher in unstarted:
                watcher.deliver(chunks)
        else:
            unstarted = {}
        if self._watchers:
            chunks = list(to_chunks(parts))
            for watcher in tuple(self._watchers):
                watcher.deliver(chunks)
        self._watchers.update((watcher, None) for watcher in unstarted if not watcher.ended)
