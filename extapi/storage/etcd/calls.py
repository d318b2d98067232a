"""The calls of one store: each is checked for whether etcd went back, and the mark is read and made. Knows no objects' keys.

Source: ``k8s.io/apiserver/pkg/storage/etcd3`` store.go, whose transactions are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from extapi.storage.base import Unavailable, Uncertain, UnusableStore
from extapi.storage.etcd import wire
from extapi.storage.etcd.call import RpcError
from extapi.storage.etcd.channel import OUT_OF_RANGE, PERMISSION_DENIED, Channel
from extapi.storage.etcd.mark import EMPTY, Mark, read_mark
from extapi.storage.etcd.numbering import Numbering


class Denied(Unavailable):
    """The user has no right to it."""


class StoreCalls:
    """Calls, and what their answers say of revisions.

    Args:
        channel: The way to etcd.
        numbers: How revisions are numbered.
        mark: The key of the mark.
        create: Whether the mark is made if it is missing.
        answered: Is told that the mark could be read.
        renumbered: Is told that all revisions mean something else from now on.
    """

    def __init__(
        self,
        channel: Channel,
        numbers: Numbering,
        mark: bytes,
        *,
        create: bool,
        answered: Callable[[], None],
        renumbered: Callable[[], None],
    ) -> None:
        self.channel = channel
        self.numbers = numbers
        self.closed = False
        self._mark = mark
        self._create = create
        self._answered = answered
        self._renumbered = renumbered
        self._running = 0
        self._idle: list[Deferred[None]] = []

    async def call(
        self, method: bytes, request: bytes, *, repeatable: bool = True, seconds: float | None = None
    ) -> bytes:
        """One call.

        Raises:
            RpcError: OUT_OF_RANGE: the revision is compacted, or in the future.
            Denied: The user may not do that.
            Unavailable: As :meth:`Channel.call`.
            TooLarge: As there.
        """
        if self.closed:
            raise Unavailable("the store is closed")
        self._running += 1
        try:
            limit = {} if seconds is None else {"seconds": seconds}
            return await self.channel.call(method, request, repeatable=repeatable, **limit)
        except RpcError as error:
            if error.code == OUT_OF_RANGE:
                raise
            kind = Denied if error.code == PERMISSION_DENIED else Unavailable
            raise kind(f"etcd refuses the request: {self.channel.advised(str(error))}") from error
        finally:
            self._running -= 1
            if not self._running:
                idle, self._idle = self._idle, []
                for each in idle:
                    each.callback(None)

    async def range(self, key: bytes, end: bytes = b"", **options: Any) -> wire.RangeAnswer:
        """See :func:`extapi.storage.etcd.wire.range_request`.

        Raises:
            Unavailable: As :meth:`call`; :class:`WentBack` if etcd has an older state than was seen.
        """
        self.numbers.check()
        since = self.numbers.highest
        answer = wire.read(wire.range_answer, await self.call(wire.RANGE, wire.range_request(key, end, **options)))
        self.numbers.answered(answer.revision, since)
        return answer

    async def swap(self, key: bytes, revision: int, then: bytes, *, repeatable: bool = False) -> wire.TxnAnswer:
        """Change a key if it is still at etcd's ``revision``.

        Raises:
            Uncertain: Whether it was done cannot be told; also if it was, in an etcd that has an older state.
            Unavailable: As :meth:`range`.
        """
        self.numbers.check()
        since = self.numbers.highest
        request = wire.txn_request(key, revision, then)
        answer = wire.read(wire.txn_answer, await self.call(wire.TXN, request, repeatable=repeatable))
        try:
            self.numbers.answered(answer.revision, since)
        except Unavailable as error:
            raise Uncertain(str(error)) from error
        return answer

    async def begun(self) -> None:
        """Know where the store begins before anything is written or read."""
        if self.numbers.mark is None:
            await self.read_mark()

    async def read_mark(self, seconds: float | None = None) -> tuple[Mark, int]:
        """The mark, which is made if it is missing, and the revision of the store; notices a new numbering.

        Also while this process does not go on: a new numbering is what heals it.

        Raises:
            Unavailable: As :meth:`range`; or the mark is missing, and is not to be made.
        """
        since, before = self.numbers.highest, self.numbers.mark
        request = wire.range_request(self._mark)
        answer = wire.read(wire.range_answer, await self.call(wire.RANGE, request, seconds=seconds))
        entries, revision = answer.entries, answer.revision
        if not entries:
            if before is not None:  # else others may have made it since this was asked
                self.numbers.lost()
            if not self._create:
                raise Unavailable(
                    f"etcd has no store of extapi there: {self._mark.decode(errors='replace')} is missing"
                )
            # Who makes it twice loses: that it is not there is compared.
            made = await self.swap(self._mark, 0, wire.put(self._mark, EMPTY), repeatable=True)
            entries, revision = [made.live or wire.Entry(self._mark, EMPTY, made.revision)], made.revision
        known = self.numbers.mark
        if known is not None and known is not before and known.revision > entries[0].revision:
            mark = known  # it was read by another call that began later
        else:
            mark = self._took(entries[0], revision, since)
        self._answered()
        return mark, revision + mark.offset

    def noticed(self, event: wire.EtcdEvent) -> None:
        """See :meth:`extapi.storage.etcd.watch.WatchedLog.noticed`."""
        entry, known = event.entry, self.numbers.mark
        if entry.key == self._mark:
            if event.deleted:
                self.numbers.lost()
            elif known is None or entry.revision > known.revision:
                self._took(entry, entry.revision, 0)

    def _took(self, entry: wire.Entry, revision: int, since: int) -> Mark:
        mark = self.numbers.mark
        if mark is None or mark.revision != entry.revision:
            try:
                mark = read_mark(entry.value, entry.revision)
            except UnusableStore as error:
                raise Unavailable(str(error)) from error
        if self.numbers.took(mark, revision, since):
            self._renumbered()
        return mark

    async def idle(self) -> None:
        """Return when no call is on its way."""
        if self._running:
            idle: Deferred[None] = Deferred()
            self._idle.append(idle)
            await idle

    def close(self) -> None:
        """No more calls."""
        self.closed = True
        self.channel.close()
