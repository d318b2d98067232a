"""The only reader of the store's log: fills the caches of all resources, then passes each commit to the cache it concerns.

When the log breaks off, it starts over: running watches end, and reads are told to retry (behaviour F18, E35). Must not
know what an object is.
"""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.clock import Clock, sleep
from extapi.storage.base import Backend, Batch, Compacted, Future, KeyValue, Tail, Unavailable
from extapi.storage.keys import KeyLayout, resource_prefix_of
from extapi.watch.cache import CacheSettings, ResourceCache
from extapi.watch.cachedobject import CacheSource, Projector
from extapi.watch.position import Position

_PAGE = 10_000
"""Objects per page when a cache is filled; the reactor gets a turn after each full page."""
_TURN = 5000
"""Changes that are applied in one turn of the reactor while the cache catches up with the log."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
"""Seconds before the next attempt after the log broke off; doubled with each attempt, from the first to the longest."""


class Cacher:
    """The caches of all resources of one store. ``reactor`` serves as the clock."""

    _log = Logger()

    def __init__(self, backend: Backend, reactor: Clock, *, settings: CacheSettings | None = None) -> None:
        self._backend = backend
        self._clock = reactor
        self._settings = settings or CacheSettings()
        self._position = Position(backend, reactor)
        self._caches: dict[bytes, ResourceCache] = {}
        self._tail: Tail | None = None
        self._running: Deferred[None] | None = None
        self._stopping = False
        self._started: list[Deferred[None]] = []

    @property
    def ready(self) -> bool:
        """Whether the caches are complete and follow the log."""
        return self._position.ready

    @property
    def revision(self) -> int:
        """All caches are complete up to this revision."""
        return self._position.revision

    def add(self, layout: KeyLayout, projector: Projector) -> ResourceCache:
        """Create the cache of a resource, before the start.

        Raises:
            ValueError: The resource has a cache, or the cacher has been started.
        """
        if layout.prefix in self._caches:
            raise ValueError(f"the resource has a cache already: {layout.prefix!r}")
        if self._running is not None:
            raise ValueError("resources are added before the start")
        cache = self._caches[layout.prefix] = ResourceCache(
            CacheSource(layout, projector),
            backend=self._backend,
            position=self._position,
            clock=self._clock,
            settings=self._settings,
        )
        return cache

    async def start(self) -> None:
        """Fill the caches and follow the log; return once they are complete. Retries until it succeeds or is stopped."""
        self._running = Deferred.fromCoroutine(self._run())
        if not self.ready and not self._stopping:
            waiting: Deferred[None] = Deferred(self._started.remove)
            self._started.append(waiting)
            await waiting

    async def stop(self) -> None:
        """End all watches cleanly and stop following the log. Later reads raise TooManyRequests."""
        self._stopping = True
        self._position.mark_unready()
        for cache in self._caches.values():
            cache.end_watches(closed=True)
        if self._tail is not None:
            self._tail.close()
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
        self._wake_started()

    def _wake_started(self) -> None:
        started, self._started = self._started, []
        for waiting in started:
            waiting.callback(None)

    async def _run(self) -> None:
        """Fill and follow, until stopped."""
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._fill()
                await self._follow()
            except CancelledError:
                return
            except (Unavailable, Compacted, Future) as error:
                self._log.warn("the log of the store broke off: {error}", error=error)
            except Exception:  # noqa: BLE001 -- whatever a backend raises, the server keeps trying
                self._log.failure("the log of the store broke off")
            if self._stopping:
                return
            pause = _FIRST_PAUSE if self.ready else min(pause * 2, _LONGEST_PAUSE)
            self._interrupt()
            try:
                await sleep(self._clock, pause)
            except CancelledError:
                return

    def _interrupt(self) -> None:
        """The caches may be incomplete from now on: refuse reads and end watches."""
        self._position.mark_unready()
        tail, self._tail = self._tail, None
        if tail is not None:
            tail.close()
        for cache in self._caches.values():
            cache.end_watches()

    async def _fill(self) -> None:
        """Read every resource as it was at the oldest revision, so that watches can resume from there."""
        at = await self._backend.oldest()
        for prefix, cache in self._caches.items():
            entries: list[KeyValue] = []
            after = b""
            while True:
                page = await self._backend.page(prefix, at=at, after=after, limit=_PAGE)
                entries.extend(page.entries)
                if not page.more:
                    break
                after = page.entries[-1].key
                await sleep(self._clock, 0)
            cache.fill(entries, at)
        self._position.revision = at

    async def _follow(self) -> None:
        """Read the log from there; the caches are ready once they reach the revision that is current now."""
        current = await self._backend.revision()
        self._tail = tail = self._backend.tail(self._position.revision)
        self._reached(self._position.revision, current)
        unbroken = 0
        async for batch in tail:
            self._dispatch(batch)
            self._reached(batch.progress, current)
            unbroken = 0 if self.ready else unbroken + len(batch.changes)
            if unbroken >= _TURN:
                unbroken = 0
                await sleep(self._clock, 0)

    def _dispatch(self, batch: Batch) -> None:
        """Pass changes to their caches. Keys of no known resource are ignored: other processes may share the store."""
        for change in batch.changes:
            cache = self._caches.get(resource_prefix_of(change.key))
            if cache is not None:
                cache.apply(change)

    def _reached(self, revision: int, current: int) -> None:
        """The caches are complete up to ``revision``."""
        if self._position.ready:
            self._position.advance(revision)
        elif revision >= current:
            self._position.mark_ready(revision)
            self._wake_started()
        else:
            self._position.revision = revision
