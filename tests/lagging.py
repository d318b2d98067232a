"""A store that other processes write to as well, as one process sees it at the worst moment; and time that waits for a disk.

:class:`LaggingBackend` stands in front of a real store and does whatever :mod:`extapi.storage.base` does not rule out. Its
tails bring the log late, in other batches, with progress of its own, and stop or break off; each answer takes its time, so
that calls end in another order than they began. The log itself stays in order and without gaps, reads stay linearizable,
and a commit of *this* process has been given to its tails when it returns: only commits of other processes, which is what
the store behind it or another ``LaggingBackend`` writes, can be missing.

All of it is decided by ``dice``: a seeded ``Random``, or one of hypothesis.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from extapi.clock import Clock as Reactor, sleep
from extapi.storage.base import Backend, Batch, Compacted, KeyValue, LogEvent, Page, Tail, Unavailable

T = TypeVar("T")
LONGEST = 0.02
"""The longest pause in seconds, unless a test wants another."""
_PATIENCE = 10.0
"""Seconds of real time after which a disk does not answer any more."""


class VirtualTime(Clock):
    """A reactor whose time a test moves by hand, from call to call; a disk that is at work is waited for before.

    So a store on disk gives the same results with every run.
    """

    def __init__(self, now: float = 0.0) -> None:
        super().__init__()
        self.rightNow = now
        self._disks: list[Any] = []

    def addReader(self, reader: Any) -> None:  # noqa: N802 - named by Twisted
        self._disks.append(reader)

    def removeReader(self, reader: Any) -> None:  # noqa: N802 - named by Twisted
        self._disks.remove(reader)

    def advance(self, amount: float) -> None:
        """Move on by ``amount``. Each call is made at its own time, and so is what it leads to."""
        until = self.seconds() + amount
        self._collect()
        while self.calls and self.calls[0].getTime() <= until:
            self.rightNow = max(self.rightNow, self.calls[0].getTime())
            super().advance(0)
            self._collect()
        self.rightNow = max(self.rightNow, until)

    def _collect(self) -> None:
        """Wait for the disks, of which each has one piece of work at most."""
        while busy := [disk for disk in self._disks if disk.busy]:
            readable, _, _ = select.select(busy, [], [], _PATIENCE)
            assert readable, "the disk does not answer"
            for disk in readable:
                disk.doRead()

    def run(self, coroutine: Coroutine[Any, Any, T], *, seconds: float = 60.0) -> T:
        """The result of a coroutine; time moves on meanwhile, no further than it has to."""
        results: list[T | Failure] = []
        running = Deferred.fromCoroutine(coroutine)
        running.addBoth(results.append)
        until = self.seconds() + seconds
        self.advance(0)
        while not results:
            following = min((call.getTime() for call in self.calls), default=until)
            if following >= until:
                running.cancel()
                raise TimeoutError(f"not done after {seconds} seconds")
            self.advance(following - self.seconds())
        result = results[0]
        if isinstance(result, Failure):
            result.raiseException()
        return result


class LaggingBackend:
    """What one process sees of ``backend``, late. Several of them on one store are several processes."""

    def __init__(self, backend: Backend, clock: Reactor, dice: Random | int, *, longest: float = LONGEST) -> None:
        """Stand in front of ``backend``.

        Args:
            backend: The store; what is committed there directly is another process's commit.
            clock: The reactor's clock.
            dice: Decides everything; or the seed of dice that do.
            longest: The longest pause, in seconds.
        """
        self._backend = backend
        self._clock = clock
        self._dice = dice if isinstance(dice, Random) else Random(dice)  # noqa: S311 - repeatable, not secret
        self._longest = longest
        self._tails: list[LaggingTail] = []
        self._commits: list[Deferred[int]] = []
        """Commits that are under way."""
        self._closed = False
        self.held = False
        self.breaks = 0.0
        """The chance that a tail breaks off before a batch, and that a cache cannot be filled."""
        self.unreadable = False
        """Whether the store cannot be read at all."""
        self.answers_late: bool | None = None
        """Whether commits are answered late (True), or enter the log late (False); None: as it comes."""

    # -- what a test decides itself

    def hold(self) -> None:
        """Let the tails bring nothing but what this process commits, and what must come before it."""
        self.held = True

    def flow(self) -> None:
        """Let the tails go on."""
        self.held = False
        for tail in self._shuffled():
            tail.schedule()

    def cut(self, *, compacted: bool = False) -> None:
        """Break off every tail, and what it had on the way; ``compacted``: so that it cannot be read on from there."""
        for tail in self._shuffled():
            tail.cut(Compacted(0) if compacted else None)

    @property
    def idle(self) -> bool:
        """Whether the tails have brought all that they know."""
        return all(tail.idle for tail in self._tails)

    # -- what the dice decide

    def pause_seconds(self) -> float:
        """How long something takes."""
        return self._dice.random() * self._longest

    def size_of_batch(self, waiting: int) -> int:
        """How many of the waiting changes come together: few, or all of them."""
        return waiting if self._dice.random() < 0.3 else self._dice.randint(1, min(waiting, 3))

    def wants_mark(self) -> bool:
        """Whether a batch without changes comes first."""
        return self._dice.random() < 0.2

    def breaks_off(self) -> bool:
        """Whether something fails now that may fail."""
        return bool(self.breaks) and self._dice.random() < self.breaks

    async def _pause(self) -> None:
        if self._dice.random() < 0.5:
            await sleep(self._clock, self.pause_seconds())

    def _shuffled(self) -> list[LaggingTail]:
        tails = self._tails.copy()
        self._dice.shuffle(tails)
        return tails

    async def _late(self, ask: Callable[[], Coroutine[Any, Any, T]], *, filling: bool = False) -> T:
        """Ask later than we were asked, and answer later than we know."""
        await self._pause()
        if self.unreadable or (filling and self.breaks_off()):
            raise Unavailable("the connection to the store is lost")
        result = await ask()
        await self._pause()
        return result

    # -- the protocol: see extapi.storage.base.Backend

    async def get(self, key: bytes) -> KeyValue | None:
        return await self._late(lambda: self._backend.get(key))

    async def revision(self) -> int:
        return await self._late(self._backend.revision)

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        return await self._late(lambda: self._backend.page(prefix, at=at, after=after, limit=limit))

    async def oldest(self) -> int:
        return await self._late(self._backend.oldest, filling=True)

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        if self._closed:
            raise Unavailable("the store is closed")
        committing = Deferred.fromCoroutine(self._commit(key, value, expected))
        self._commits.append(committing)
        try:
            return await committing
        finally:
            self._commits.remove(committing)

    async def _commit(self, key: bytes, value: bytes | None, expected: int) -> int:
        """It may enter the log late, and be answered late; the tails have it before the answer, at the latest."""
        if self.answers_late is not True:
            await self._pause()
        revision = await self._backend.commit(key, value, expected=expected)
        if self.answers_late is not False:
            await self._pause()
        tails = self._shuffled()
        for tail in tails:
            tail.give(revision)
        for tail in tails:
            tail.wake()
        if self.answers_late is not False:
            await self._pause()
        return revision

    def tail(self, after: int) -> Tail:
        return LaggingTail(self, self._backend.tail(after), after, self._clock)

    async def progress(self) -> None:
        """The marks are on their way when it returns, as with etcd."""
        await self._late(self._backend.progress)

    async def compact(self, revision: int, *, expected: int) -> int:
        return await self._late(lambda: self._backend.compact(revision, expected=expected))

    async def close(self) -> None:
        """Commits that were accepted come first."""
        self._closed = True
        while self._commits:
            await sleep(self._clock, self.pause_seconds())
        await self._backend.close()

    # -- called by tails

    def join(self, tail: LaggingTail) -> None:
        self._tails.append(tail)

    def leave(self, tail: LaggingTail) -> None:
        if tail in self._tails:
            self._tails.remove(tail)


class LaggingTail:
    """A tail that has read the log of the real one, and passes it on when the dice want it to."""

    def __init__(self, store: LaggingBackend, tail: Tail, after: int, clock: Reactor) -> None:
        self._store = store
        self._tail = tail
        self._clock = clock
        self._coming: deque[LogEvent] = deque()
        """What is in the log, but has not been passed on."""
        self._known = self._told = after
        """How far the log is known to be complete, and how far the reader has been told."""
        self._mark = False
        """Whether a mark was asked for that the reader has not been told."""
        self._ready: deque[Batch] = deque()
        """What the reader gets next."""
        self._waiting: Deferred[None] | None = None
        self._timer: Any = None
        self._begun = False
        self._over: Exception | None = None
        """How the real tail ended; the reader learns it after all changes."""
        self._ended: Exception | None = None

    def __aiter__(self) -> LaggingTail:
        return self

    async def __anext__(self) -> Batch:
        if not self._begun:
            self._begun = True
            self._store.join(self)
            Deferred.fromCoroutine(self._read())
        while not self._ready:
            if self._ended is not None:
                error, self._ended = self._ended, StopAsyncIteration()
                raise error
            self._waiting = Deferred(self._forget)
            await self._waiting
        return self._ready.popleft()

    def _forget(self, _: Deferred[None]) -> None:
        self._waiting = None

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way."""
        return self._timer is None and not self._ready

    async def _read(self) -> None:
        """Follow the real tail, so that it is never behind."""
        over: Exception = StopAsyncIteration()
        try:
            async for batch in self._tail:
                self._coming.extend(batch.changes)
                self._mark = self._mark or not batch.changes
                self._known = batch.progress
                self.schedule()
        except Exception as error:  # noqa: BLE001 - the reader gets it
            over = error
        self._over = over
        self.schedule()

    def schedule(self) -> None:
        """Pass on some of what is coming, later."""
        over = self._over is not None
        something = self._coming or self._mark or self._told < self._known or over
        if something and self._timer is None and self._ended is None and (not self._store.held or over):
            self._timer = self._clock.callLater(self._store.pause_seconds(), self._step)

    def _step(self) -> None:
        self._timer = None
        if self._store.held and self._over is None:
            return
        if self._store.breaks_off():
            self.cut()
            return
        if self._coming:
            if self._store.wants_mark():
                self._ready.append(Batch([], self._told))
            self._pass(self._store.size_of_batch(len(self._coming)))
        elif self._mark or self._told < self._known:
            self._told, self._mark = self._known, False
            self._ready.append(Batch([], self._told))
        elif self._over is not None:
            self._end(self._over)
        self.wake()
        self.schedule()

    def _pass(self, count: int) -> None:
        """Pass on the next changes; that nothing else came up to the known revision may be told later."""
        changes = [self._coming.popleft() for _ in range(count)]
        self._told = changes[-1].revision
        if not self._coming and not self._store.wants_mark():
            self._told = self._known
        self._ready.append(Batch(changes, self._told))

    def give(self, revision: int) -> None:
        """Pass on what there is up to a commit of this process, in one batch or more."""
        while count := sum(change.revision <= revision for change in self._coming):
            self._pass(self._store.size_of_batch(count))

    def wake(self) -> None:
        """Resume the reader, which runs before this returns."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def _end(self, error: Exception) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._ended is None:
            self._ended = error
        self._store.leave(self)
        self._tail.close()

    def cut(self, error: Exception | None = None) -> None:
        """Break off: what is on the way is lost."""
        self._ready.clear()
        self._coming.clear()
        self._end(error or Unavailable("the log broke off"))
        self.wake()

    def close(self) -> None:
        """End the iteration."""
        self._ready.clear()
        self._end(StopAsyncIteration())
        self.wake()
