"""Time as an argument: what is needed of a reactor's clock.

Twisted's IReactorTime, written so that a type checker understands it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isnan
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

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
        """Now, in seconds since the epoch: for how long something takes, and when it is due.

        A server's clock goes on evenly. It began with the machine's, and stays what it was when that one is set; so what
        others are told is :func:`wall_time`.
        """
        ...

    def callLater(self, delay: float, callable: Callable[..., object], *args: Any) -> Any:  # noqa: A002, N802 - Twisted's
        """Call in ``delay`` seconds.

        Returns:
            A :class:`Timer`.
        """
        ...


def wall_time(clock: Clock) -> float:
    """What the machine's clock says now, in seconds since the epoch: for what others read, and for dates that others wrote.

    Of a clock that tests control: its own time.
    """
    ask: Callable[[], float] = getattr(clock, "wall_time", clock.seconds)
    return ask()


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

    def late(result: T | Failure, _: float) -> T:
        if isinstance(result, Failure):
            result.trap(CancelledError)  # type: ignore[no-untyped-call]  # Twisted leaves it untyped
            raise Late
        return result

    reactor: Any = clock
    return await work.addTimeout(seconds, reactor, late)


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait ``seconds`` seconds; cancelling the wait cancels the timer.

    A time that has passed, which a reactor refuses, is not waited for, as by ``time.Sleep`` of Go.

    Raises:
        ValueError: ``seconds`` is not a number (NaN).
    """
    if isnan(seconds):
        raise ValueError("a delay is a number of seconds, not NaN")
    timer: Timer

    def cancelled(_: Deferred[None]) -> None:
        timer.cancel()

    waiting: Deferred[None] = Deferred(cancelled)
    timer = clock.callLater(max(seconds, 0), waiting.callback, None)
    await waiting


async def in_slices(clock: Clock, seconds: float, steps: Iterable[object]) -> None:
    """Do long work, step by step, and let others have their turn after each ``seconds`` seconds of it."""
    until = clock.seconds() + seconds
    for _ in steps:
        if clock.seconds() >= until:
            await sleep(clock, 0)
            until = clock.seconds() + seconds
