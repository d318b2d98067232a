"""A store in etcd: many processes, one log. A commit is a transaction, a tail a watch, a compaction etcd's own.

Keys are kept below ``<prefix>/data``, the mark at ``<prefix>/mark``. Revisions are etcd's, which others raise as well. Must not
know API types.

Source: ``k8s.io/apiserver/pkg/storage/etcd3`` store.go, watcher.go, compact.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from twisted.internet.defer import Deferred

from extapi.storage.base import Compacted, Future, KeyValue, Page, RevisionConflict, Unavailable, UnusableStore
from extapi.storage.etcd import wire
from extapi.storage.etcd.call import RpcCall, RpcError
from extapi.storage.etcd.channel import OUT_OF_RANGE, Channel
from extapi.storage.etcd.endpoints import EtcdAccess, EtcdOptions
from extapi.storage.etcd.health import EtcdHealth
from extapi.storage.etcd.mark import EMPTY, Mark, read_mark, write_mark
from extapi.storage.etcd.watch import WatchTail
from extapi.storage.keys import check_write, successor

T = TypeVar("T")
_FIRST_PART: Final = 100
_LARGEST_PART: Final = 5_000
"""Keys that are read in one call: the first time, and at most."""
_PART_BYTES: Final = 8 * 1024 * 1024
"""About so many bytes are read in one call, once it is known how large the values are."""
_MOST: Final = 2**63 - 1


class EtcdBackend:
    """A :class:`~extapi.storage.base.Backend`, and an :class:`~extapi.storage.base.Engine`.

    Raises:
        UnusableStore: The options cannot be used: a file cannot be read.
        ValueError: One of the servers is no address.
    """

    name = "etcd"

    def __init__(self, reactor: Any, options: EtcdOptions) -> None:
        access = EtcdAccess(options)
        self._clock = reactor
        self._times = options.times
        self._channel = Channel(reactor, access)
        self._watching = Channel(reactor, access)
        prefix = options.prefix.rstrip("/").encode()
        self._data = prefix + b"/data"
        self._mark = prefix + b"/mark"
        self._oldest = 0
        """The greatest that was seen to be compacted; 0: the mark has not been read."""
        self._tails: list[WatchTail] = []
        self._asking = False
        self._askers: list[Deferred[int]] = []
        self._running = 0
        self._idle: list[Deferred[None]] = []
        self._closed = False
        self._health = EtcdHealth(self._ask_revision, reactor, options.healthcheck_timeout)

    # -- an engine

    async def open(self) -> None:
        """See :meth:`extapi.storage.base.Engine.open`: the version of each member that can be reached is checked."""
        await self._channel.versions()
        self._health.start()

    def check(self) -> str | None:
        """See :meth:`extapi.storage.base.Engine.check`."""
        return self._health.check()

    # -- calls

    async def _call(
        self, method: bytes, request: bytes, *, repeatable: bool = True, seconds: float | None = None
    ) -> bytes:
        """One call.

        Raises:
            RpcError: OUT_OF_RANGE: the revision is compacted, or in the future.
            Unavailable: As :meth:`Channel.call`.
            TooLarge: As there.
        """
        if self._closed:
            raise Unavailable("the store is closed")
        self._running += 1
        try:
            return await self._channel.call(method, request, repeatable=repeatable, seconds=seconds)
        except RpcError as error:
            if error.code == OUT_OF_RANGE:
                raise
            raise Unavailable(f"etcd refuses the request: {error}") from error
        finally:
            self._running -= 1
            if not self._running:
                idle, self._idle = self._idle, []
                for each in idle:
                    each.callback(None)

    async def _range(self, key: bytes, end: bytes = b"", **options: Any) -> wire.RangeAnswer:
        return _read(wire.range_answer, await self._call(wire.RANGE, wire.range_request(key, end, **options)))

    async def _swap(self, key: bytes, revision: int, then: bytes, *, repeatable: bool = False) -> wire.TxnAnswer:
        request = wire.txn_request(key, revision, then)
        return _read(wire.txn_answer, await self._call(wire.TXN, request, repeatable=repeatable))

    # -- the mark

    async def _read_mark(self) -> Mark:
        """The mark, which is made if it is missing."""
        entries = (await self._range(self._mark)).entries
        if not entries:
            # Who makes it twice loses: that it is not there is compared.
            made = await self._swap(self._mark, 0, wire.put(self._mark, EMPTY), repeatable=True)
            entries = [made.live or wire.Entry(self._mark, EMPTY, made.revision)]
        try:
            mark = read_mark(entries[0].value, entries[0].revision)
        except UnusableStore as error:
            raise Unavailable(str(error)) from error
        self.compacted(mark.compacted)
        return mark

    def compacted(self, oldest: int) -> int:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.compacted`."""
        self._oldest = max(self._oldest, oldest)
        return self._oldest

    async def _begun(self) -> None:
        """Know where the store begins before anything is written or read."""
        if not self._oldest:
            await self._read_mark()

    # -- reading

    async def get(self, key: bytes) -> KeyValue | None:
        """See :meth:`extapi.storage.base.Backend.get`."""
        entries = (await self._range(self._data + key)).entries
        return KeyValue(key, entries[0].value, entries[0].revision) if entries else None

    async def revision(self) -> int:
        """See :meth:`extapi.storage.base.Backend.revision`; those who ask while a question is on its way share the next one."""
        if self._closed:
            raise Unavailable("the store is closed")
        await self._begun()
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
                revision = await self._ask_revision()
            except Exception as error:  # noqa: BLE001 - those who asked get it
                failure = error
            for each in [asker for asker in askers if not asker.called]:  # some no longer wait
                if failure is None:
                    each.callback(revision)
                else:
                    each.errback(Unavailable(str(failure)))
        self._asking = False

    async def _ask_revision(self, seconds: float | None = None) -> int:
        request = wire.range_request(self._mark, count_only=True)
        revision = _read(wire.range_answer, await self._call(wire.RANGE, request, seconds=seconds)).revision
        self._health.answered()
        return revision

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`; read in parts of one revision, which follow the size of values."""
        await self._begun()
        if at is not None and at < self._oldest:
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
                answer = await self._range(start, end, limit=part, at=at or 0)
            except RpcError as error:
                raise await self._refused(error) from error
            at = at or answer.revision
            found = answer.entries
            entries += [KeyValue(self.key(entry.key), entry.value, entry.revision) for entry in found]
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
            return Compacted(await self._foreign())
        return Future(await self.revision())

    async def _foreign(self) -> int:
        """What etcd is compacted to, whoever did it: a watch from the first revision is told."""
        probe = WatchTail(_Probe(self), self._clock, 0)
        try:
            await probe.__anext__()
        except Compacted as error:
            return error.oldest
        except StopAsyncIteration:
            pass
        finally:
            probe.close()
        return self._oldest

    # -- writing

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.commit`."""
        check_write(key, value, expected)
        await self._begun()
        full = self._data + key
        if expected > _MOST:
            raise RevisionConflict(await self.get(key))
        answer = await self._swap(full, expected, wire.delete(full) if value is None else wire.put(full, value))
        if not answer.succeeded:
            live = answer.live
            raise RevisionConflict(KeyValue(key, live.value, live.revision) if live else None)
        for tail in tuple(self._tails):
            if tail.given < answer.revision:
                await tail.reached(answer.revision)
        return answer.revision

    # -- the log

    def tail(self, after: int) -> WatchTail:
        """See :meth:`extapi.storage.base.Backend.tail`."""
        return WatchTail(self, self._clock, after, told=self._times.told)

    async def begins(self, tail: WatchTail, after: int) -> int:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.begins`."""
        if self._closed:
            raise Unavailable("the store is closed")
        self._tails.append(tail)
        current = await self.revision()
        if after > current:
            raise Future(current)
        if after < self._oldest:
            raise Compacted(await self.oldest())
        return current

    async def watch(
        self, start: int, message: Callable[[bytes], None], end: Callable[[Exception | None], None]
    ) -> RpcCall:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.watch`."""

        def ended(outcome: Exception | None) -> None:
            if isinstance(outcome, RpcError):  # for instance, the member has no leader: another one may have
                self._watching.leave(str(outcome))
            end(outcome)

        request = wire.watch_create(self._data, successor(self._data) or b"", start)
        return await self._watching.stream(wire.WATCH, request, message, ended)

    def key(self, full: bytes) -> bytes:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.key`."""
        return full[len(self._data) :]

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
        current = await self.revision()
        if revision > current:
            raise Future(current)
        mark = await self._read_mark()
        if self._oldest != expected or revision <= self._oldest:
            return self._oldest
        done = await self._swap(self._mark, mark.revision, wire.put(self._mark, write_mark(revision)))
        if not done.succeeded:
            return (await self._read_mark()).compacted
        self.compacted(revision)
        try:
            await self._call(wire.COMPACT, wire.compaction_request(revision))
        except RpcError as error:
            if "compacted" not in str(error):  # somebody else has gone further
                raise Unavailable(f"etcd refuses to compact: {error}") from error
        return revision

    async def oldest(self) -> int:
        """See :meth:`extapi.storage.base.Backend.oldest`."""
        await self._read_mark()
        return self._oldest

    async def close(self) -> None:
        """See :meth:`extapi.storage.base.Backend.close`."""
        if self._closed:
            return
        self._health.stop()
        if self._running:
            idle: Deferred[None] = Deferred()
            self._idle.append(idle)
            await idle
        if self._tails:
            try:
                current = await self.revision()
            except Unavailable:
                current = 0
            for tail in tuple(self._tails):
                await tail.reached(current)
        self._closed = True
        for tail in tuple(self._tails):
            tail.end(None)
        self._channel.close()
        self._watching.close()


class _Probe:
    """The log of a watch that only asks how far etcd is compacted."""

    def __init__(self, backend: EtcdBackend) -> None:
        self._backend = backend
        self.key = backend.key
        self.compacted = backend.compacted
        self.watch = backend.watch

    async def begins(self, tail: WatchTail, after: int) -> int:
        """A mark is asked for, so that a watch of which nothing is compacted comes to an end, too."""
        del tail, after
        return 1

    def ended(self, tail: WatchTail) -> None:
        """Nobody waits for it."""


def _read(reader: Callable[[bytes], T], data: bytes) -> T:
    """An answer.

    Raises:
        Unavailable: It is none; whoever answers there is no etcd.
    """
    try:
        return reader(data)
    except wire.Malformed as error:
        raise Unavailable(f"what answers is no etcd: {error}") from error
