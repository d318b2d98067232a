"""Time as an argument: what is needed of a reactor's clock.

Twisted's IReactorTime, written so that a type checker understands it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import CancelledError, Deferred

T = TypeVar("T")


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


def stop_timer(timer: Timer | None) -> None:
    """Cancel a scheduled call, unless it is over, or there is none."""
    if timer is not None and timer.active():
        timer.cancel()


class Late(Exception):
    """Something was not done in time."""


async def in_time(clock: Clock, seconds: float, work: Deferred[T]) -> T:
    """What ``work`` comes to; after ``seconds`` seconds it is cancelled.

    Raises:
        Late: It was cancelled for that.
        Exception: What it fails with; ``CancelledError`` if whoever waits is cancelled.
    """
    late = False

    def expire() -> None:
        nonlocal late
        late = True
        work.cancel()

    timer: Timer = clock.callLater(seconds, expire)
    try:
        return await work
    except CancelledError:
        if late:
            raise Late from None
        raise
    finally:
        stop_timer(timer)


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait ``seconds`` seconds; cancelling the wait cancels the timer."""
    timer: Timer

    def cancelled(_: Deferred[None]) -> None:
        timer.cancel()

    waiting: Deferred[None] = Deferred(cancelled)
    timer = clock.callLater(seconds, waiting.callback, None)
    await waiting
