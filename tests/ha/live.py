"""Faults that a replica is started with: the whole way from its store to a client, the judge has to find them there, too.

Each replaces something of the server in the replica's own process; one call in so many goes wrong.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial, partialmethod
from itertools import count
from typing import Any, NamedTuple

from extapi.errors import Expired
from extapi.registry import update
from extapi.storage.base import Batch, Unavailable
from extapi.storage.etcd.backend import EtcdBackend
from extapi.storage.etcd.watch import WatchTail
from extapi.storage.sqlite import SqliteBackend
from extapi.storage.tail import LogReader
from extapi.watch import cache as cached, watchergroup
from extapi.watch.broadcaster import Broadcaster
from extapi.watch.events import DELETED, CacheEvent, WatchEvent, to_watch_event
from extapi.watch.history import EventHistory
from extapi.watch.selection import Predicate
from extapi.watch.snapshot import ObjectPage
from extapi.watch.watchergroup import WatcherGroup
from tests.ha.judging import judge

_LATE = 0.3
"""Seconds that a late cache is behind: more than between most writes, less than between two requests of a client."""


class Plant(NamedTuple):
    """``begin``: called once in the replica; ``rules``: what the judge says has to be one of these.

    ``everywhere``: in all replicas, since only few clients come to see it. ``etcd``: it is one of a server of etcd alone.
    """

    begin: Callable[[], None]
    rules: frozenset[str]
    everywhere: bool
    etcd: bool


Commit = Callable[..., Awaitable[int]]

PLANTS: dict[str, Plant] = {}
"""By name."""


def _plant(
    *rules: str, everywhere: bool = False, etcd: bool = False
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def add(begin: Callable[[], None]) -> Callable[[], None]:
        PLANTS[begin.__name__.strip("_").replace("_", "-")] = Plant(begin, frozenset(rules), everywhere, etcd)
        return begin

    return add


def _replace(owner: Any, name: str, value: Any) -> None:
    assert hasattr(owner, name), f"{owner} has no {name} any more: the fault would be none"
    setattr(owner, name, value)


def _replace_commit(broken: Commit) -> None:
    """Let the commits of each store be ``broken``, which is told the right one first."""
    for backend in (EtcdBackend, SqliteBackend):
        _replace(backend, "commit", partialmethod(partial(broken, backend.commit)))


def _one_in(number: int) -> Iterator[bool]:
    return (each % number == 0 for each in count(1))


# -- the store


@_plant(judge.MISSED, judge.MIXED)
def _lose() -> None:
    """The tail drops a change."""
    turns = _one_in(40)

    def losing(push: Callable[..., None], self: Any, batch: Batch, size: int, **bounds: int) -> None:
        kept = [change for change in batch.changes if not next(turns)]
        push(self, Batch(kept, batch.progress), size, **bounds)

    _replace(WatchTail, "_push", partialmethod(partial(losing, WatchTail._push)))
    _replace(LogReader, "push", partialmethod(partial(losing, LogReader.push)))


@_plant(judge.LOST)
def _lie() -> None:
    """A write is acknowledged and not done."""
    turns = _one_in(40)

    async def lying(commit: Commit, self: Any, key: bytes, value: bytes | None, *, expected: int) -> int:
        if next(turns):
            return int(await self.revision()) + 1
        return await commit(self, key, value, expected=expected)

    _replace_commit(lying)


@_plant(judge.DOUBLED)
def _again() -> None:
    """A write is done twice: without its answer, it is repeated on top of whatever is there then."""
    turns = _one_in(40)

    async def repeating(commit: Commit, self: Any, key: bytes, value: bytes | None, *, expected: int) -> int:
        revision = await commit(self, key, value, expected=expected)
        if value is not None and next(turns):
            return await commit(self, key, value, expected=revision)
        return revision

    _replace_commit(repeating)


@_plant(judge.REFUSED)
def _refuse() -> None:
    """A write is done and refused."""
    turns = _one_in(40)

    async def refusing(commit: Commit, self: Any, key: bytes, value: bytes | None, *, expected: int) -> int:
        revision = await commit(self, key, value, expected=expected)
        if next(turns):
            raise Unavailable("planted")
        return revision

    _replace_commit(refusing)


# -- reads and writes


@_plant(judge.STALE, etcd=True)
def _unasked() -> None:
    """A consistent read is served from the cache as it is, which is late only when etcd is."""

    async def unasked(self: cached.ResourceCache, operation: str = "get") -> int:
        del operation
        return self.revision

    _replace(cached.ResourceCache, "fresh", unasked)


@_plant(judge.STALE, etcd=True)
def _stale() -> None:
    """A consistent read is served from the cache as it is, and the cache is a moment late."""
    push = WatchTail._push

    def late(self: WatchTail, batch: Batch, size: int) -> None:
        self._clock.callLater(_LATE, push, self, batch, size)

    _unasked()
    _replace(WatchTail, "_push", late)


@_plant(judge.MIXED)
def _mix() -> None:
    """A list has one object as it was before its last change."""
    page, turns = cached.ResourceCache.page, _one_in(10)

    def mixing(self: cached.ResourceCache, *arguments: Any) -> ObjectPage:
        found = page(self, *arguments)
        older = {event.previous.key: event.previous for event in self._history._events if event.previous is not None}
        changed = [each.key for each in found.objects if each.key in older]
        if not changed or not next(turns):
            return found
        return found._replace(objects=[older[each.key] if each.key == changed[0] else each for each in found.objects])

    _replace(cached.ResourceCache, "page", mixing)


@_plant(judge.PREDECESSOR)
def _overwrite() -> None:
    """The resourceVersion of a PUT is no precondition."""

    def unchecked(store: Any, name: str, obj: Any, live: int) -> None:
        del store, name
        obj["metadata"]["resourceVersion"] = str(live)

    _replace(update, "_check_revision", unchecked)


# -- watches


@_plant(judge.REPEATED)
def _double() -> None:
    """An event is sent twice."""
    publish, turns = Broadcaster.publish, _one_in(40)

    def doubling(self: Broadcaster, change: CacheEvent) -> None:
        publish(self, change)
        if next(turns):
            publish(self, change)

    _replace(Broadcaster, "publish", doubling)


@_plant(judge.MISSED)
def _swap() -> None:
    """An event is sent after the next one."""
    publish, turns = Broadcaster.publish, _one_in(40)
    kept: list[CacheEvent] = []

    def swapping(self: Broadcaster, change: CacheEvent) -> None:
        if next(turns):
            kept.append(change)
            return
        publish(self, change)
        while kept:
            publish(self, kept.pop())

    _replace(Broadcaster, "publish", swapping)


@_plant(judge.MISSED, judge.SHORT)
def _leave() -> None:
    """An object leaves what a watch selects, and the watcher is not told."""

    def staying(predicate: Predicate | None, event: CacheEvent) -> WatchEvent | None:
        made = to_watch_event(predicate, event)
        return None if made is not None and made.type == DELETED and event.object is not None else made

    _replace(watchergroup, "to_watch_event", staying)


@_plant(judge.MISSED)
def _ahead() -> None:
    """A bookmark names a revision that is ahead of what has been sent."""
    bookmark = WatcherGroup.bookmark

    def hasty(self: WatcherGroup, watcher: Any, revision: int) -> None:
        bookmark(self, watcher, revision + 10)

    _replace(WatcherGroup, "bookmark", hasty)


@_plant(judge.MISSED, everywhere=True)
def _forget() -> None:
    """A watch from before the history begins goes on where that begins, instead of 410."""
    after = EventHistory.after

    def forgetting(self: EventHistory, revision: int) -> Sequence[CacheEvent]:
        try:
            return after(self, revision)
        except Expired:
            return after(self, self.since)

    _replace(EventHistory, "after", forgetting)
