"""The copy of a kind's objects in the store: written as the server would have, and only where something differs.

Must not know where objects come from.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

import msgspec
from twisted.internet.defer import Deferred, FirstError, gatherResults

from extapi.client.kube import Obj
from extapi.registry.storedversions import record_key as versions_key
from extapi.storage.base import KeyValue
from extapi.storage.sqlite import SqliteBackend
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.moved import MovedKind
from extapi.takeover.record import ImportRecord, read_record, write_record

MARGIN = 10**12
"""How far the store's revisions begin above the cluster's: 30 years of 1,000 writes per second in the whole cluster.

Revisions stay below 2**53, which JavaScript reads exactly."""
PAGE = 500
"""Objects per page of the store."""


class Replica:
    """One kind in an open store.

    Args:
        backend: The store; this process has its lock, so nobody else writes it.
        kind: The kind.
    """

    def __init__(self, backend: SqliteBackend, kind: MovedKind) -> None:
        self.backend = backend
        self.kind = kind
        self.written = 0
        """Commits so far."""
        self._versions: dict[bytes, str] = {}
        """The resourceVersions of the objects that are there as the cluster has them."""

    async def prepare(self, resource_version: int) -> ImportRecord:
        """Begin, or go on with what an earlier run has begun.

        Args:
            resource_version: The cluster's current one.

        Raises:
            TakeoverFailure: The store has objects of the kind from somewhere else, or the revisions of both could meet.
        """
        record = await read_record(self.backend, self.kind)
        if record is None:
            first = await self.backend.page(self.kind.served.layout.prefix, at=None, after=b"", limit=1)
            if first.entries:
                raise TakeoverFailure(
                    f"the store has {1 + first.remaining} objects of {self.kind.name} already, which no import has made; "
                    "import into a store without them"
                )
            floor = await self.backend.skip(resource_version + MARGIN)
            record = ImportRecord(self.kind.uid, floor)
            await write_record(self.backend, self.kind, record)
        if record.definition != self.kind.uid:
            raise TakeoverFailure(
                f"the store has an import of another {self.kind.name} (uid {record.definition}, now {self.kind.uid}): "
                "the definition was made again, or this is another cluster. Import into a new store"
            )
        if resource_version >= record.floor:
            raise TakeoverFailure(
                f"the cluster has reached resourceVersion {resource_version}, and the store's begin at {record.floor}: "
                "an old one could be taken for a current one. Import into a new store"
            )
        await self._record_version()
        return record

    async def _record_version(self) -> None:
        """Note in which version objects are about to be stored, as the server does."""
        key = versions_key(self.kind.definition.group, self.kind.definition.plural)
        entry = await self.backend.get(key)
        versions: list[str] = msgspec.json.decode(entry.value) if entry else []
        if self.kind.version not in versions:
            value = msgspec.json.encode([*versions, self.kind.version])
            await self.backend.commit(key, value, expected=entry.revision if entry else 0)

    async def put(self, obj: Obj) -> None:
        """Store an object, unless it is there as it is.

        Raises:
            TakeoverFailure: The server could not store it.
            Unavailable: The store cannot be written.
        """
        key, version = self.kind.key(obj), obj["metadata"]["resourceVersion"]
        if self._versions.get(key) == version:
            return
        value = self.kind.stored(obj)
        entry = await self.backend.get(key)
        if entry is None or entry.value != value:
            await self._commit(key, value, entry)
        self._versions[key] = version

    async def remove(self, key: bytes) -> None:
        """Delete an object, if it is there.

        Raises:
            Unavailable: The store cannot be written.
        """
        self._versions.pop(key, None)
        entry = await self.backend.get(key)
        if entry is not None:
            await self._commit(key, None, entry)

    async def _commit(self, key: bytes, value: bytes | None, entry: KeyValue | None) -> None:
        await self.backend.commit(key, value, expected=entry.revision if entry else 0)
        self.written += 1

    async def keep_only(self, keys: set[bytes]) -> None:
        """Delete every object whose key is none of these."""
        gone = [key async for key in self.keys() if key not in keys]
        for start in range(0, len(gone), PAGE):
            await together(self.remove(key) for key in gone[start : start + PAGE])

    async def keys(self) -> Any:
        """Iterate over the keys of all objects."""
        after, more = b"", True
        at = await self.backend.revision()
        while more:
            page = await self.backend.page(self.kind.served.layout.prefix, at=at, after=after, limit=PAGE)
            for entry in page.entries:
                yield entry.key
            more = page.more
            after = page.entries[-1].key if page.entries else after

    async def count(self) -> int:
        """How many objects there are."""
        page = await self.backend.page(self.kind.served.layout.prefix, at=None, after=b"", limit=1)
        return len(page.entries) + page.remaining


async def together(coroutines: Iterable[Coroutine[Any, Any, None]]) -> Sequence[None]:
    """Run coroutines at the same time: their commits share transactions.

    Raises:
        Exception: That of the first that failed, after all have ended.
    """
    running = [Deferred.fromCoroutine(each) for each in coroutines]
    try:
        return await gatherResults(running, consumeErrors=True)
    except FirstError as error:
        error.subFailure.raiseException()
        raise  # it has raised already, which a type checker cannot see
