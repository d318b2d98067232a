"""A transport that limits the rate of requests: for authors' code, which may send as many as it likes.

The limit is this process's own. kube-apiserver has its own as well (API Priority and Fairness, 429).
"""

from __future__ import annotations

from extapi.client.fairqueue import SHARE, FairQueue
from extapi.client.transport import ClientRequest, ClientResponse, Transport
from extapi.clock import Clock

QPS = 50.0
BURST = 100.0
"""Requests per second, and at once. client-go's ``rest.Config`` has 5 and 10, controller-runtime 20 and 30."""

RUNNING = 32
"""Requests whose response has not begun. A watch whose events arrive is not counted any more."""

WAITING = 10_000
PATIENCE = 60.0
"""Requests that may wait for their turn, and seconds that a request waits; then :class:`extapi.errors.TooManyRequests`."""

_REASON = "this process has too many requests for the cluster waiting, please try again later"


class RateLimitedTransport:
    """Carries requests over ``transport`` in their order, at most :data:`QPS` per second in the long run."""

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

    async def send(self, request: ClientRequest) -> ClientResponse:
        """See :class:`extapi.client.transport.Transport`.

        Raises:
            TooManyRequests: Too many requests wait, or this one has waited too long.
            TransportError: There was no response.
        """
        await self._queue.turn(None)
        try:
            return await self._transport.send(request)
        finally:
            self._queue.done(None)
