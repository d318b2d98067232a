"""One watch from its first byte to its end: initial events or the ones that were missed, then live, within its time.

The order of spec F3 to F12 stands here. The events come from the resource's audience.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from twisted.internet.defer import Deferred

from extapi.client.clock import Clock, sleep
from extapi.errors import ApiError
from extapi.listener.call import Chunk, Sink
from extapi.watch.group import pieces
from extapi.watch.position import Position
from extapi.watch.rendering import Occurrence, Renderer, render
from extapi.watch.watcher import Watcher, WatchLimits

BOOKMARK_SECONDS: Final = 60.0
"""Between two bookmarks."""
BOOKMARK_BEFORE_END: Final = 2.0
"""The last bookmark goes out so many seconds before the watch ends (spec F11)."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What a watch starts from, and what it sends beside the events."""

    since: int | None = None
    """Events after this revision; ``None`` or 0: from now on. With ``initial``: the initial state is at least as fresh."""
    initial: bool = False
    """Begin with a synthetic ADDED for each object."""
    bookmarks: bool = False
    """Bookmarks about every minute, and before the end."""
    initial_end_bookmark: bool = False
    """The annotated bookmark after the initial events."""
    deadline_seconds: float = 1800.0
    """How long; nothing is sent at all if it is not positive."""


class Backlog(NamedTuple):
    """What a watcher is told before the live events."""

    occurrences: Iterable[Occurrence]
    empty: bool
    revision: int
    """Everything up to this revision is told with it."""


class WatchStream:
    """A :data:`~extapi.listener.call.Streaming`: called with the sink once the headers are out.

    ``enter`` counts the watcher in; ``join`` takes the backlog and connects the live events in one turn; ``leave`` ends
    both; ``flush`` tells what is untold.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        position: Position,
        renderer: Renderer,
        options: WatchOptions,
        limits: WatchLimits,
        enter: Callable[[Watcher], None],
        join: Callable[[Watcher], Backlog],
        leave: Callable[[Watcher], None],
        flush: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._position = position
        self._renderer = renderer
        self._options = options
        self._limits = limits
        self._enter = enter
        self._join = join
        self._leave = leave
        self._flush = flush
        self._timer: Any = None
        self._end = 0.0

    async def __call__(self, sink: Sink) -> None:
        """Write the watch. Returns when it is over; what goes wrong is its last event."""
        seconds = self._options.deadline_seconds
        if seconds <= 0:
            return
        watcher = Watcher(sink, self._clock, self._limits.pending)
        self._end = self._clock.seconds() + seconds
        deadline = self._clock.callLater(seconds, watcher.end)
        sink.on_closed(watcher.end)
        self._enter(watcher)
        try:
            await self._follow(watcher)
        except ApiError as error:
            sink.write(Chunk(self._renderer.error(error)))
        finally:
            self._leave(watcher)
            for timer in (deadline, self._timer):
                if timer is not None and timer.active():
                    timer.cancel()
        if watcher.slow:
            await self._take_leave(sink)

    async def _follow(self, watcher: Watcher) -> None:
        """Everything between the first event and the end."""
        since = self._options.since or 0
        if since > self._position.revision:
            if self._options.initial:
                await self._position.at_least(since)
            else:
                await watcher.wait(self._position.reached(since))
        if watcher.ended:
            return
        backlog = self._join(watcher)
        await watcher.catch_up(pieces(self._parts(watcher, backlog)))
        if watcher.failure is None:
            self._schedule_bookmark(watcher)
            await watcher.wait(Deferred())
        if watcher.failure is not None:
            raise watcher.failure

    def _parts(self, watcher: Watcher, backlog: Backlog) -> Iterator[bytes]:
        """The backlog, rendered as it is taken. An object that cannot be shown ends the watch after those before it."""
        first = True
        for occurrence in backlog.occurrences:
            try:
                data = render(self._renderer, occurrence, first=first)
            except ApiError as error:
                watcher.failure = error
                return
            yield data
            first = False
        if self._options.initial_end_bookmark:
            yield self._renderer.bookmark(backlog.revision, initial_end=True, first=first)

    def _schedule_bookmark(self, watcher: Watcher) -> None:
        """A minute from now, or before the end if that comes first (``nextBookmarkTime`` of k8s.io/apiserver)."""
        if not self._options.bookmarks:
            return
        now = self._clock.seconds()
        following = now + BOOKMARK_SECONDS
        last = self._end - BOOKMARK_BEFORE_END
        if now < last < following:
            following = last
        self._timer = self._clock.callLater(following - now, self._bookmark, watcher)

    def _bookmark(self, watcher: Watcher) -> None:
        """Tell how far the watcher is: all events up to there have been told before."""
        self._flush()
        if watcher.group is not None and not watcher.ended:
            watcher.group.bookmark(watcher, self._position.revision)
        if not watcher.ended:
            self._schedule_bookmark(watcher)

    async def _take_leave(self, sink: Sink) -> None:
        """A slow client may take what it was sent, for a while; then its connection is aborted (spec F17)."""
        waiting = Deferred.fromCoroutine(_drained(sink))
        impatience = Deferred.fromCoroutine(sleep(self._clock, self._limits.grace))
        impatience.addCallbacks(lambda _: sink.abort(), lambda _: None)
        try:
            await waiting
        finally:
            impatience.cancel()


async def _drained(sink: Sink) -> None:
    await sink.drained()
