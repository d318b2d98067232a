"""The order in which requests to one server share the tunnels of a proxy, which may give only a few.

Bounds how many requests are under way at a time; each needs a tunnel. When the proxy gives no more, a request waits until another
one has ended, whose tunnel is kept. Must not know connections, nor how long a request may take. Watches do not count once they have
begun: they keep their tunnels.
"""

from __future__ import annotations

from itertools import count

from twisted.internet.defer import Deferred

from extapi.clock import Clock, stop_timer

TUNNELS = 8
"""Requests under way through a proxy, besides watches. With 40 ms for each of them that is the rate that reviews may have."""

AGAIN = 1.0
"""Seconds after which a proxy is asked again that gave no tunnel, even if no request has ended meanwhile."""


class TunnelQueue:
    """Requests take turns, in the order in which they came: :meth:`turn` waits for one, :meth:`done` gives it back.

    Args:
        clock: The reactor's clock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running = 0
        self._numbers = count()
        self._waiting: dict[int, Deferred[None]] = {}

    @property
    def shared(self) -> bool:
        """Whether more than one request has a turn."""
        return self._running > 1

    async def turn(self) -> int:
        """Wait until a request may begin. Cancelling gives up the place.

        Returns:
            The number of the request.
        """
        number = next(self._numbers)
        if self._running < TUNNELS and not self._waiting:
            self._running += 1
        else:
            await self._wait(number)
        return number

    async def again(self, number: int) -> None:
        """Give the turn back, since the proxy gives no tunnel, and wait for the next one.

        Those that came later stay behind. Cancelling gives up the place; then there is no turn.

        Args:
            number: The number of the request.
        """
        self._running -= 1
        timer = self._clock.callLater(AGAIN, self._next)
        try:
            await self._wait(number)
        finally:
            stop_timer(timer)

    def done(self) -> None:
        """A turn is over."""
        self._running -= 1
        self._next()

    async def _wait(self, number: int) -> None:
        def leave(_: Deferred[None]) -> None:
            del self._waiting[number]

        waiting: Deferred[None] = Deferred(leave)
        self._waiting[number] = waiting
        await waiting

    def _next(self) -> None:
        if self._waiting and self._running < TUNNELS:
            self._running += 1
            self._waiting.pop(min(self._waiting)).callback(None)
