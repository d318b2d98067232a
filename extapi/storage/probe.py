"""Whether a store takes writes, as the last one has shown; while it does not, one of our own is tried at intervals.

Nobody is sent to a server that is not ready, so that no client's write would ever show that the disk has room again.
Must not know who asks, nor what a failure looks like in a particular store.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.storage.base import Backend, Entry, Overloaded, Page, RevisionConflict, Tail, Unavailable

KEY = b"/extapi/write-probe"
"""What is written: the key belongs to no resource."""
INTERVAL = 2.0
"""Seconds between two attempts."""
REFUSES = "the store refuses writes"

_NO_SIGN = (RevisionConflict, Overloaded, CancelledError, ValueError)
"""What a commit may raise although the store takes writes."""


class ProbedBackend:
    """A :class:`~extapi.storage.base.Backend` that passes everything on to ``backend``, and looks at what becomes of writes.

    ``clock`` is an ``IReactorTime``.
    """

    _log = Logger()

    def __init__(self, backend: Backend, clock: Any) -> None:
        self._backend = backend
        self._clock = clock
        self._failing = False
        self._probe: Any = None
        self._closed = False

    def check(self) -> str | None:
        """The readiness check. Details are in the log only: they may name files, and anybody may ask."""
        return REFUSES if self._failing else None

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.commit`."""
        try:
            revision = await self._backend.commit(key, value, expected=expected)
        except _NO_SIGN:
            raise
        except Exception as error:
            self._failed(error)
            raise
        if self._failing:
            self._healed()
        return revision

    async def compact(self, revision: int, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.compact`; a write as well, and one that comes without clients."""
        try:
            return await self._backend.compact(revision, expected=expected)
        except Unavailable as error:
            self._failed(error)
            raise

    async def get(self, key: bytes) -> Entry | None:
        """See :meth:`extapi.storage.base.Backend.get`."""
        return await self._backend.get(key)

    async def revision(self) -> int:
        """See :meth:`extapi.storage.base.Backend.revision`."""
        return await self._backend.revision()

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`."""
        return await self._backend.page(prefix, at=at, after=after, limit=limit)

    def tail(self, after: int) -> Tail:
        """See :meth:`extapi.storage.base.Backend.tail`."""
        return self._backend.tail(after)

    async def progress(self) -> None:
        """See :meth:`extapi.storage.base.Backend.progress`."""
        await self._backend.progress()

    async def oldest(self) -> int:
        """See :meth:`extapi.storage.base.Backend.oldest`."""
        return await self._backend.oldest()

    async def close(self) -> None:
        """See :meth:`extapi.storage.base.Backend.close`."""
        self._closed = True
        self._cancel()
        await self._backend.close()

    def _failed(self, error: Exception) -> None:
        if not self._failing and not self._closed:
            self._failing = True
            self._log.error("a write failed, the server is not ready until one succeeds: {error}", error=error)
            self._schedule(0.0)  # it may have been that write alone

    def _healed(self) -> None:
        self._failing = False
        self._cancel()
        self._log.info("writes succeed again")

    def _schedule(self, seconds: float) -> None:
        self._probe = self._clock.callLater(seconds, self._begin)

    def _cancel(self) -> None:
        if self._probe is not None:
            self._probe.cancel()
            self._probe = None

    def _begin(self) -> None:
        self._probe = None
        Deferred.fromCoroutine(self._try())

    async def _try(self) -> None:
        """Write, and come back unless that succeeded."""
        try:
            entry = await self._backend.get(KEY)
            await self.commit(KEY, b"1", expected=entry.revision if entry else 0)
        except Exception as error:  # noqa: BLE001 - whatever a store raises, another attempt follows
            self._log.debug("the attempt to write failed as well: {error}", error=error)
        if self._failing and not self._closed:
            self._schedule(INTERVAL)
