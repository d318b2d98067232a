"""Makes a store hold exactly what a source does, and nothing of its past; goes on where an earlier run was interrupted."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from twisted.internet.defer import Deferred, DeferredList

from extapi.console.display import Report
from extapi.console.failure import CommandFailure
from extapi.storage.base import Backend, KeyValue, NotFreed
from extapi.storage.filling import KEY
from extapi.storetool.source import PAGE, Source, is_own

AT_ONCE: Final = 64
"""Commits that wait for the disk together."""


@runtime_checkable
class Renumbering(Protocol):
    """A store whose revisions can be made to go on above those of another one."""

    async def skip(self, revision: int) -> int:
        """See :meth:`extapi.storage.sqlite.SqliteBackend.skip`."""
        ...


class Filled(NamedTuple):
    """What was done."""

    entries: int
    written: int
    """How many of them were not there already."""
    deleted: int
    """Keys that the store had, and the source does not have."""
    revision: int
    """The store's revision now, which is the oldest that can be read, too."""
    note: str = ""
    """What an operator should know besides."""


class Filling:
    """Fills one store.

    Args:
        target: The store.
        source: What it shall hold.
        replace: Whether it may hold something else before.
    """

    def __init__(self, target: Backend, source: Source, *, replace: bool) -> None:
        self._target = target
        self._source = source
        self._replace = replace
        self._writing: list[Deferred[int]] = []
        self._written = self._deleted = 0

    async def run(self, report: Report) -> Filled:
        """Fill it. No revision of the source, and none that the store had, is one of the store's afterwards.

        Raises:
            CommandFailure: The store is not empty, cannot go on above the source's revisions, or differs from the source at the
                end; or the source cannot be read to its end.
            Unavailable: The store cannot be read or written.
        """
        if not isinstance(self._target, Renumbering):
            raise CommandFailure("this store's revisions cannot go on above those of another one")
        await self._begin()
        try:
            await self._target.skip(self._source.revision)
        except ValueError as error:
            raise CommandFailure(str(error)) from error
        count = await self._write(report)
        await self._verify(count)
        mark = await self._target.get(KEY)
        if mark is None or mark.value != self._name:
            raise CommandFailure("somebody else has filled the store meanwhile; see what it holds, and run it again")
        await self._target.commit(KEY, None, expected=mark.revision)
        revision = await self._target.revision()
        note = ""
        try:
            await self._target.compact(revision, expected=await self._target.oldest())
        except NotFreed as error:  # all that it shall hold is there
            note = str(error)
        return Filled(count, self._written, self._deleted, revision, note)

    @property
    def _name(self) -> bytes:
        return f"{self._source.name} at revision {self._source.revision}".encode()

    async def _begin(self) -> None:
        """Set the mark.

        Raises:
            CommandFailure: The store is not empty, and not being filled from this source.
        """
        mark = await self._target.get(KEY)
        if mark is not None and mark.value == self._name:
            return
        # A later revision of the same source will do: all of it is compared.
        if not self._replace and (mark is None or not mark.value.startswith(f"{self._source.name} at ".encode())):
            if mark is not None:
                known = mark.value.decode(errors="replace")
                raise CommandFailure(f"the store is being filled from {known}; run that again, or give --replace")
            async for _ in _held(self._target):
                raise CommandFailure(
                    "the store is not empty; name another one, or give --replace to replace what it holds"
                )
        await self._target.commit(KEY, self._name, expected=mark.revision if mark else 0)

    async def _write(self, report: Report) -> int:
        """Walk through both in the order of keys; the number of entries of the source."""
        there = _held(self._target)
        held = await anext(there, None)
        count = 0
        async for entry in self._source.entries():
            while held is not None and held.key < entry.key:
                await self._commit(held.key, None, held.revision)
                held = await anext(there, None)
            expected = 0
            if held is not None and held.key == entry.key:
                expected = held.revision if held.value != entry.value else -1
                held = await anext(there, None)
            if expected >= 0:
                await self._commit(entry.key, entry.value, expected)
            count += 1
            report(count, 0)
        while held is not None:
            await self._commit(held.key, None, held.revision)
            held = await anext(there, None)
        await self._settle()
        return count

    async def _commit(self, key: bytes, value: bytes | None, expected: int) -> None:
        self._writing.append(Deferred.fromCoroutine(self._target.commit(key, value, expected=expected)))
        self._written += value is not None
        self._deleted += value is None
        if len(self._writing) >= AT_ONCE:
            await self._settle()

    async def _settle(self) -> None:
        """Wait for all commits that have begun.

        Raises:
            Exception: Why one of them failed.
        """
        writing, self._writing = self._writing, []
        results: list[tuple[bool, Any]] = await DeferredList(writing, consumeErrors=True)
        for succeeded, result in results:
            if not succeeded:
                raise result.value

    async def _verify(self, count: int) -> None:
        """Read both again, and compare them.

        Raises:
            CommandFailure: They differ.
        """
        if await _digest(self._source.entries()) != await _digest(_held(self._target)):
            raise CommandFailure(
                f"the store does not have the {count} entries of {self._source.name} now; run it again"
            )


async def _held(store: Backend) -> AsyncIterator[KeyValue]:
    """What a store holds now, in pages; what is written meanwhile to keys that were passed is not seen."""
    after, more = b"", True
    at: int | None = None
    while more:
        page = await store.page(b"", at=at, after=after, limit=PAGE)
        at = page.revision
        for entry in page.entries:
            if not is_own(entry.key):
                yield entry
        more = page.more
        after = page.entries[-1].key if page.entries else after


async def _digest(entries: AsyncIterator[KeyValue]) -> bytes:
    made = hashlib.sha256()
    async for key, value, _ in entries:
        made.update(b"%d %d " % (len(key), len(value)))
        made.update(key)
        made.update(value)
    return made.digest()
