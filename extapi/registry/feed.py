"""The feed of a virtual kind, and the watch cache that is kept of it: put together, started and stopped.

Each feed has a log and a cacher of its own, so one that fails or is slow delays no other kind.
"""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any, Final

from twisted.internet.defer import Deferred, DeferredLock

from extapi.clock import Late, in_time
from extapi.registry.feedlog import FeedLog
from extapi.registry.served import ServedKind
from extapi.registry.store import Store
from extapi.storage.compaction import Compactor
from extapi.watch.cache import ResourceCache
from extapi.watch.cacher import Cacher

START_SECONDS: Final = 10.0
"""How long a server that starts waits for the first list, in seconds. Then it is ready, and reads of the kind are 429."""


class KindFeed:
    """The feed of one kind. ``clock``: a reactor; ``random``: for generated names and the durations of watches."""

    def __init__(self, kind: ServedKind, clock: Any, random: Random) -> None:
        self.log = FeedLog(kind, clock)
        self._clock = clock
        self._cacher = Cacher(self.log, clock, private=True)
        self._compactor = Compactor(self.log.memory, clock)
        self.cache: ResourceCache = self._cacher.add(kind.layout, kind)
        """What readers see."""
        self.store = Store(kind, self.cache, clock, random)
        """What reads take from; it takes no writes."""
        self._locks: dict[bytes, DeferredLock] = {}
        self._stopped = False

    async def start(self, context: Any) -> None:
        """Begin to list and to follow, and wait for the first list, but not for long; ``context``: for the author's code."""
        self.log.begin(context)
        self._compactor.start()
        with contextlib.suppress(Late):
            await in_time(self._clock, START_SECONDS, Deferred.fromCoroutine(self._cacher.start()))

    async def stop(self) -> None:
        """End all watches cleanly, and ask the author's code no more."""
        if self._stopped:
            return
        self._stopped = True
        self.log.stop()
        await self._compactor.stop()
        await self._cacher.stop()
        await self.log.close()

    def lock(self, key: bytes) -> KeyLock:
        """Lets the writes of one object through one after the other, so that each sees what the one before left."""
        return KeyLock(self._locks, key)


class KeyLock:
    """An async context manager."""

    def __init__(self, locks: dict[bytes, DeferredLock], key: bytes) -> None:
        self._locks = locks
        self._key = key
        self._lock = locks.setdefault(key, DeferredLock())

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, *error: object) -> None:
        lock = self._lock
        lock.release()
        if not lock.locked and not lock.waiting and self._locks.get(self._key) is lock:
            del self._locks[self._key]
