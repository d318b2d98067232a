"""Asking the cluster for a review: one POST at its turn, tried again where ``k8s.io/apiserver``'s webhooks try again (spec A24).

Knows the retry rule. Must not know which review it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from twisted.internet.defer import Deferred

from extapi.client.base import ConnectionLost, TransportError
from extapi.client.clock import Clock, sleep
from extapi.client.fairqueue import FairQueue
from extapi.client.flight import to_the_end
from extapi.client.kube import Client, Obj, ResourceName
from extapi.errors import ApiError

TRIES = 5
FIRST_DELAY = 0.5
FACTOR = 1.5
JITTER = 0.2
TIMEOUT = 10.0
"""Seconds for one try."""
ANSWER = 4 * 1024 * 1024
"""Bytes of an answer: the groups of a user may be thousands, and more is a mistake."""


class Reviewer:
    """Posts reviews of one kind. ``jitter``: random numbers in [0, 1); ``queue``: where each try waits for its turn."""

    def __init__(
        self,
        client: Client,
        resource: ResourceName,
        *,
        clock: Clock,
        jitter: Callable[[], float],
        queue: FairQueue | None = None,
    ) -> None:
        self._client = client
        self._resource = resource
        self._clock = clock
        self._jitter = jitter
        self._queue = queue or FairQueue(clock)

    async def review(self, build: Callable[[], Obj], flow: Hashable) -> Obj:
        """The answered review's status. ``build`` makes the review, when its turn has come; ``flow``: who wants it.

        Cancelling gives up the turn, or the tries that are left. A POST under way goes on to its end: breaking it off
        would cost kube-apiserver and us a connection. Raises :class:`ApiError` or :class:`TransportError` of the last
        try, and :class:`TooManyRequests` if there is no turn to be had.
        """
        delay = FIRST_DELAY
        for left in reversed(range(TRIES)):
            await self._queue.turn(flow)
            try:
                answer = await to_the_end(Deferred.fromCoroutine(self._post(build, flow)))
            except (ApiError, TransportError) as error:
                if left == 0 or not _is_worth_a_retry(error):
                    raise
            else:
                status = answer.get("status")
                return status if isinstance(status, dict) else {}
            await sleep(self._clock, delay * (1 + JITTER * self._jitter()))
            delay *= FACTOR
        raise AssertionError("unreachable")

    async def _post(self, build: Callable[[], Obj], flow: Hashable) -> Obj:
        try:
            return await self._client.create(self._resource, build(), timeout=TIMEOUT, limit=ANSWER)
        finally:
            self._queue.done(flow)


def _is_worth_a_retry(error: ApiError | TransportError) -> bool:
    """A reset connection, an internal error, 504, 429, or an answer that names a time to come back."""
    if isinstance(error, TransportError):
        return isinstance(error, ConnectionLost)
    return (error.code == 500 and error.reason == "InternalError") or error.code in {504, 429} or error.retry_after > 0
