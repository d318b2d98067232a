"""The one reader of the store's log: fills the caches of all resources, then hands every commit to the one it is for.

When the log breaks off, everything is begun anew: running watches end, reads are asked to come back (spec F18, E35).
Must not know what an object is.
"""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.client.clock import Clock, sleep
from extapi.storage.base import Backend, Batch, Compacted, Entry, Future, Tail, Unavailable
from extapi.watch.cache import CacheSettings, ResourceCache
from extapi.watch.entry import Projector, Source
from extapi.watch.position import Position

_PAGE = 10_000
"""Objects read at a time when the cache is filled; others get their turn between two pages that are full."""
_TURN = 5000
"""Changes taken in one turn when the log is read from the past."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
"""Seconds before the next attempt after the log broke off: doubled from one to the other."""


class Cacher:
    """All resources of one store. ``reactor``: its clock."""

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
        """Whether the caches are filled and follow the log."""
        return self._position.ready

    @property
    def revision(self) -> int:
        """All caches are complete up to this revision."""
        return self._position.revision

    def add(self, prefix: bytes, namespaced: bool, projector: Projector) -> ResourceCache:
        """The cache of ``/registry/<group>/<resource>/``; before the start. Raises ``ValueError`` for other prefixes."""
        if not prefix or _prefix_of(prefix) != prefix or prefix in self._caches:
            raise ValueError(f"not the prefix of a resource, or there already: {prefix!r}")
        if self._running is not None:
            raise ValueError("resources are added before the start")
        cache = self._caches[prefix] = ResourceCache(
            Source(prefix, namespaced, projector),
            backend=self._backend,
            position=self._position,
            clock=self._clock,
            settings=self._settings,
        )
        return cache

    async def start(self) -> None:
        """Fill the caches and follow the log; returns when they are complete. Tries until it succeeds or is stopped."""
        self._running = Deferred.fromCoroutine(self._run())
        if not self.ready and not self._stopping:
            waiting: Deferred[None] = Deferred(self._started.remove)
            self._started.append(waiting)
            await waiting

    async def stop(self) -> None:
        """End all watches cleanly and follow no more. Reads are refused from now on."""
        self._stopping = True
        self._position.shut()
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
        """Fill and follow, again and again."""
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._fill()
                await self._follow()
            except CancelledError:
                return
            except (Unavailable, Compacted, Future) as error:
                self._log.warn("the log of the store broke off: {error}", error=error)
            except Exception:  # noqa: BLE001 -- whatever a backend does, the server goes on trying
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
        """The caches cannot be believed any more."""
        self._position.shut()
        tail, self._tail = self._tail, None
        if tail is not None:
            tail.close()
        for cache in self._caches.values():
            cache.end_watches()

    async def _fill(self) -> None:
        """Read every resource as it was at the oldest revision, so that watches from there on can go on."""
        at = await self._backend.oldest()
        for prefix, cache in self._caches.items():
            entries: list[Entry] = []
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
        """Read the log from there; the caches are ready once they have reached what was current at the beginning."""
        target = await self._backend.revision()
        self._tail = tail = self._backend.tail(self._position.revision)
        self._reached(self._position.revision, target)
        unbroken = 0
        async for batch in tail:
            self._dispatch(batch)
            self._reached(batch.progress, target)
            unbroken = 0 if self.ready else unbroken + len(batch.changes)
            if unbroken >= _TURN:
                unbroken = 0
                await sleep(self._clock, 0)

    def _dispatch(self, batch: Batch) -> None:
        """Hand out the changes; keys of no resource here are somebody else's."""
        for change in batch.changes:
            cache = self._caches.get(_prefix_of(change.key))
            if cache is not None:
                cache.apply(change)

    def _reached(self, revision: int, target: int) -> None:
        """Everything up to ``revision`` is in the caches."""
        if self._position.ready:
            self._position.advance(revision)
        elif revision >= target:
            self._position.open(revision)
            self._wake_started()
        else:
            self._position.revision = revision


def _prefix_of(key: bytes) -> bytes:
    """``/registry/<group>/<resource>/`` of a key, or the empty bytes."""
    group = key.find(b"/", 1)
    resource = key.find(b"/", group + 1)
    end = key.find(b"/", resource + 1)
    return key[: end + 1] if group > 0 and resource > 0 and end > 0 else b""
