"""A queue in front of calls to another server: bounds their rate and number, and is fair between callers.

Each caller belongs to a flow. Flows take turns, so that a flow with thousands of calls delays itself and not the others:
round robin over bounded queues, as in ``k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing``, but without shuffle sharding,
because there are few enough flows for a queue each. Knows nothing of what is called.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from twisted.internet.defer import Deferred

from extapi.client.ratelimit import TokenBucket
from extapi.clock import Clock, Timer, stop_timer
from extapi.errors import TooManyRequests

QPS = 200.0
BURST = 400.0
"""Calls per second, and at once: ``rest.Config`` of the delegated clients (``k8s.io/apiserver/pkg/server/options``,
``DelegatingAuthenticationOptions.getClient`` and ``DelegatingAuthorizationOptions.getClient``)."""

RUNNING = 64
"""Calls under way. Each needs a connection, and kube-apiserver has 200 seats for writes (``--max-mutating-requests-inflight``)."""

SHARE = 2
"""A flow may have one in so many of the calls under way: if all of its calls hang, there is room for other flows."""

WAITING = 100
"""Calls per flow that wait for their turn: fewer than this server's seats for writes, which they may occupy while they wait."""

PATIENCE = 15.0
"""Seconds that a call waits for its turn: less than the usual timeout of clients, 30 s, so that they learn the reason."""

REASON = "too many requests to be authenticated or authorized at this time, please try again later"


_NOBODY = object()


class FairQueue:
    """A fair queue: :meth:`turn` waits for permission to call, :meth:`done` reports that the call is over.

    Args:
        clock: The reactor's clock.
        rate: Calls per second.
        burst: Calls at once.
        running: Calls under way.
        waiting: Calls per flow that may wait.
        patience: Seconds that a call may wait.
        reason: The error's text for callers that get no turn.

    Attributes:
        running: Calls under way now.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        rate: float = QPS,
        burst: float = BURST,
        running: int = RUNNING,
        waiting: int = WAITING,
        patience: float = PATIENCE,
        reason: str = REASON,
    ) -> None:
        self._clock = clock
        self._bucket = TokenBucket(clock, rate=rate, burst=burst)
        self._limit = running
        self._share = max(1, running // SHARE)
        self._longest = waiting
        self._patience = patience
        self._reason = reason
        # A dict instead of a deque per flow, because callers that give up leave from the middle.
        self._flows: OrderedDict[Hashable, dict[Deferred[None], Timer]] = OrderedDict()
        self._refill: Timer | None = None
        self._dispatching = False
        self._underway: dict[Hashable, int] = {}
        self.running = 0

    def waiting(self, flow: Hashable) -> int:
        """The number of calls of a flow that wait."""
        return len(self._flows.get(flow, ()))

    async def turn(self, flow: Hashable) -> None:
        """Wait until a call may begin. Each turn ends with one :meth:`done`. Cancelling gives up the place in the queue.

        Raises:
            TooManyRequests: Too many calls of the flow wait already, or this one has waited too long.
        """
        if not self._flows and self._has_room(flow) and self._bucket.take():
            self._begin(flow)
            return
        queue = self._flows.get(flow)
        if queue is None:
            queue = self._flows[flow] = {}
        elif len(queue) >= self._longest:
            raise TooManyRequests(self._reason, retry_after=1)
        mine: Deferred[None] = Deferred(lambda _: self._leave(flow, mine))
        queue[mine] = self._clock.callLater(self._patience, self._late, flow, mine)
        self._dispatch()
        await mine

    def done(self, flow: Hashable) -> None:
        """A call of the flow is over, whatever its result."""
        self.running -= 1
        self._underway[flow] -= 1
        if not self._underway[flow]:
            del self._underway[flow]
        self._dispatch()

    def _has_room(self, flow: Hashable) -> bool:
        return self.running < self._limit and self._underway.get(flow, 0) < self._share

    def _begin(self, flow: Hashable) -> None:
        self.running += 1
        self._underway[flow] = self._underway.get(flow, 0) + 1

    def _dispatch(self) -> None:
        """Begin the calls that may begin. A call may end at once, and must not dispatch again from within."""
        if self._dispatching:
            return
        self._dispatching = True
        try:
            while (flow := next(filter(self._has_room, self._flows), _NOBODY)) is not _NOBODY:
                if not self._bucket.take():
                    if self._refill is None:
                        self._refill = self._clock.callLater(self._bucket.wait(), self._refilled)
                    return
                queue = self._flows.pop(flow)
                first = next(iter(queue))
                queue.pop(first).cancel()
                if queue:
                    self._flows[flow] = queue
                self._begin(flow)
                first.callback(None)
        finally:
            self._dispatching = False

    def _refilled(self) -> None:
        self._refill = None
        self._dispatch()

    def _late(self, flow: Hashable, mine: Deferred[None]) -> None:
        self._leave(flow, mine)
        error: Any = TooManyRequests(self._reason, retry_after=1)
        mine.errback(error)

    def _leave(self, flow: Hashable, mine: Deferred[None]) -> None:
        queue = self._flows[flow]
        timer = queue.pop(mine)
        stop_timer(timer)
        if not queue:
            del self._flows[flow]
        if not self._flows and self._refill is not None:
            self._refill.cancel()
            self._refill = None
