"""Since when the log has been silent: an idle one is asked for a sign of life. Knows no caches.

A log that has broken off without anybody noticing would leave a server that is ready and blind, for whatever reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.clock import Clock, Timer

BOUND: Final = 30.0
"""Seconds of silence after which a server is not ready."""
_ASKED: Final = 10.0
"""Seconds between two questions."""


class LogSilence:
    """When the log was heard last.

    Args:
        clock: The reactor's.
        ask: Returns once the log has given a sign of life; raises if it cannot.
    """

    _log = Logger()

    def __init__(self, clock: Clock, ask: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._ask = ask
        self._heard = clock.seconds()
        self._timer: Timer | None = None
        self._asking: Deferred[None] | None = None

    def hear(self) -> None:
        """The log has brought something."""
        self._heard = self._clock.seconds()

    def check(self) -> str | None:
        """None, or why the server is not ready."""
        silent = self._clock.seconds() - self._heard
        return None if silent <= BOUND else f"the log of the store has been silent for {int(silent)} s"

    def start(self) -> None:
        """Begin to ask."""
        self.hear()
        self._timer = self._clock.callLater(_ASKED, self._next)

    def stop(self) -> None:
        """Ask no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._asking is not None:
            self._asking.cancel()

    def _next(self) -> None:
        self._timer = self._clock.callLater(_ASKED, self._next)
        if self._clock.seconds() - self._heard < _ASKED:
            return
        if self._asking is not None:  # a question may be lost, as one to a watch of etcd that catches up
            self._asking.cancel()
        self._asking = Deferred.fromCoroutine(self._once())

    async def _once(self) -> None:
        try:
            await self._ask()
            self.hear()
        except Exception as error:  # noqa: BLE001 - whatever a backend raises is no sign of life
            self._log.debug("the log gives no sign of life: {error}", error=error)
