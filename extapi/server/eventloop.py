"""Twisted's reactor on epoll: less between an event and its descriptor, and timers that a change of the clock does not move.

Must not know what the descriptors are.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from twisted.internet.epollreactor import EPollReactor
from twisted.internet.main import installReactor


class EventLoop(EPollReactor):
    """A reactor that gives an event to its descriptor without a context for Twisted's old log.

    Twisted makes this context for each event, by ten calls, which cost as much as parsing a request. Only
    ``twisted.python.log`` reads it, and nothing here uses that to log. What a descriptor raises is logged as ever.

    Twisted measures delays by the wall clock: set back by an hour, it would leave every timer waiting for an hour more, and
    whatever is kept for a while would be kept for as long; set ahead, it would end all of them at once. Here time goes on by a
    monotonic clock, as it does for Go's timers and durations, which kube-apiserver has.
    """

    def __init__(self, *args: Any) -> None:
        self._begun = time.time() - time.monotonic()
        untyped: Any = super()
        untyped.__init__(*args)

    def seconds(self) -> float:
        """See :meth:`extapi.clock.Clock.seconds`."""
        return self._begun + time.monotonic()

    def wall_time(self) -> float:
        """See :func:`extapi.clock.wall_time`."""
        return time.time()

    def doPoll(self, timeout: float | None) -> None:  # noqa: N802 - named by Twisted
        """Wait for events, at most ``timeout`` seconds, and let their descriptors read or write."""
        selectables: Any = self._selectables
        dispatch: Any = self._doReadOrWrite
        for number, event in self._poller.poll(-1 if timeout is None else timeout, len(selectables)):
            selectable = selectables.get(number)
            if selectable is not None:  # an event before this one may have removed it
                dispatch(selectable, number, event)

    doIteration = doPoll  # noqa: N815 - named by Twisted


def install() -> None:
    """Make it the process's reactor, unless an author has installed one."""
    if "twisted.internet.reactor" not in sys.modules:
        untyped: Any = EventLoop
        globally: Any = installReactor
        globally(untyped())
