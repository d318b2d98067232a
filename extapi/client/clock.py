"""Time as an argument: what this package and those above it ask of a reactor's clock.

Twisted's IReactorTime, spelled so that a type checker understands it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from twisted.internet.defer import Deferred


class Timer(Protocol):
    """A call that is to come (IDelayedCall)."""

    def active(self) -> bool:
        """It has neither happened nor been cancelled."""
        ...

    def cancel(self) -> None:
        """Have it not happen."""
        ...


class Clock(Protocol):
    """A reactor, or Twisted's ``task.Clock``."""

    def seconds(self) -> float:
        """Now, in seconds since the epoch."""
        ...

    def callLater(self, delay: float, callable: Callable[..., object], *args: Any) -> Any:  # noqa: A002, N802 - Twisted's
        """Call in ``delay`` seconds; the answer is a :class:`Timer`."""
        ...


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait; cancelling whoever waits cancels the timer."""
    timer: Timer

    def cancelled(_: Deferred[None]) -> None:
        timer.cancel()

    waiting: Deferred[None] = Deferred(cancelled)
    timer = clock.callLater(seconds, waiting.callback, None)
    await waiting
