"""A transport that keeps its callers within a rate: for an author's code, which may call as often as it likes.

The bound is this process' own. What kube-apiserver thinks is too much, it says itself (API Priority and Fairness, 429).
"""

from __future__ import annotations

from extapi.client.base import Reply, Request, Transport
from extapi.client.clock import Clock
from extapi.client.fairqueue import SHARE, FairQueue

QPS = 50.0
BURST = 100.0
"""Requests per second, and at once. client-go's ``rest.Config`` has 5 and 10, controller-runtime 20 and 30."""

RUNNING = 32
"""Requests whose answer has not begun. A watch whose events arrive is no longer counted."""

WAITING = 10_000
PATIENCE = 60.0
"""Requests that wait for their turn, and seconds that one waits; then :class:`extapi.errors.TooManyRequests`."""

_REASON = "this process has too many requests for the cluster waiting, please try again later"


class RateLimitedTransport:
    """Carries requests over ``transport``, at most :data:`QPS` per second in the long run, in their order."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport = transport
        self._queue = FairQueue(
            clock,
            rate=QPS,
            burst=BURST,
            running=RUNNING * SHARE,  # there is one flow
            waiting=WAITING,
            patience=PATIENCE,
            reason=_REASON,
        )

    async def send(self, request: Request) -> Reply:
        """See :class:`extapi.client.base.Transport`. Raises TooManyRequests if there is no turn to be had."""
        await self._queue.turn(None)
        try:
            return await self._transport.send(request)
        finally:
            self._queue.done(None)
