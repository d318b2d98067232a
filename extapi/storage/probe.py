"""Whether a store takes writes, judged by the last one; while it does not, the server tries writes of its own.

Clients are not routed to a server that is not ready, so none of their writes would show that the disk has room again. Must
not know HTTP, or how a particular store fails.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.storage.base import (
    Backend,
    Engine,
    KeyValue,
    Overloaded,
    Page,
    RevisionConflict,
    Tail,
    Unavailable,
    Uncertain,
)
from extapi.storage.keys import OBJECTS

KEY = b"/extapi/write-probe"
"""The key that is written; it belongs to no resource."""
INTERVAL = 2.0
"""The time between two attempts, in seconds."""
REFUSES = "the store refuses writes"

_NO_SIGN = (RevisionConflict, Overloaded, Uncertain, CancelledError, ValueError)
"""Exceptions of a commit that do not mean that the store refuses writes: of an uncertain one nothing is known."""


class ProbedBackend:
    """A :class:`~extapi.storage.base.Backend` that delegates to another one and observes whether writes succeed."""

    _log = Logger()

    def __init__(
        self,
        backend: Backend,
        clock: Any,
        confirm: Callable[[], Awaitable[None]] | None = None,
        *,
        judged: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """Wrap ``backend``.

        Args:
            backend: The store.
            clock: An ``IReactorTime``.
            confirm: Raises :class:`~extapi.storage.base.Unavailable` if objects may not be stored now.
            judged: Is told whether writes fail, when that has changed.
        """
        self._backend = backend
        self._judges = not isinstance(backend, Engine)
        """Whether writes say anything here: an engine judges itself. Else one that is full would make all its servers unready."""
        self._clock = clock
        self._failing = False
        self._probe: Any = None
        self._closed = False
        self._confirm = confirm
        self._judged = judged

    def check(self) -> str | None:
        """The readiness check: None, or why the server is not ready.

        Details are in the log only, since they may name files and anybody may read the check.
        """
        return REFUSES if self._failing else None

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.commit`."""
        if self._confirm is not None and key.startswith(OBJECTS):
            await self._confirm()
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
        """See :meth:`extapi.storage.base.Backend.compact`; it is a write as well, and happens without clients."""
        try:
            return await self._backend.compact(revision, expected=expected)
        except Unavailable as error:
            self._failed(error)
            raise

    async def get(self, key: bytes) -> KeyValue | None:
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
        if self._judges and not self._failing and not self._closed:
            self._failing = True
            self._judged(True)
            self._log.error("a write failed; the server is not ready until one succeeds: {error}", error=error)
            self._schedule(0.0)  # only that write may have failed

    def _healed(self) -> None:
        self._failing = False
        self._judged(False)
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
        """Try a write, and schedule another unless it succeeds."""
        try:
            entry = await self._backend.get(KEY)
            await self.commit(KEY, b"1", expected=entry.revision if entry else 0)
        except Exception as error:  # noqa: BLE001 - whatever a store raises, there is another attempt
            self._log.debug("the attempt to write failed as well: {error}", error=error)
        if self._failing and not self._closed:
            self._schedule(INTERVAL)
