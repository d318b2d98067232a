"""A store in etcd: many processes, one log. A commit is a transaction, a tail a watch, a compaction etcd's own.

Keys are kept below ``<prefix>/data``, the mark at ``<prefix>/mark``. Revisions are etcd's, which others raise as well, and the
mark's offset. Must not know API types.

Source: ``k8s.io/apiserver/pkg/storage/etcd3`` store.go, watcher.go, compact.go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from twisted.internet.defer import Deferred

from extapi.storage.base import (
    Compacted,
    Future,
    KeyValue,
    NotFreed,
    Page,
    RevisionConflict,
    StoreRefused,
    Unavailable,
    Uncertain,
)
from extapi.storage.etcd import wire
from extapi.storage.etcd.alarms import EtcdAlarms
from extapi.storage.etcd.call import RpcCall, RpcError
from extapi.storage.etcd.calls import Denied, StoreCalls
from extapi.storage.etcd.channel import Channel
from extapi.storage.etcd.compactions import compacted_to
from extapi.storage.etcd.endpoints import EtcdAccess, EtcdOptions
from extapi.storage.etcd.health import EtcdHealth
from extapi.storage.etcd.mark import LARGEST, write_mark
from extapi.storage.etcd.numbering import Numbering
from extapi.storage.etcd.watch import WatchTail
from extapi.storage.etcd.witness import Witness, recognize
from extapi.storage.keys import check_write, successor

_FIRST_PART: Final = 100
_LARGEST_PART: Final = 5_000
"""Keys that are read in one call: the first time, and at most."""
_PART_BYTES: Final = 8 * 1024 * 1024
"""About so many bytes are read in one call, once it is known how large the values are."""
_MOST: Final = 2**63 - 1
_DENIED: Final = "etcdserver: permission denied"
_ROOT_COMPACTS: Final = (
    "etcd lets only root compact it, and keeps what is older: let etcd compact itself (--auto-compaction-retention=10m), "
    "or give the user of this server in etcd the role root"
)
"""From 3.5.35 and 3.7 on, at the latest (``go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc`` key.go Compact)."""


class EtcdBackend:
    """A :class:`~extapi.storage.base.Backend`, and an :class:`~extapi.storage.base.Engine`.

    Args:
        reactor: An ``IReactorTime`` and ``IReactorTCP``.
        options: Where etcd is, and how it is reached.
        first: Which of its servers is used first; the next one when that fails, and so on.

    Raises:
        UnusableStore: The options cannot be used: a file cannot be read.
        ValueError: One of the servers is no address.
    """

    name = "etcd"

    def __init__(self, reactor: Any, options: EtcdOptions, *, first: int = 0) -> None:
        access = EtcdAccess(options)
        self._clock = reactor
        self._times = options.times
        self._numbers = Numbering()
        self._witness = Witness()
        confirm = partial(recognize, self._witness, self._numbers)
        self._watching = Channel(reactor, access, start=first, confirm=confirm)
        prefix = options.prefix.rstrip("/").encode()
        self._data = prefix + b"/data"
        self._mark = prefix + b"/mark"
        self._health = EtcdHealth(self._read_revision, reactor, options.healthcheck_timeout)
        self._calls = StoreCalls(
            Channel(reactor, access, start=first, confirm=confirm),
            self._numbers,
            self._mark,
            create=options.create,
            answered=self._health.answered,
            renumbered=self._renumbered,
        )
        self._alarms = EtcdAlarms(self._ask_alarms, reactor)
        self._tails: list[WatchTail] = []
        self._asking = False
        self._askers: list[Deferred[int]] = []

    # -- an engine

    async def open(self) -> None:
        """See :meth:`extapi.storage.base.Engine.open`: the version of each member that can be reached is checked."""
        await self._calls.channel.versions()
        self._health.start()
        self._alarms.start()

    def check(self) -> str | None:
        """See :meth:`extapi.storage.base.Engine.check`."""
        if self._numbers.refusal:
            return "etcd has an older state than before; the log says what to do"
        return self._alarms.check() or self._health.check()

    def note(self) -> str:
        """See :meth:`extapi.storage.base.NotingEngine.note`."""
        return self._alarms.note()

    async def _ask_alarms(self) -> wire.Status:
        return wire.read(wire.status_answer, await self._calls.call(wire.STATUS, b""))

    # -- what tails need

    def noticed(self, event: wire.EtcdEvent) -> None:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.noticed`."""
        self._calls.noticed(event)

    @property
    def offset(self) -> int:
        """See :attr:`extapi.storage.etcd.watch.WatchedLog.offset`."""
        return self._numbers.offset

    def compacted(self, oldest: int) -> int:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.compacted`."""
        return self._numbers.compacted(oldest)

    def seen(self, revision: int) -> None:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.seen`."""
        self._numbers.seen(revision)
        self._witness.pass_to(revision - self.offset)

    def changed(self, event: wire.EtcdEvent) -> None:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.changed`."""
        self._witness.change(event.entry.key, event.entry.revision, deleted=event.deleted)

    def _renumbered(self) -> None:
        """The past means nothing now."""
        self._witness.forget()
        for tail in tuple(self._tails):
            tail.end(Compacted(self._numbers.oldest))

    def _entry(self, key: bytes, entry: wire.Entry) -> KeyValue:
        return KeyValue(key, entry.value, entry.revision + self.offset)

    # -- reading

    async def get(self, key: bytes) -> KeyValue | None:
        """See :meth:`extapi.storage.base.Backend.get`."""
        await self._calls.begun()
        entries = (await self._calls.range(self._data + key)).entries
        return self._entry(key, entries[0]) if entries else None

    async def revision(self) -> int:
        """See :meth:`extapi.storage.base.Backend.revision`; those who ask while a question is on its way share the next one."""
        if self._calls.closed:
            raise Unavailable("the store is closed")
        done: Deferred[int] = Deferred(self._forget)
        self._askers.append(done)
        if not self._asking:
            self._asking = True
            Deferred.fromCoroutine(self._ask())
        return await done

    def _forget(self, gone: Deferred[int]) -> None:
        if gone in self._askers:
            self._askers.remove(gone)

    async def _ask(self) -> None:
        while self._askers:
            askers, self._askers = self._askers, []
            revision = 0
            failure: Exception | None = None
            try:
                revision = await self._read_revision()
            except Exception as error:  # noqa: BLE001 - those who asked get it
                failure = error
            for each in [asker for asker in askers if not asker.called]:  # some no longer wait
                if failure is None:
                    each.callback(revision)
                else:
                    kind = type(failure) if isinstance(failure, Unavailable) else Unavailable
                    each.errback(kind(str(failure)))
        self._asking = False

    async def _read_revision(self, seconds: float | None = None) -> int:
        return (await self._calls.read_mark(seconds))[1]

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`; read in parts of one revision, which follow the size of values."""
        await self._calls.begun()
        offset = self.offset
        if at is not None and at < self._numbers.oldest:
            raise Compacted(await self.oldest())
        if at is not None and at > _MOST:
            raise Future(await self.revision())
        end = successor(self._data + prefix) or b"\0"
        start = self._data + prefix if after < prefix else self._data + after + b"\0"
        entries: list[KeyValue] = []
        part = _FIRST_PART
        while start < end:
            part = min(part, limit - len(entries)) if limit else part
            try:
                answer = await self._calls.range(start, end, limit=part, at=at - offset if at else 0)
            except RpcError as error:
                raise await self._refused(error) from error
            if offset != self.offset:  # what is at this revision now is something else
                raise Compacted(self._numbers.oldest)
            at = at or answer.revision + offset
            found = answer.entries
            self._witness.read(found, at - offset)
            entries += [self._entry(entry.key[len(self._data) :], entry) for entry in found]
            remaining = answer.total - len(found)
            if not found or not answer.more or (limit and len(entries) >= limit):
                return Page(entries, at, remaining > 0, remaining)
            size = sum(len(entry.value) for entry in found) // len(found) + 1
            part = max(1, min(_PART_BYTES // size, _LARGEST_PART, part * 8))
            start = found[-1].key + b"\0"
        return Page(entries, await self.revision() if at is None else await self._checked(at), more=False, remaining=0)

    async def _checked(self, at: int) -> int:
        """A revision from which nothing was read; it may be in the future all the same."""
        current = await self.revision()
        if at > current:
            raise Future(current)
        return at

    async def _refused(self, error: RpcError) -> Exception:
        """What is wrong with the revision."""
        if "compacted" in str(error):
            return Compacted(await compacted_to(self, self._clock) or self._numbers.oldest)
        return Future(await self.revision())

    # -- writing

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.commit`."""
        check_write(key, value, expected)
        await self._calls.begun()
        full = self._data + key
        if expected > _MOST or 0 < expected <= self.offset:
            raise RevisionConflict(await self.get(key))
        at = expected - self.offset if expected else 0
        try:
            answer = await self._calls.swap(full, at, wire.delete(full) if value is None else wire.put(full, value))
        except StoreRefused:
            self._alarms.soon()
            raise
        if not answer.succeeded:
            raise RevisionConflict(self._entry(key, answer.live) if answer.live else None)
        for tail in tuple(self._tails):
            await tail.reached(answer.revision + self.offset)
        # A tail that has it has been told of a new numbering before it. Without one the mark has to be read.
        if not any(tail.given >= answer.revision + self.offset for tail in self._tails):
            try:
                await self.revision()
            except Unavailable as error:
                raise Uncertain(f"it was written, and how the store numbers it is unknown: {error}") from error
        return answer.revision + self.offset

    # -- the log

    def tail(self, after: int) -> WatchTail:
        """See :meth:`extapi.storage.base.Backend.tail`."""
        return WatchTail(self, self._clock, after, told=self._times.told)

    async def begins(self, tail: WatchTail, after: int) -> int:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.begins`."""
        if self._calls.closed:
            raise Unavailable("the store is closed")
        self._tails.append(tail)
        current = await self.revision()
        if after > current:
            raise Future(current)
        if after < self._numbers.oldest:
            raise Compacted(await self.oldest())
        return current

    async def watch(
        self, start: int, message: Callable[[bytes], None], end: Callable[[Exception | None], None]
    ) -> RpcCall:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.watch`."""
        request = wire.watch_create(self._data, self._mark + b"\0", start)
        return await self._watching.stream(wire.WATCH, request, message, end)

    def refused(self, call: RpcCall, reason: str) -> None:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.refused`."""
        if _DENIED not in reason:  # on every connection
            self._watching.leave(call, reason)

    def key(self, full: bytes) -> bytes | None:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.key`."""
        return full[len(self._data) :] if full.startswith(self._data) else None

    def ended(self, tail: WatchTail) -> None:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.ended`."""
        if tail in self._tails:
            self._tails.remove(tail)

    async def progress(self) -> None:
        """See :meth:`extapi.storage.base.Backend.progress`."""
        current = await self.revision()
        for tail in tuple(self._tails):
            await tail.marked(current)

    # -- compaction

    async def compact(self, revision: int, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.compact`."""
        mark, current = await self._calls.read_mark()
        numbers = self._numbers
        if revision > current:
            raise Future(current)
        if numbers.oldest != expected or revision <= numbers.oldest:
            return numbers.oldest
        to = revision - mark.offset
        done = await self._calls.swap(self._mark, mark.revision, wire.put(self._mark, write_mark(to, mark.offset)))
        if not done.succeeded:
            mark, _ = await self._calls.read_mark()
            return mark.compacted + mark.offset
        numbers.compacted(to)
        try:
            await self._calls.call(wire.COMPACT, wire.compaction_request(to))
        except RpcError as error:
            if "compacted" not in str(error):  # somebody else has gone further
                raise Unavailable(f"etcd refuses to compact: {error}") from error
        except Denied as error:
            raise NotFreed(_ROOT_COMPACTS) from error
        return revision

    async def skip(self, revision: int) -> int:
        """Let the store's revisions be greater than ``revision``, those of what it holds, too, and forget the past.

        As :meth:`extapi.storage.sqlite.SqliteBackend.skip`. Other processes notice, and go on with the new numbers.

        Returns:
            The current revision, which is the oldest that can be read, too.

        Raises:
            ValueError: Revisions would be greater than clients can read.
            Unavailable: The store cannot be written now.
        """
        while True:
            mark, current = await self._calls.read_mark()
            offset = max(mark.offset + 1, revision)  # others notice only one that is greater
            if current - mark.offset + offset >= LARGEST - 1:
                raise ValueError(f"revisions after {offset} would be more than clients can read (2**53)")
            done = await self._calls.swap(self._mark, mark.revision, wire.put(self._mark, write_mark(0, offset)))
            if done.succeeded:
                await self._calls.read_mark()
                return done.revision + offset

    async def oldest(self) -> int:
        """See :meth:`extapi.storage.base.Backend.oldest`."""
        await self._calls.read_mark()
        return self._numbers.oldest

    async def close(self) -> None:
        """See :meth:`extapi.storage.base.Backend.close`."""
        if self._calls.closed:
            return
        self._health.stop()
        self._alarms.stop()
        await self._calls.idle()
        if self._tails:
            try:
                current = await self.revision()
            except Unavailable:
                current = 0
            for tail in tuple(self._tails):
                await tail.reached(current)
        self._calls.close()
        for tail in tuple(self._tails):
            tail.end(None)
        self._watching.close()
