"""When the past is forgotten: every interval, what is older than one interval. Knows no particular backend.

Source: ``k8s.io/apiserver/pkg/storage/etcd3/compact.go`` (spec K15): history lives between one and two intervals.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from extapi.storage.base import Backend

INTERVAL = 300.0
"""Seconds; the default of ``--etcd-compaction-interval``."""


class Compactor:
    """Compacts a store every ``interval`` seconds (0: never) to the revision recorded one interval earlier.

    ``clock`` is an ``IReactorTime``. Of several processes on one store, one wins each time; the others take note and record anew.
    """

    _log = Logger()

    def __init__(self, backend: Backend, clock: Any, *, interval: float = INTERVAL) -> None:
        self._backend = backend
        self._interval = interval
        self._recorded: int | None = None
        self._in_force = 0
        self._loop = LoopingCall(self._step)
        self._loop.clock = clock
        self._stopped: Deferred[LoopingCall] | None = None

    def start(self) -> None:
        """Begin; nothing is compacted before two intervals are over."""
        if self._interval > 0:
            self._stopped = self._loop.start(self._interval, now=False)

    async def stop(self) -> None:
        """End; a compaction that has begun is finished first."""
        if self._loop.running:
            self._loop.stop()
        if self._stopped is not None:
            stopped, self._stopped = self._stopped, None
            await stopped

    def _step(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self._turn())

    async def _turn(self) -> None:
        """One interval is over. After a failure the same revision is tried again."""
        try:
            if self._recorded is None:
                self._in_force = await self._backend.oldest()
            else:
                self._in_force = await self._backend.compact(self._recorded, expected=self._in_force)
            self._recorded = await self._backend.revision()
        except Exception:  # noqa: BLE001 - a compaction that fails costs room, not correctness; the next one does its work
            self._log.failure(
                "The store could not be compacted; it is tried again in {seconds} s", seconds=self._interval
            )
