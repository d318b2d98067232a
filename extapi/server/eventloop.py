"""Twisted's reactor on epoll: less between an event and its descriptor, and timers that a change of the clock does not move.

Must not know what the descriptors are.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Final

from twisted.internet.epollreactor import EPollReactor
from twisted.internet.main import installReactor

_STEP: Final = 0.5
"""Seconds by which the wall clock must change at once for timers to follow; less is a correction that they may feel."""


class EventLoop(EPollReactor):
    """A reactor that gives an event to its descriptor without a context for Twisted's old log.

    Twisted makes this context for each event, by ten calls, which cost as much as parsing a request. Only
    ``twisted.python.log`` reads it, and nothing here uses that to log. What a descriptor raises is logged as ever.

    Twisted measures delays by the wall clock: set back by an hour, it would leave every timer waiting for an hour more, set
    ahead, end all of them at once. Here timers move with it. Go's timers, which kube-apiserver has, are of a monotonic clock.
    """

    _ahead = 0.0
    """The wall clock minus the monotonic one, when it was last looked at; 0: never."""

    def runUntilCurrent(self) -> None:  # noqa: N802 - named by Twisted
        """Call what is due."""
        self._follow_clock()
        super().runUntilCurrent()

    def doPoll(self, timeout: float | None) -> None:  # noqa: N802 - named by Twisted
        """Wait for events, at most ``timeout`` seconds, and let their descriptors read or write."""
        selectables: Any = self._selectables
        dispatch: Any = self._doReadOrWrite
        events = self._poller.poll(-1 if timeout is None else timeout, len(selectables))
        self._follow_clock()  # before a descriptor starts timers by the new time
        for number, event in events:
            selectable = selectables.get(number)
            if selectable is not None:  # an event before this one may have removed it
                dispatch(selectable, number, event)

    def _follow_clock(self) -> None:
        wall: Any = self.seconds
        ahead = wall() - time.monotonic()
        moved, self._ahead = ahead - (self._ahead or ahead), ahead
        if abs(moved) > _STEP:
            untyped: Any = self
            for call in (*untyped._pendingTimedCalls, *untyped._newTimedCalls):  # noqa: SLF001 - there is no other way
                call.time += moved

    doIteration = doPoll  # noqa: N815 - named by Twisted


def install() -> None:
    """Make it the process's reactor, unless an author has installed one."""
    if "twisted.internet.reactor" not in sys.modules:
        untyped: Any = EventLoop
        globally: Any = installReactor
        globally(untyped())
