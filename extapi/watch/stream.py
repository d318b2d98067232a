"""One watch from its first byte to its end: initial or missed events, then live ones, until its time is over.

This module has the order of behaviour F3 to F12; the live events come from the resource's broadcaster.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from twisted.internet.defer import Deferred

from extapi.clock import Clock, sleep, stop_timer
from extapi.errors import ApiError, Expired
from extapi.http.response import Chunk, Sink
from extapi.watch.broadcaster import Broadcaster
from extapi.watch.cachewatcher import CacheWatcher, WatchLimits
from extapi.watch.encoding import EventEncoder, encode_event, to_chunks
from extapi.watch.events import CacheEvent, WatchEvent
from extapi.watch.position import Position
from extapi.watch.selection import Selection
from extapi.watch.watchergroup import WatcherGroup

BOOKMARK_SECONDS: Final = 60.0
"""The time between two bookmarks."""
BOOKMARK_BEFORE_END: Final = 2.0
"""How many seconds before the end of the watch the last bookmark is sent (behaviour F11)."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Where a watch starts, and what it sends besides events."""

    since: int | None = None
    """Send events after this revision; None or 0: from now on. With ``initial``: the initial state is at least this fresh."""
    initial: bool = False
    """Start with a synthetic ADDED event for each object."""
    bookmarks: bool = False
    """Send bookmarks about every minute, and before the end."""
    initial_end_bookmark: bool = False
    """Send the annotated bookmark after the initial events."""
    deadline_seconds: float = 1800.0
    """How long the watch lasts; if not positive, nothing is sent at all."""


class Backlog(NamedTuple):
    """What a watcher is sent before the live events."""

    events: Iterable[WatchEvent]
    empty: bool
    revision: int
    """The events contain everything up to this revision."""
    changes: Iterable[CacheEvent] = ()
    """What the events are to be made of once it is prepared, if conversion may wait; ``events`` is empty then."""


class WatchStream:
    """The body of a watch's response: a :data:`~extapi.http.response.Streaming`, called once the headers are sent."""

    def __init__(
        self,
        *,
        clock: Clock,
        position: Position,
        broadcaster: Broadcaster,
        selection: Selection,
        encoding: Hashable,
        encoder: EventEncoder,
        options: WatchOptions,
        limits: WatchLimits,
        backlog: Callable[[], Backlog],
    ) -> None:
        """Prepare a watch.

        Args:
            clock: The reactor's clock.
            position: How far the cache has read the log.
            broadcaster: Sends the live events.
            selection: The objects to watch.
            encoding: Identifies the encoding; watches with equal values share the encoded bytes.
            encoder: Makes these bytes.
            options: Where the watch starts, and what it sends besides events.
            limits: When the watcher is too slow.
            backlog: Delivers pending live events to all others, and returns what this watcher is sent before them.
        """
        self._clock = clock
        self._position = position
        self._broadcaster = broadcaster
        self._selection = selection
        self._encoding = encoding
        self._encoder = encoder
        self._options = options
        self._limits = limits
        self._backlog = backlog
        self._timer: Any = None
        self._end = 0.0

    async def __call__(self, sink: Sink) -> None:
        """Write the watch until it is over. An error becomes its last event."""
        seconds = self._options.deadline_seconds
        if seconds <= 0:
            return
        watcher = CacheWatcher(sink, self._clock, self._limits.pending)
        self._end = self._clock.seconds() + seconds
        deadline = self._clock.callLater(seconds, watcher.end)
        sink.on_closed(watcher.end)
        self._broadcaster.add(watcher)
        try:
            await self._follow(watcher)
        except ApiError as error:
            self._broadcaster.representation(self._encoder).sent += 1
            sink.write(Chunk(self._encoder.error(error)))
        finally:
            self._broadcaster.remove(watcher, self._encoding, self._selection)
            for timer in (deadline, self._timer):
                stop_timer(timer)
        if watcher.slow:
            self._broadcaster.representation(self._encoder).terminated += 1
            await self._drain_or_abort(sink)

    async def _follow(self, watcher: CacheWatcher) -> None:
        """Everything between the first event and the end."""
        since = self._options.since or 0
        if since > self._position.revision:
            if self._position.private:
                # Another process counted. To wait until we have counted as far would skip changes in silence.
                raise Expired(f"resource version of another process: {since} ({self._position.revision})")
            if self._options.initial:
                await self._position.at_least(since)
            else:
                await watcher.wait(self._position.when_reached(since))
        if watcher.ended:
            return
        backlog = self._backlog()
        # In the same turn as the backlog, so that no event falls between them.
        group = self._broadcaster.subscribe(
            watcher,
            self._encoding,
            self._encoder,
            self._selection,
            unstarted=backlog.empty and not self._options.initial_end_bookmark,
        )
        await self._send_initial(watcher, group, backlog)
        if watcher.failure is None:
            self._schedule_bookmark(watcher, group)
            await watcher.wait(Deferred())
        if watcher.failure is not None:
            raise watcher.failure

    def _send_initial(self, watcher: CacheWatcher, group: WatcherGroup, backlog: Backlog) -> Awaitable[None]:
        del group
        return watcher.send_initial(to_chunks(self._encode(watcher, backlog)))

    def _encode(self, watcher: CacheWatcher, backlog: Backlog) -> Iterator[bytes]:
        """Encode the backlog as it is read. An object that cannot be converted ends the watch after those before it."""
        count = 0
        try:
            for event in backlog.events:
                try:
                    data = encode_event(self._encoder, event, first=not count)
                except ApiError as error:
                    watcher.failure = error
                    return
                count += 1
                yield data
            if self._options.initial_end_bookmark:
                bookmark = self._encoder.bookmark(backlog.revision, initial_end=True, first=not count)
                count += 1
                yield bookmark
        finally:
            self._broadcaster.representation(self._encoder).sent += count

    def _schedule_bookmark(self, watcher: CacheWatcher, group: WatcherGroup) -> None:
        """Send a bookmark in a minute, or shortly before the end if that is earlier.

        Source: ``k8s.io/apiserver/pkg/storage/cacher`` nextBookmarkTime.
        """
        if not self._options.bookmarks:
            return
        now = self._clock.seconds()
        following = now + BOOKMARK_SECONDS
        last = self._end - BOOKMARK_BEFORE_END
        if now < last < following:
            following = last
        self._timer = self._clock.callLater(following - now, self._bookmark, watcher, group)

    def _bookmark(self, watcher: CacheWatcher, group: WatcherGroup) -> None:
        """Send a bookmark, after all events up to its revision."""
        self._broadcaster.flush()
        revision = self._position.revision

        def send() -> None:
            if not watcher.ended:
                group.bookmark(watcher, revision)

        self._broadcaster.when_delivered(self._encoding, send)
        if not watcher.ended:
            self._schedule_bookmark(watcher, group)

    async def _drain_or_abort(self, sink: Sink) -> None:
        """Give a slow client a while to read what it was sent, then abort its connection (behaviour F17)."""
        waiting = Deferred.fromCoroutine(_drained(sink))
        timeout = Deferred.fromCoroutine(sleep(self._clock, self._limits.grace))
        timeout.addCallbacks(lambda _: sink.abort(), lambda _: None)
        try:
            await waiting
        finally:
            timeout.cancel()


async def _drained(sink: Sink) -> None:
    await sink.drained()
