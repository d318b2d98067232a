"""A queue in front of calls to another server: bounded in rate, in number, and fair between those who want to call.

Callers belong to flows. Flows take turns, so that one that wants thousands of calls delays itself and not the others
(round robin over bounded queues, as in ``k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing``, without its shuffle
sharding: flows are few enough to have a queue each). Must not know what is called.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from twisted.internet.defer import Deferred

from extapi.client.clock import Clock, Timer
from extapi.client.ratelimit import TokenBucket
from extapi.errors import TooManyRequests

QPS = 200.0
BURST = 400.0
"""Calls per second, and at once: ``rest.Config`` of the delegated clients (``k8s.io/apiserver/pkg/server/options``,
``DelegatingAuthenticationOptions.getClient`` and ``DelegatingAuthorizationOptions.getClient``)."""

RUNNING = 64
"""Calls under way. Each has a connection, and kube-apiserver has 200 places for writes (``--max-mutating-requests-inflight``)."""

SHARE = 2
"""One of so many calls under way may be of one flow: if all of those hang, there is room for the others."""

WAITING = 100
"""Calls of one flow that wait for their turn: less than the places for writes in work, which they may hold while they wait."""

PATIENCE = 15.0
"""Seconds that a call waits for its turn: less than clients' usual 30 s, so that they learn why."""

REASON = "too many requests to be authenticated or authorized at this time, please try again later"


_NOBODY = object()


class FairQueue:
    """:meth:`turn` waits for permission to call, :meth:`done` says that the call is over."""

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
        """``reason``: what those are told who get no turn."""
        self._clock = clock
        self._bucket = TokenBucket(clock, rate=rate, burst=burst)
        self._limit = running
        self._share = max(1, running // SHARE)
        self._longest = waiting
        self._patience = patience
        self._reason = reason
        # A dict instead of a deque for each flow: whoever gives up leaves from the middle.
        self._flows: OrderedDict[Hashable, dict[Deferred[None], Timer]] = OrderedDict()
        self._refill: Timer | None = None
        self._dispatching = False
        self._underway: dict[Hashable, int] = {}
        self.running = 0
        """Calls under way."""

    def waiting(self, flow: Hashable) -> int:
        """How many calls of a flow wait."""
        return len(self._flows.get(flow, ()))

    async def turn(self, flow: Hashable) -> None:
        """Wait until a call may begin; each turn ends with one :meth:`done`. Cancelling whoever waits gives up the place.

        Raises :class:`TooManyRequests` if too many calls of the flow wait already, or this one has waited for too long.
        """
        if not self._flows and self._has_room(flow) and self._bucket.take():
            self._begin(flow)
            return
        places = self._flows.get(flow)
        if places is None:
            places = self._flows[flow] = {}
        elif len(places) >= self._longest:
            raise TooManyRequests(self._reason, retry_after=1)
        mine: Deferred[None] = Deferred(lambda _: self._leave(flow, mine))
        places[mine] = self._clock.callLater(self._patience, self._late, flow, mine)
        self._dispatch()
        await mine

    def done(self, flow: Hashable) -> None:
        """A call of the flow is over, whatever came of it."""
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
        """Begin what may begin. What begins may end at once, and must not come here again from within."""
        if self._dispatching:
            return
        self._dispatching = True
        try:
            while (flow := next(filter(self._has_room, self._flows), _NOBODY)) is not _NOBODY:
                if not self._bucket.take():
                    if self._refill is None:
                        self._refill = self._clock.callLater(self._bucket.wait(), self._refilled)
                    return
                places = self._flows.pop(flow)
                first = next(iter(places))
                places.pop(first).cancel()
                if places:
                    self._flows[flow] = places
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
        places = self._flows[flow]
        timer = places.pop(mine)
        if timer.active():
            timer.cancel()
        if not places:
            del self._flows[flow]
        if not self._flows and self._refill is not None:
            self._refill.cancel()
            self._refill = None
