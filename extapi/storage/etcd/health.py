"""Whether etcd answers, for ``/readyz``: asked once per bound, unless somebody else was answered. Knows no calls.

Source: ``k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go`` newETCD3Check (behaviour K19).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred

from extapi.clock import Clock, Timer
from extapi.storage.base import Unavailable


class EtcdHealth:
    """The last answer, and the questions.

    Args:
        ask: Asks etcd, within so many seconds.
        clock: The reactor's.
        seconds: The bound of a question, and the time between two of them.
    """

    def __init__(self, ask: Callable[[float], Awaitable[Any]], clock: Clock, seconds: float) -> None:
        self._ask = ask
        self._clock = clock
        self._seconds = seconds
        self._failure: str | None = "etcd client connection not yet established"
        self._answered = float("-inf")
        self._timer: Timer | None = None
        self._asking: Deferred[None] | None = None
        self._stopped = False

    def check(self) -> str | None:
        """None, or why the server is not ready; details are in the log, since anybody may read the check."""
        return self._failure

    def answered(self) -> None:
        """Etcd has answered somebody."""
        self._answered = self._clock.seconds()
        self._failure = None

    def start(self) -> None:
        """Begin to ask."""
        self._asking = Deferred.fromCoroutine(self._once())

    def stop(self) -> None:
        """Ask no more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._asking is not None:
            self._asking.addErrback(lambda _: None)
            self._asking.cancel()

    async def _once(self) -> None:
        if self._clock.seconds() - self._answered >= self._seconds:
            try:
                await self._ask(self._seconds)
            except Unavailable:
                self._failure = "etcd failed"
        self._asking = None
        if not self._stopped:
            self._timer = self._clock.callLater(self._seconds, self._next)

    def _next(self) -> None:
        self._timer = None
        self.start()
