"""A store whose engine others write to, as several APIs share one etcd: its revisions have holes.

:class:`SharedBackend` keeps its keys under a prefix of another store. Before and after each commit somebody else writes there,
so that the current revision rises without a commit of ours, and a compaction takes a revision, as with a mark in etcd. Values
of more than ``largest`` bytes are refused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from extapi.storage.base import Backend, Batch, KeyValue, LogEvent, Page, RevisionConflict, Tail, TooLarge
from extapi.storage.keys import check_write

OURS = b"/ours"
THEIRS = b"/theirs"


class SharedBackend:
    """What one API sees of an engine that it shares."""

    def __init__(self, engine: Backend, *, largest: int = 1_500_000) -> None:
        self._engine = engine
        self._largest = largest
        self._theirs = 0

    async def others_write(self) -> None:
        """Somebody else writes."""
        self._theirs = await self._engine.commit(THEIRS, b"x", expected=self._theirs)

    # -- the protocol: see extapi.storage.base.Backend

    async def get(self, key: bytes) -> KeyValue | None:
        found = await self._engine.get(OURS + key)
        return None if found is None else found._replace(key=key)

    async def revision(self) -> int:
        return await self._engine.revision()

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        page = await self._engine.page(OURS + prefix, at=at, after=OURS + after, limit=limit)
        return page._replace(entries=[entry._replace(key=entry.key[len(OURS) :]) for entry in page.entries])

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        check_write(key, value, expected)
        if value is not None and len(value) > self._largest:
            raise TooLarge("request is too large")
        await self.others_write()
        try:
            revision = await self._engine.commit(OURS + key, value, expected=expected)
        except RevisionConflict as conflict:
            live = conflict.live
            raise RevisionConflict(None if live is None else live._replace(key=key)) from None
        await self.others_write()
        return revision

    def tail(self, after: int) -> Tail:
        return SharedTail(self._engine.tail(after))

    async def progress(self) -> None:
        await self._engine.progress()

    async def compact(self, revision: int, *, expected: int) -> int:
        in_force = await self._engine.compact(revision, expected=expected)
        await self.others_write()
        return in_force

    async def oldest(self) -> int:
        return await self._engine.oldest()

    async def close(self) -> None:
        await self._engine.close()


class SharedTail:
    """Our changes of the engine's; what others wrote is progress."""

    def __init__(self, tail: Tail) -> None:
        self._tail = tail

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self

    async def __anext__(self) -> Batch:
        batch = await self._tail.__anext__()
        ours: list[LogEvent] = [
            change._replace(key=change.key[len(OURS) :]) for change in batch.changes if change.key.startswith(OURS)
        ]
        return Batch(ours, batch.progress)

    def close(self) -> None:
        self._tail.close()
