"""Faults that a replica is started with: the whole way from its store to a client, the judge has to find them there, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extapi.storage.base import Batch, Unavailable
from extapi.storage.etcd.backend import EtcdBackend
from extapi.storage.etcd.watch import WatchTail

_EVERY = 40
"""One in so many goes wrong."""


def _lose() -> None:
    """The tail drops a change."""
    push = WatchTail._push
    count = 0

    def losing(self: WatchTail, batch: Batch, size: int) -> None:
        nonlocal count
        count += len(batch.changes)
        if count > _EVERY:
            count = 0
            batch = Batch(batch.changes[1:], batch.progress)
        push(self, batch, size)

    _replace(WatchTail, "_push", losing)


def _stale() -> None:
    """A consistent read is served from the cache as it is, which is a moment late."""
    ask = EtcdBackend.revision
    first: list[int] = []

    async def once(self: EtcdBackend) -> int:
        if not first:
            first.append(await ask(self))
        return first[0]

    push = WatchTail._push

    def late(self: WatchTail, batch: Batch, size: int) -> None:
        self._clock.callLater(0.3, push, self, batch, size)

    _replace(EtcdBackend, "revision", once)
    _replace(WatchTail, "_push", late)


def _lie() -> None:
    """A write is acknowledged and not done."""
    commit = EtcdBackend.commit
    count = 0

    async def lying(self: EtcdBackend, key: bytes, value: bytes | None, *, expected: int) -> int:
        nonlocal count
        count += 1
        if count % _EVERY == 0:
            return await self.revision() + 1
        return await commit(self, key, value, expected=expected)

    _replace(EtcdBackend, "commit", lying)


def _again() -> None:
    """A write is done twice: without its answer, it is repeated on top of whatever is there then."""
    commit = EtcdBackend.commit
    count = 0

    async def repeating(self: EtcdBackend, key: bytes, value: bytes | None, *, expected: int) -> int:
        nonlocal count
        count += 1
        revision = await commit(self, key, value, expected=expected)
        if value is not None and count % _EVERY == 0:
            return await commit(self, key, value, expected=revision)
        return revision

    _replace(EtcdBackend, "commit", repeating)


def _refuse() -> None:
    """A write is done and refused."""
    commit = EtcdBackend.commit
    count = 0

    async def refusing(self: EtcdBackend, key: bytes, value: bytes | None, *, expected: int) -> int:
        nonlocal count
        count += 1
        revision = await commit(self, key, value, expected=expected)
        if count % _EVERY == 0:
            raise Unavailable("planted")
        return revision

    _replace(EtcdBackend, "commit", refusing)


def _replace(owner: Any, name: str, value: Any) -> None:
    setattr(owner, name, value)


PLANTS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "lose": _lose,
    "stale": _stale,
    "lie": _lie,
    "again": _again,
    "refuse": _refuse,
}
