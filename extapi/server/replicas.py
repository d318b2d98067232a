"""The servers that share a store, and whether this one may store objects beside the others (:mod:`extapi.registry.replicarecord`).

Each keeps a record in the store under its own key, and renews it. A record that has not changed for :data:`LIFE` seconds, as
this server has seen, is taken away, by compare-and-set; clocks are not compared. Who finds that its record is gone is a newcomer
again. A newcomer first writes its record, then reads all others: of two that do so at a time at least one sees the other. If it
does not go together with one of them, it takes its record away, and tries again; otherwise it is admitted.

Nothing is stored on behalf of a server that has not been admitted, or that has not renewed its record for :data:`FRESH` seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from time import monotonic
from typing import Final

import msgspec
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.logger import Logger

from extapi.clock import Clock, sleep
from extapi.registry.replicarecord import (
    PREFIX,
    KindVersions,
    ReplicaRecord,
    conflict,
    read_record,
    versions_of,
)
from extapi.registry.served import ServedKind
from extapi.storage.base import Backend, KeyValue, RevisionConflict, Unavailable

INTERVAL: Final = 10.0
"""Seconds between two renewals."""
RETRY: Final = 2.0
"""Seconds until the next attempt of a server that has to wait or whose renewal failed; up to a half more, by chance."""
FRESH: Final = 20.0
"""Seconds after the beginning of the last renewal in which objects may be stored: less than others wait."""
LIFE: Final = 30.0
"""Seconds after which a record that has not changed is taken away."""
_PAGE: Final = 500
_WAITING: Final = "this server has not yet compared the versions that it stores with those that others read"


class Replicas:
    """This server among the others on its store, from :meth:`admit` to :meth:`stop`.

    Args:
        backend: The store, not one that asks :meth:`confirm` before a write.
        clock: The reactor.
        name: Who this server is; no two may have the same. No slash.
        kinds: What is served now.
        random: Spreads attempts.
        timer: Monotonic seconds.
    """

    _log = Logger()

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        *,
        name: str,
        kinds: Callable[[], Iterable[ServedKind]],
        random: Random,
        timer: Callable[[], float] = monotonic,
    ) -> None:
        self._backend = backend
        self._clock = clock
        self.name = name
        self._key = PREFIX + name.encode()
        self._kinds = kinds
        self._following: Sequence[ServedKind] = ()
        self._refused = ""
        """Why these may not be served."""
        self._timer = timer
        self._random = random
        self._revision = 0
        """Of our record; 0: there is none."""
        self._beat = 0
        self._admitted = False
        self._renewed = float("-inf")
        self._why = _WAITING
        self._told = ""
        self._seen: dict[bytes, tuple[int, float]] = {}
        """The revision of each other record, and when it was first seen."""
        self._others = 0
        self._lock = DeferredLock()
        """One round at a time."""
        self._running: Deferred[None] | None = None
        self._waiting: Deferred[None] | None = None
        self._stopped = False

    # -- for the server

    async def admit(self) -> None:
        """Keep a record from now on; return when this server may store objects, or is stopped."""
        waiting: Deferred[None] = Deferred()
        self._waiting = waiting
        self._running = Deferred.fromCoroutine(self._run())
        await waiting

    def check(self) -> str | None:
        """The readiness check ``replicas``."""
        if not self._admitted:
            return self._why
        if not self._is_fresh():
            return f"the record of this server has not been renewed for {FRESH:.0f} s"
        return None

    def note(self) -> str:
        """For operators: how many servers there are."""
        return f"one of {self._others + 1} on this store"

    def told(self) -> str:
        """Why this server is not ready. No secret is in it, and who can put it right has to see it."""
        return self.check() or ""

    async def confirm(self) -> None:
        """Return if objects may be stored now.

        Raises:
            Unavailable: They may not; says why.
        """
        if self._admitted and not self._is_fresh():  # this process was paused, or the store was away
            await self._lock.acquire()
            try:
                if not self._is_fresh() and not self._stopped:
                    await self._turn()
            finally:
                self._lock.release()
        if not self._admitted:
            raise Unavailable(self._why)

    async def allow(self, kinds: Sequence[ServedKind]) -> None:
        """Say that these kinds are about to be served instead; :meth:`settle` has to be called afterwards.

        Raises:
            Unavailable: Another server cannot read what they would store, or stores what they cannot read.
        """
        self._following = tuple(kinds)
        try:
            await self._round()
        except BaseException:
            self._following = ()
            raise
        if self._refused:
            self._following = ()
            raise Unavailable(self._refused)

    def settle(self) -> None:
        """The kinds of :meth:`allow` are served now, or will not be."""
        self._following = ()

    async def stop(self) -> None:
        """Take the record away, as far as the store answers: others need not wait for its end."""
        self._stopped = True
        self._admitted, self._why = False, "this server stops"
        if self._running is not None:
            self._running.cancel()
        self._wake()
        try:
            await self._leave()
        except Unavailable as error:
            self._log.warn("the record of this server could not be taken away: {error}", error=str(error))

    # -- rounds

    async def _run(self) -> None:
        while not self._stopped:
            pause = INTERVAL
            try:
                await self._round()
            except Unavailable as error:
                self._log.warn("the record of this server could not be renewed: {error}", error=str(error))
                pause = RETRY
            except Exception:  # noqa: BLE001 - whatever a backend raises, there is another attempt
                if self._is_stopped():
                    return
                self._log.failure("the record of this server could not be renewed")
                pause = RETRY
            if self._admitted:
                self._wake()
            else:
                pause = RETRY
            try:
                await sleep(self._clock, pause * (1 + self._random.random() / 2) if pause == RETRY else pause)
            except CancelledError:
                return

    def _is_stopped(self) -> bool:
        return self._stopped

    async def _round(self) -> None:
        """Renew the record, and look at those of the others.

        Raises:
            Unavailable: The store cannot be reached.
        """
        await self._lock.acquire()
        try:
            await self._turn()
        finally:
            self._lock.release()

    async def _turn(self) -> None:
        self._refused = ""
        served = tuple(self._kinds())
        wanted = versions_of((*served, *self._following))
        await self._write(wanted)
        others = await self._living()
        self._others = len(others)
        why = ""
        if not self._admitted or self._following:  # to one that has been admitted, newcomers give way
            why = next(filter(None, (conflict(wanted, name, each.kinds) for name, each in others.items())), "")
        if self._admitted:
            self._refused = why
            if why:
                await self._write(versions_of(served))
        elif why:
            await self._wait(why)
        else:
            self._admitted, self._told = True, ""

    async def _wait(self, why: str) -> None:
        """Give way. Without that, two newcomers that do not go together would wait for one another."""
        self._why = why
        if why != self._told:
            self._told = why
            self._log.error("this server is not ready: {why}", why=why)
        await self._leave()

    async def _leave(self) -> None:
        """Take our record away."""
        while self._revision:
            try:
                await self._backend.commit(self._key, None, expected=self._revision)
            except RevisionConflict as error:
                # Gone, or of a write of ours whose answer was lost.
                self._revision = error.live.revision if error.live is not None else 0
            else:
                self._revision = 0

    async def _write(self, kinds: Mapping[str, KindVersions]) -> None:
        """Write our record. If somebody has taken it away, this server is a newcomer, and nothing of it counts."""
        while True:
            began = self._timer()
            self._beat += 1
            value = msgspec.json.encode(ReplicaRecord(kinds, self._beat))
            try:
                self._revision = await self._backend.commit(self._key, value, expected=self._revision)
            except RevisionConflict as error:
                if error.live is not None:  # of a write of ours whose answer was lost
                    self._revision = error.live.revision
                    continue
                self._revision = 0
                self._admitted, self._why = False, _WAITING
                continue
            self._renewed = began
            return

    async def _living(self) -> dict[str, ReplicaRecord]:
        """The others' records, without those that nobody has renewed."""
        found: dict[str, ReplicaRecord] = {}
        seen, self._seen = self._seen, {}
        for entry in await self._records():
            if entry.key == self._key:
                continue
            revision, since = seen.get(entry.key, (0, 0.0))
            if revision != entry.revision:
                since = self._timer()
            elif self._timer() - since > LIFE and await self._remove(entry.key, entry.revision):
                continue
            self._seen[entry.key] = (entry.revision, since)
            name = entry.key[len(PREFIX) :].decode(errors="replace")
            try:
                found[name] = read_record(entry.value)
            except ValueError:
                self._log.error("the record of {name} cannot be read, and is ignored", name=name)
        return found

    async def _records(self) -> list[KeyValue]:
        entries: list[KeyValue] = []
        after = b""
        while True:
            page = await self._backend.page(PREFIX, at=None, after=after, limit=_PAGE)
            entries += page.entries
            if not page.more:
                return entries
            after = page.entries[-1].key

    async def _remove(self, key: bytes, revision: int) -> bool:
        """Take the record of another server away, unless it has been renewed; whether it is gone."""
        try:
            await self._backend.commit(key, None, expected=revision)
        except RevisionConflict as error:
            return error.live is None
        return True

    def _is_fresh(self) -> bool:
        return self._timer() - self._renewed <= FRESH

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)
