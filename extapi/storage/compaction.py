"""When the past is compacted: every interval, what is older than one interval (behaviour K15).

History is kept for one to two intervals. Knows no particular backend.

Source: ``k8s.io/apiserver/pkg/storage/etcd3/compact.go``.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from extapi.storage.base import Backend, Unavailable

INTERVAL = 300.0
"""In seconds; the default of kube-apiserver's ``--etcd-compaction-interval``."""


class Compactor:
    """Compacts a store every interval to the revision that it recorded one interval earlier.

    Of several processes on one store, one wins each time; the others record the new state and go on from there.
    """

    _log = Logger()

    def __init__(self, backend: Backend, clock: Any, *, interval: float = INTERVAL) -> None:
        """Prepare the compaction of a store.

        Args:
            backend: The store.
            clock: An ``IReactorTime``.
            interval: In seconds; 0 means never.
        """
        self._backend = backend
        self._interval = interval
        self._recorded: int | None = None
        self._in_force = 0
        self._loop = LoopingCall(self._step)
        self._loop.clock = clock
        self._stopped: Deferred[LoopingCall] | None = None

    def start(self) -> None:
        """Start; nothing is compacted before two intervals are over."""
        if self._interval > 0:
            self._stopped = self._loop.start(self._interval, now=False)

    async def stop(self) -> None:
        """Stop, after a compaction that has begun is finished."""
        if self._loop.running:
            self._loop.stop()
        if self._stopped is not None:
            stopped, self._stopped = self._stopped, None
            await stopped

    def _step(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self._compact())

    async def _compact(self) -> None:
        """Compact at the end of an interval. After a failure, the next interval tries the same revision again."""
        try:
            if self._recorded is None:
                self._in_force = await self._backend.oldest()
            else:
                self._in_force = await self._backend.compact(self._recorded, expected=self._in_force)
            self._recorded = await self._backend.revision()
        except Unavailable as error:
            self._log.warn(
                "The store could not be compacted; the next attempt is in {seconds} s: {reason}",
                seconds=self._interval,
                reason=str(error),
            )
        except Exception:  # noqa: BLE001 - a failed compaction costs disk space, not correctness; the next one makes up for it
            self._log.failure(
                "The store could not be compacted; the next attempt is in {seconds} s", seconds=self._interval
            )
