"""Many deadlines on one timer: nearly all are taken back before they come, and a timer of the reactor for each costs more than that.

Knows no calls.
"""

from __future__ import annotations

from collections.abc import Callable

from extapi.clock import Clock, Timer


class Deadlines:
    """Deadlines of one owner, who ends them with :meth:`close`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[int, tuple[float, Callable[[], None]]] = {}
        self._last = 0
        self._timer: Timer | None = None
        self._next = 0.0
        """When the timer is due: at the first deadline, or before, if that was taken back."""

    def add(self, seconds: float, late: Callable[[], None]) -> int:
        """Call ``late`` after so many seconds, unless the deadline is removed; returns what names it."""
        at = self._clock.seconds() + max(seconds, 0.0)
        self._last += 1
        self._running[self._last] = (at, late)
        if self._timer is None or at < self._next:
            self._set(at)
        return self._last

    def remove(self, deadline: int) -> None:
        """Take a deadline back; nothing if it is over."""
        self._running.pop(deadline, None)

    def close(self) -> None:
        """Take all back."""
        self._running.clear()
        self._stop()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, at: float) -> None:
        self._stop()
        self._next = at
        self._timer = self._clock.callLater(max(at - self._clock.seconds(), 0.0), self._due)

    def _due(self) -> None:
        self._timer = None
        now = self._clock.seconds()
        for deadline, (at, late) in tuple(self._running.items()):
            if at <= now and self._running.pop(deadline, None) is not None:
                late()
        if self._running and self._timer is None:
            self._set(min(at for at, _ in self._running.values()))
