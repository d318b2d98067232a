"""The events of one stream that wait, in order, until their objects can be read in the stream's version.

Responsible for the order: an event waits for its object, what comes after it waits behind it, and what has to come between
two events, such as a new watcher or a bookmark, keeps its place. Bounded. Must not know watchers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.errors import ApiError
from extapi.watch.cachedobject import CachedObject
from extapi.watch.conversioncalls import ConversionLimits
from extapi.watch.events import CacheEvent
from extapi.watch.preparation import Preparation

Failures = Mapping[int, ApiError]
"""Why objects could not be prepared, by revision."""


class EventQueue:
    """Passes on events once they are prepared: at once, if there is nothing to wait for."""

    _log = Logger()

    def __init__(
        self,
        preparation: Preparation,
        version: str,
        limits: ConversionLimits,
        *,
        reads: Callable[[CacheEvent], Sequence[CachedObject]],
        deliver: Callable[[Sequence[CacheEvent], Failures], None],
        overflow: Callable[[], None],
    ) -> None:
        """Prepare a queue.

        Args:
            preparation: Converts objects.
            version: The version to convert to.
            limits: How many events may wait.
            reads: The objects that are read when an event is delivered.
            deliver: Takes events that are prepared, and the errors of those that could not be.
            overflow: Called if too many events wait; the queue has been closed.
        """
        self._preparation = preparation
        self._version = version
        self._limits = limits
        self._reads = reads
        self._deliver = deliver
        self._overflow = overflow
        self._items: deque[CacheEvent | Callable[[], None]] = deque()
        self._events = 0
        self._size = 0
        self._active = False
        self._waiting: Deferred[dict[int, ApiError]] | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, events: Sequence[CacheEvent]) -> None:
        """Deliver events after those before them."""
        if self._closed:
            return
        self._items.extend(events)
        self._events += len(events)
        self._size += sum(map(_size, events))
        self._advance()
        if self._events > self._limits.events or self._size > self._limits.events_size:
            self.close()
            self._overflow()

    def then(self, call: Callable[[], None]) -> None:
        """Call ``call`` once all events that have been put are delivered."""
        if not self._closed:
            self._items.append(call)
            self._advance()

    def close(self) -> None:
        """Deliver nothing more, and wait for nothing."""
        self._closed = True
        self._items.clear()
        self._events = self._size = 0
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()

    def _advance(self) -> None:
        if not self._active:
            self._active = True
            running = Deferred.fromCoroutine(self._run())
            running.addErrback(lambda failure: self._log.failure("a stream of events broke", failure=failure))

    async def _run(self) -> None:
        try:
            while self._items:
                item = self._items[0]
                if not isinstance(item, CacheEvent):
                    self._items.popleft()
                    item()
                    continue
                ready, lacking = self._ready()
                failures: Failures = {}
                if not ready:
                    ready, lacking = self._run_of(lacking)
                    failures = await self._prepared(lacking)
                if not self._closed:
                    self._take(ready)
                    self._deliver(ready, failures)
        except CancelledError:
            return
        finally:
            self._active = False

    def _ready(self) -> tuple[list[CacheEvent], list[CachedObject]]:
        """The events in front that are prepared; if there is none, what the first one lacks."""
        ready: list[CacheEvent] = []
        for item in self._items:
            if not isinstance(item, CacheEvent):
                break
            lacking = self._lacking(item)
            if lacking:
                return ready, lacking
            ready.append(item)
        return ready, []

    def _run_of(self, lacking: list[CachedObject]) -> tuple[list[CacheEvent], list[CachedObject]]:
        """The events in front that are converted together, and all that they lack; ``lacking``: what the first one does."""
        run: list[CacheEvent] = []
        for item in self._items:
            if not isinstance(item, CacheEvent):
                break
            if run:
                if len(lacking) >= self._limits.objects:
                    break
                lacking += self._lacking(item)
            run.append(item)
        return run, lacking

    def _lacking(self, event: CacheEvent) -> list[CachedObject]:
        return self._preparation.lacking(self._reads(event), self._version)

    async def _prepared(self, lacking: Sequence[CachedObject]) -> Failures:
        self._waiting = waiting = Deferred.fromCoroutine(self._preparation.prepare(lacking, self._version))
        try:
            return await waiting
        finally:
            self._waiting = None

    def _take(self, events: Sequence[CacheEvent]) -> None:
        for event in events:
            self._items.popleft()
            self._events -= 1
            self._size -= _size(event)


def _size(event: CacheEvent) -> int:
    """The bytes of an event's objects."""
    return sum(cached.size for cached in event.objects())
