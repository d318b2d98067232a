"""Work that many ask for and that is done once for all of them: one run at a time, each for whoever has asked before it began.

Knows nothing of what is done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred

from extapi.clock import Clock, stop_timer

T = TypeVar("T")

PAUSE = 3.0
"""How long to rest between two runs, in times of what the first of them took: more may ask meanwhile."""
LONGEST = 1.0
"""Seconds to rest at most."""


class Stopped(Exception):
    """The work is not done any more."""


class CoalescedWork(Generic[T]):
    """Runs ``work`` when it is asked for.

    Args:
        work: Done by each run.
        clock: The reactor.
    """

    def __init__(self, work: Callable[[], Awaitable[T]], clock: Clock) -> None:
        self._work = work
        self._clock = clock
        self._waiting: list[Deferred[T]] = []
        self._running: Deferred[None] | None = None
        self._rested = 0.0
        self._timer: Any = None

    async def run(self) -> T:
        """What the next run returns, which begins after this call: what one under way has seen may be older.

        Raises:
            Stopped: :meth:`stop` was called.
            Exception: What the run raises.
        """
        waiting: Deferred[T] = Deferred()
        self._waiting.append(waiting)
        self._begin()
        return await waiting

    def stop(self) -> None:
        """End the run under way; who waits is told."""
        stop_timer(self._timer)
        waiting, self._waiting = self._waiting, []
        _fail(waiting, Stopped())
        if self._running is not None:
            self._running.cancel()

    def _begin(self) -> None:
        """Start a run, now or after a rest, unless there is one."""
        if self._running is None and self._waiting and (self._timer is None or not self._timer.active()):
            left = self._rested - self._clock.seconds()
            if left > 0:
                self._timer = self._clock.callLater(left, self._start)
            else:
                self._start()

    def _start(self) -> None:
        waiting, self._waiting = [each for each in self._waiting if not each.called], []
        if waiting:
            self._running = Deferred.fromCoroutine(self._run(waiting))
            self._running.addBoth(self._over)

    async def _run(self, waiting: list[Deferred[T]]) -> None:
        started = self._clock.seconds()
        try:
            found = await self._work()
        except CancelledError:
            _fail(waiting, Stopped())
        except Exception as error:  # noqa: BLE001 - those who wait for it are told
            _fail(waiting, error)
        else:
            for each in waiting:
                if not each.called:
                    each.callback(found)
        finally:
            now = self._clock.seconds()
            self._rested = now + min((now - started) * PAUSE, LONGEST)

    def _over(self, _result: object) -> None:
        self._running = None
        self._begin()


def _fail(waiting: list[Deferred[T]], error: Exception) -> None:
    for each in waiting:
        if not each.called:
            each.errback(error)
