"""Calls of a converter that may wait: some at a time, others in a queue, each with a time limit.

A version has a queue of its own, so that a slow conversion to one delays no reader of another. Must not know what is
converted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from extapi.clock import Clock, Late, in_time
from extapi.errors import InternalError, TooManyRequests

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConversionLimits:
    """How much may wait for a converter."""

    objects: int = 100
    """Objects per call."""
    size: int = 1024 * 1024
    """Bytes of stored objects per call; a larger object is a call by itself."""
    calls: int = 4
    """Calls at a time, per version of a kind."""
    waiting: int = 1000
    """Calls that wait for their turn, per version of a kind."""
    seconds: float = 31.0
    """From the moment in which a conversion is asked for until it has to be there: a second more than a webhook has, so
    that its own error is told (behaviour J47)."""
    events: int = 10_000
    """Events of a watch's stream that wait for a conversion; if there are more, the watches end."""
    events_size: int = 16 * 1024 * 1024
    """Bytes of the objects of these events."""


class _Queue:
    """The calls for one version."""

    __slots__ = ("running", "waiting")

    def __init__(self) -> None:
        self.running = 0
        self.waiting: deque[Deferred[None]] = deque()


class ConversionCalls:
    """The calls for one kind."""

    def __init__(self, clock: Clock, limits: ConversionLimits) -> None:
        self._clock = clock
        self._limits = limits
        self._queues: dict[str, _Queue] = {}

    async def call(self, version: str, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of ``function``, which is called when it is its turn.

        Raises:
            TooManyRequests: Too many calls wait already.
            InternalError: There is no result in time.
            Exception: What ``function`` raises.
        """
        limits = self._limits
        queue = self._queues.setdefault(version, _Queue())
        if queue.running >= limits.calls and len(queue.waiting) >= limits.waiting:
            raise TooManyRequests(f"too many conversions to {version} are waiting, please try again", retry_after=1)
        work = Deferred.fromCoroutine(self._in_turn(version, queue, function))
        try:
            return await in_time(self._clock, limits.seconds, work)
        except Late:
            why = f"the conversion to {version} took longer than {limits.seconds:g} s"
            raise InternalError.because(why) from None

    async def _in_turn(self, version: str, queue: _Queue, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if queue.running < self._limits.calls:
            queue.running += 1
        else:
            turn: Deferred[None] = Deferred(queue.waiting.remove)
            queue.waiting.append(turn)
            await turn  # whoever ends hands its place over
        try:
            return await function()
        finally:
            if queue.waiting:
                queue.waiting.popleft().callback(None)
            else:
                queue.running -= 1
                if not queue.running:
                    del self._queues[version]
