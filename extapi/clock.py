"""Time as an argument: what is needed of a reactor's clock.

Twisted's IReactorTime, written so that a type checker understands it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from twisted.internet.defer import Deferred


class Timer(Protocol):
    """A scheduled call (IDelayedCall)."""

    def active(self) -> bool:
        """Whether it has neither happened nor been cancelled."""
        ...

    def cancel(self) -> None:
        """Cancel the call."""
        ...


class Clock(Protocol):
    """A reactor, or Twisted's ``task.Clock``."""

    def seconds(self) -> float:
        """Now, in seconds since the epoch."""
        ...

    def callLater(self, delay: float, callable: Callable[..., object], *args: Any) -> Any:  # noqa: A002, N802 - Twisted's
        """Call in ``delay`` seconds.

        Returns:
            A :class:`Timer`.
        """
        ...


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait ``seconds`` seconds; cancelling the wait cancels the timer."""
    timer: Timer

    def cancelled(_: Deferred[None]) -> None:
        timer.cancel()

    waiting: Deferred[None] = Deferred(cancelled)
    timer = clock.callLater(seconds, waiting.callback, None)
    await waiting
