"""The only reader of the store's log: fills the caches of all resources, then passes each commit to the caches it concerns.

When the log breaks off, it is read on from where it was: watches go on, and so do reads that do not ask for more than the cache
has. Only if it cannot be read on, because that revision is compacted or gone, the caches start over: running watches end, and
reads are told to retry (behaviour F18, E35). Caches may come and go while the others are served. Must not know what an object
is.
"""

from __future__ import annotations

from itertools import chain
from weakref import WeakSet

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.clock import Clock, sleep
from extapi.storage.base import (
    Backend,
    Batch,
    Compacted,
    Future,
    KeyValue,
    LogEvent,
    QuestionedTail,
    Tail,
    Unavailable,
)
from extapi.storage.filling import half_filled
from extapi.storage.keys import KeyLayout, resource_prefix_of
from extapi.watch.cache import CacheSettings, ResourceCache
from extapi.watch.cachedobject import CacheSource, Projector
from extapi.watch.position import Position
from extapi.watch.silence import LogSilence

_PAGE = 10_000
"""Objects per page when a cache is filled; the reactor gets a turn after each full page."""
_TURN = 5000
"""Changes that are applied in one turn of the reactor while the cache catches up with the log."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
"""Seconds before the next attempt after the log broke off; doubled with each attempt, from the first to the longest."""
_LONGEST_RESUMING = 1.0
"""The same while only the log is away: a read that waits for it gives up after 3 s, and should see more than one attempt."""
_ATTEMPTS = 5
"""How often a cache that comes later is filled before that counts as failed."""
_MOST_WAITING = 10_000
"""Commits that may wait for a cache that is being filled; one more, and it is filled again."""


class Cacher:
    """The caches of all resources of one store. ``reactor`` serves as the clock.

    ``private``: only this process writes the store, and nothing of it survives the process.
    """

    _log = Logger()

    def __init__(
        self, backend: Backend, reactor: Clock, *, settings: CacheSettings | None = None, private: bool = False
    ) -> None:
        self._backend = backend
        self._clock = reactor
        self._settings = settings or CacheSettings()
        self._position = Position(backend, reactor, private=private)
        self._ready_since = 0.0
        self._filled_once = False
        """Whether the caches have what the store had at the position, so that the log can be read on from there."""
        self._heard = False
        """Whether the log has brought anything since it was last asked for."""
        self._caches: dict[bytes, tuple[ResourceCache, ...]] = {}
        """By prefix. There are two for one while the second is to replace the first."""
        self._waiting: dict[ResourceCache, list[LogEvent]] = {}
        """Caches that are being filled after the start, with the commits that arrive meanwhile."""
        self._removed: WeakSet[ResourceCache] = WeakSet()
        """They follow the log for as long as a request that began before holds them."""
        self._tail: Tail | None = None
        self._silence = LogSilence(reactor, self._ask)
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

    def check_log(self) -> str | None:
        """None, or why the server is not ready: the log has been away, or silent, for longer than its bound."""
        return self._silence.check()

    async def _ask(self) -> None:
        """Return once the log has given a sign of life; one that is kept in this process needs to give none.

        Raises:
            Unavailable: It is not followed, or has ended.
        """
        tail = self._tail
        if tail is None:
            raise Unavailable("the log is not followed")
        if isinstance(tail, QuestionedTail):
            await tail.ask()

    def add(self, layout: KeyLayout, projector: Projector) -> ResourceCache:
        """Create the cache of a resource. After the start it has to be filled, with :meth:`fill`, before it is read.

        Raises:
            ValueError: Before the start: the resource has a cache.
        """
        cache = ResourceCache(
            CacheSource(layout, projector),
            backend=self._backend,
            position=self._position,
            clock=self._clock,
            settings=self._settings,
        )
        if self._running is None:
            if layout.prefix in self._caches:
                raise ValueError(f"the resource has a cache already: {layout.prefix!r}")
            self._follow_with(cache)
        return cache

    async def fill(self, cache: ResourceCache) -> None:
        """Fill a cache that was added after the start; from then on it follows the log.

        Other caches are read and watched meanwhile, also one of the same resource.

        Raises:
            Unavailable: The store cannot be read, or its log broke off again and again.
            Exception: What the store raises otherwise.
        """
        pause = _FIRST_PAUSE
        for _ in range(_ATTEMPTS):
            if self.ready and await self._filled(cache):
                return
            await sleep(self._clock, pause)
            pause *= 2
        raise Unavailable("the log of the store broke off while a cache was filled")

    async def _filled(self, cache: ResourceCache) -> bool:
        """Fill a cache with what the others are complete up to, then with what they get meanwhile; whether that succeeded."""
        at = self._position.revision
        waiting: list[LogEvent] = []
        self._waiting[cache] = waiting
        try:
            entries = await self._read(cache.prefix, at)
            if self._waiting.get(cache) is not waiting:
                return False  # the log broke off, or is too fast
            cache.fill(entries, at)
            for change in waiting:
                cache.apply(change)
            self._follow_with(cache)
        except Compacted:
            return False
        finally:
            self._waiting.pop(cache, None)
        return True

    def remove(self, cache: ResourceCache) -> None:
        """End the watches of a cache cleanly, and let it go once no request uses it any more.

        Until then it follows the log, so that requests which began with it end as they would have.
        """
        followed = self._caches.get(cache.prefix, ())
        if cache in followed:
            self._removed.add(cache)
            self._caches[cache.prefix] = tuple(other for other in followed if other is not cache)
            if not self._caches[cache.prefix]:
                del self._caches[cache.prefix]
        cache.end_watches(closed=True)

    def _follow_with(self, cache: ResourceCache) -> None:
        self._caches[cache.prefix] = (*self._caches.get(cache.prefix, ()), cache)

    def _all(self) -> list[ResourceCache]:
        return [*chain.from_iterable(self._caches.values()), *self._removed]

    async def start(self) -> None:
        """Fill the caches and follow the log; return once they are complete. Retries until it succeeds or is stopped."""
        self._silence.start()
        self._running = Deferred.fromCoroutine(self._run())
        if not self.ready and not self._stopping:
            waiting: Deferred[None] = Deferred(self._started.remove)
            self._started.append(waiting)
            await waiting

    async def stop(self) -> None:
        """End all watches cleanly and stop following the log. Later reads raise TooManyRequests."""
        self._stopping = True
        self._silence.stop()
        self._position.mark_unready()
        for cache in self._all():
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
            resume = False
            try:
                if not self._filled_once:
                    await self._fill()
                await self._follow()
            except Unavailable as error:
                # A private log is that of an author's code, which starts over itself.
                resume = self._filled_once and not self._position.private
                self._log.warn("the log of the store broke off: {error}", error=error)
            except (Compacted, Future) as error:
                self._log.warn("the log of the store broke off: {error}", error=error)
            except GeneratorExit:  # nobody waits for it any more
                raise
            except BaseException as error:  # noqa: BLE001 -- whatever a backend raises, the server keeps trying
                if not (self._stopping and isinstance(error, CancelledError)):
                    self._log.failure("the log of the store broke off")
            if self._stopping:
                return
            if resume:
                pause = _FIRST_PAUSE if self._heard else min(pause * 2, _LONGEST_RESUMING)
                self._drop_tail()
            else:
                pause = _FIRST_PAUSE if self._lasted() else min(pause * 2, _LONGEST_PAUSE)
                self._interrupt()
            try:
                await sleep(self._clock, pause)
            except CancelledError:
                return

    def _lasted(self) -> bool:
        """Whether the next attempt may come soon.

        A private log is as good as an author's code, which may fail again as soon as it is followed: its readers must not
        start over ten times a second.
        """
        followed = self._clock.seconds() - self._ready_since
        return self.ready and (not self._position.private or followed >= _LONGEST_PAUSE)

    def _interrupt(self) -> None:
        """The caches may be incomplete from now on: refuse reads and end watches."""
        self._filled_once = False
        self._position.mark_unready()
        self._drop_tail()
        self._waiting.clear()
        for cache in self._all():
            cache.end_watches()

    def _drop_tail(self) -> None:
        tail, self._tail = self._tail, None
        if tail is not None:
            tail.close()

    async def _fill(self) -> None:
        """Read every resource as it was at the oldest revision, so that watches can resume from there.

        But no further back than a history can reach: what it would drop again is not worth replaying.

        Raises:
            Unavailable: The store is half filled: several processes can have it open while it is filled by one.
        """
        at = await self._backend.oldest()
        if not self._position.private:  # whose revision is asked of an author's code, and whose past is short
            if why := await half_filled(self._backend):
                raise Unavailable(why)
            at = max(at, await self._backend.revision() - self._settings.history.max_events)
        for cache in self._all():
            cache.fill(await self._read(cache.prefix, at), at)
        self._position.revision = at
        self._filled_once = True

    async def _read(self, prefix: bytes, at: int) -> list[KeyValue]:
        """What the store has under a prefix, as of a revision."""
        entries: list[KeyValue] = []
        after = b""
        while True:
            page = await self._backend.page(prefix, at=at, after=after, limit=_PAGE)
            entries.extend(page.entries)
            if not page.more:
                return entries
            after = page.entries[-1].key
            await sleep(self._clock, 0)

    async def _follow(self) -> None:
        """Read the log from the position; the caches are ready once they reach the revision that is current now."""
        self._heard = False
        current = 0 if self.ready else await self._backend.revision()
        self._tail = tail = self._backend.tail(self._position.revision)
        self._reached(self._position.revision, current)
        unbroken = 0
        async for batch in tail:
            self._heard = True
            self._silence.hear()
            self._dispatch(batch)
            self._reached(batch.progress, current)
            unbroken = 0 if self.ready else unbroken + len(batch.changes)
            if unbroken >= _TURN:
                unbroken = 0
                await sleep(self._clock, 0)

    def _dispatch(self, batch: Batch) -> None:
        """Pass changes to their caches. Keys of no known resource are ignored: other processes may share the store."""
        aside = bool(self._waiting or self._removed)
        for change in batch.changes:
            prefix = resource_prefix_of(change.key)
            for cache in self._caches.get(prefix, ()):
                cache.apply(change)
            if aside:
                self._dispatch_aside(prefix, change)

    def _dispatch_aside(self, prefix: bytes, change: LogEvent) -> None:
        """Pass a change to caches that come or go."""
        for cache in tuple(self._removed):
            if cache.prefix == prefix:
                cache.apply(change)
        for cache, waiting in tuple(self._waiting.items()):
            if cache.prefix == prefix:
                waiting.append(change)
                if len(waiting) > _MOST_WAITING:
                    del self._waiting[cache]

    def _reached(self, revision: int, current: int) -> None:
        """The caches are complete up to ``revision``."""
        if self._position.ready:
            self._position.advance(revision)
        elif revision >= current:
            self._ready_since = self._clock.seconds()
            self._position.mark_ready(revision)
            self._wake_started()
        else:
            self._position.revision = revision
