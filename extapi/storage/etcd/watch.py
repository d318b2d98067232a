"""The tail: one watch over all keys below the prefix, with marks that say how far it is complete. Knows no calls but its own.

Only an answer without events is a mark: the revision of one with events may be ahead of what was sent, while the watch
catches up (etcd issue 15220). Marks are asked for, again and again while one is wanted: a watch that catches up drops the
question.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

from twisted.internet.defer import Deferred

from extapi.clock import Clock, Timer
from extapi.storage.base import Batch, Compacted, Future, LogEvent, Unavailable
from extapi.storage.etcd import wire
from extapi.storage.etcd.call import RpcCall
from extapi.storage.etcd.deadlines import Deadlines
from extapi.storage.etcd.times import TOLD_SECONDS
from extapi.storage.tail import BEHIND_BYTES, BEHIND_CHANGES

_ASK_SECONDS: Final = 0.1
"""The time between two questions for the same mark, as in kube-apiserver
(``k8s.io/apiserver/pkg/storage/cacher/progress``)."""
_STALE: Final = (
    "etcdserver: invalid auth token",
    "etcdserver: revision of auth store is old",
    "etcdserver: user name is empty",
)
"""Reasons for which a new token helps."""


class WatchedLog(Protocol):
    """What a tail needs of the backend."""

    @property
    def offset(self) -> int:
        """How far the store's revisions are above etcd's, once the tail is counted."""
        ...

    async def begins(self, tail: WatchTail, after: int) -> int:
        """Count the tail among those that commits wait for; the current revision.

        Raises:
            Compacted: ``after`` is older than the oldest revision.
            Future: ``after`` is newer than the current one.
            Unavailable: etcd cannot be asked.
        """
        ...

    async def watch(
        self, start: int, message: Callable[[bytes], None], end: Callable[[Exception | None], None]
    ) -> RpcCall:
        """Watch all keys, and the mark, from a revision of etcd on.

        Raises:
            Unavailable: etcd cannot be reached.
        """
        ...

    def refused(self, call: RpcCall, reason: str) -> None:
        """Etcd has ended a watch, or refused to begin it: another connection may do better, also with a new token."""
        ...

    def key(self, full: bytes) -> bytes | None:
        """A key of etcd without the prefix; None if the store holds nothing there."""
        ...

    def noticed(self, event: wire.EtcdEvent) -> None:
        """What was watched along has changed, such as the mark. May end the tail.

        Raises:
            Unavailable: It says that one cannot go on.
        """
        ...

    def changed(self, event: wire.EtcdEvent) -> None:
        """The tail is given a change, of the mark, too."""
        ...

    def seen(self, revision: int) -> None:
        """The tail is given everything up to a revision."""
        ...

    def compacted(self, oldest: int) -> int:
        """Somebody has compacted to a revision of etcd; the store's oldest revision as it is known now."""
        ...

    def ended(self, tail: WatchTail) -> None:
        """Commits no longer wait for the tail."""
        ...


class WatchTail:
    """A tail (see :class:`extapi.storage.base.Tail`), for one reader at a time."""

    def __init__(self, log: WatchedLog, clock: Clock, after: int, *, told: float = TOLD_SECONDS) -> None:
        self._log = log
        self._told_seconds = told
        self._clock = clock
        self.given = after
        """The log has been queued for the reader up to here."""
        self._offset = 0
        """Of the store's revisions above etcd's; a tail ends when it changes."""
        self._wanted = 0
        """A mark is asked for until one is at least this."""
        self._late = 0
        """Commits up to this revision have not been waited for to the end; until the reader has it, no other one waits."""
        self._call: RpcCall | None = None
        self._timer: Timer | None = None
        self._parts: list[wire.EtcdEvent] = []
        self._parts_bytes = 0
        self._queue: deque[tuple[Batch, int]] = deque()
        self._changes = self._bytes = 0
        self._waiting: Deferred[None] | None = None
        self._told: list[tuple[int, Deferred[None]]] = []
        self._asked: list[Deferred[None]] = []
        """They wait for any answer."""
        self._deadlines = Deadlines(clock)
        self._begun = self._over = self._renewed = False
        self._error: Exception | None = None

    def __aiter__(self) -> WatchTail:
        return self

    async def __anext__(self) -> Batch:
        if self._waiting is not None:
            raise RuntimeError("a tail has one reader at a time")
        if not self._begun and not self._over:
            self._begun = True
            await self._begin()
        while not self._queue:
            if self._over:
                error, self._error = self._error, None
                raise error or StopAsyncIteration
            self._waiting = Deferred(self._forget)
            await self._waiting
        batch, size = self._queue.popleft()
        self._changes -= len(batch.changes)
        self._bytes -= size
        return batch

    def _forget(self, _: Deferred[None]) -> None:
        """The reader was cancelled while it waited; there may be another one."""
        self._waiting = None

    async def _begin(self) -> None:
        try:
            self._wanted = await self._log.begins(self, self.given)
            self._offset = self._log.offset
            await self._watch()
        except (Compacted, Future, Unavailable) as error:
            self.end(error)
        except BaseException:
            self.end(None)
            raise

    async def _watch(self) -> None:
        if not self._over:
            self._call = await self._log.watch(self.given + 1 - self._offset, self._message, self._ended)
        if self._over and self._call is not None:
            self._call.cancel()

    async def _renew(self, refused: RpcCall) -> None:
        """Watch with another token, once.

        Source: ``go.etcd.io/etcd/client/v3`` watch.go, which opens a new stream if shouldRetryWatch.
        """
        self._call = None
        refused.cancel()
        self._renewed = True
        try:
            await self._watch()
        except Unavailable as error:
            self.end(error)

    # -- what etcd sends

    def _message(self, data: bytes) -> None:
        if self._over:
            return
        try:
            answer = wire.watch_answer(data)
        except wire.Malformed as error:
            self._refused(f"etcd sent something else than a watch answer: {error}")
            return
        if answer.canceled:
            if answer.compacted:
                self.end(Compacted(self._log.compacted(answer.compacted)))
            elif answer.created and not self._renewed and any(each in answer.reason for each in _STALE) and self._call:
                self._log.refused(self._call, answer.reason)
                Deferred.fromCoroutine(self._renew(self._call))
            else:
                self._refused(f"etcd ended the watch: {answer.reason or 'without a reason'}")
        elif answer.created:
            self._ask()  # where the past ends
        elif answer.events:
            self._events(answer)
        else:
            self._push(Batch([], answer.revision + self._offset), 0)
        asked, self._asked = self._asked, []
        for sign in asked:
            sign.callback(None)

    def _refused(self, why: str) -> None:
        """End for a reason that has nothing to do with revisions."""
        if self._call is not None:
            self._log.refused(self._call, why)
        self.end(Unavailable(why))

    def _events(self, answer: wire.WatchAnswer) -> None:
        self._parts += answer.events
        self._parts_bytes += sum(_size(event) for event in answer.events)
        if answer.fragment:
            if self._parts_bytes > BEHIND_BYTES:
                self.end(Unavailable(f"etcd sent more than {BEHIND_BYTES} bytes as one answer"))
            return
        events, size = self._parts, self._parts_bytes
        self._parts, self._parts_bytes = [], 0
        changes: list[LogEvent] = []
        progress = self.given
        for event in events:
            revision = event.entry.revision + self._offset
            if revision <= self.given:  # etcd issue 20221
                continue
            self._log.changed(event)
            key = self._log.key(event.entry.key)
            if key is None:
                self._push(Batch(changes, progress), size)
                changes, size = [], 0
                self._notice(event)
                if self._over:
                    return
            elif event.deleted and event.previous is None:
                # The value before was compacted under the watch: what was deleted cannot be told (kubernetes issue 123072).
                self.end(Compacted(self._log.compacted(event.entry.revision)))
                return
            else:
                value = None if event.deleted else event.entry.value
                before = None if event.previous is None else event.previous.value
                changes.append(LogEvent(revision, key, value, before))
            progress = revision
        self._push(Batch(changes, progress), size)

    def _notice(self, event: wire.EtcdEvent) -> None:
        try:
            self._log.noticed(event)
        except Unavailable as error:
            self.end(error)

    def _push(self, batch: Batch, size: int) -> None:
        if not batch.changes and batch.progress <= self.given:
            return
        self.given = batch.progress
        self._log.seen(self.given)
        if self._queue and not batch.changes:
            last, last_size = self._queue.pop()
            self._queue.append((Batch(last.changes, batch.progress), last_size))
        else:
            self._changes += len(batch.changes)
            self._bytes += size
            if self._queue and (self._changes > BEHIND_CHANGES or self._bytes > BEHIND_BYTES):
                self._queue.clear()
                self.end(
                    Unavailable(f"the reader is more than {BEHIND_CHANGES} changes or {BEHIND_BYTES} bytes behind")
                )
                return
            self._queue.append((batch, size))
        self._wake()
        reached = [done for revision, done in self._told if revision <= self.given]
        self._told = [each for each in self._told if each[0] > self.given]
        for done in reached:
            done.callback(None)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    # -- who waits for it

    async def reached(self, revision: int) -> None:
        """Wait until the reader has been given a revision, the tail ends, or the bound is over.

        A tail that was late once is not waited for again before it has caught up, so that a silent member of etcd costs one
        bound and not one for each commit.
        """
        if self._over or self.given >= revision:
            return
        if self._late > self.given:
            self._late = max(self._late, revision)
            return
        done: Deferred[None] = Deferred(self._forget_told)
        self._told.append((revision, done))
        deadline = self._deadlines.add(self._told_seconds, partial(self._too_late, revision, done))
        try:
            await done
        finally:
            self._deadlines.remove(deadline)

    def _forget_told(self, gone: Deferred[None]) -> None:
        self._told = [each for each in self._told if each[1] is not gone]

    def _too_late(self, revision: int, done: Deferred[None]) -> None:
        self._forget_told(done)
        self._late = max(self._late, revision)
        done.callback(None)

    async def marked(self, revision: int) -> None:
        """As :meth:`reached`, and ask for a mark."""
        if self.given < revision:
            self._wanted = max(self._wanted, revision)
            if self._timer is None:
                self._ask()
            await self.reached(revision)

    async def ask(self) -> None:
        """See :meth:`extapi.storage.base.QuestionedTail.ask`: any answer to the watch is a sign."""
        if self._over or self._call is None:
            raise Unavailable("the watch has ended" if self._over else "the watch has not begun")
        sign: Deferred[None] = Deferred(self._asked.remove)
        self._asked.append(sign)
        self._call.send(wire.WATCH_PROGRESS)
        await sign

    def _ask(self) -> None:
        """Ask for a mark, and again soon, as long as one is wanted."""
        self._timer = None
        if self._over or self._call is None or self._wanted <= self.given:
            return
        self._call.send(wire.WATCH_PROGRESS)
        self._timer = self._clock.callLater(_ASK_SECONDS, self._ask)

    # -- the end

    def _ended(self, outcome: Exception | None) -> None:
        self._call = None
        self.end(Unavailable(f"the watch broke off: {outcome or 'etcd ended it'}"))

    def end(self, error: Exception | None) -> None:
        """End with ``error``, or normally, after the reader has taken what is queued."""
        if self._over:
            return
        self._over = True
        self._error = error
        self._log.ended(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._call is not None:
            self._call.cancel()
        self._wake()
        self._deadlines.close()
        told, self._told = self._told, []
        for _, done in told:
            done.callback(None)
        asked, self._asked = self._asked, []
        for sign in asked:
            sign.errback(error or Unavailable("the watch has ended"))

    def close(self) -> None:
        """End the iteration now, and drop what is queued."""
        self._queue.clear()
        self._error = None
        self.end(None)


def _size(event: wire.EtcdEvent) -> int:
    previous: Any = event.previous
    return len(event.entry.key) + len(event.entry.value) + (len(previous.value) if previous else 0)
