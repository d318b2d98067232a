"""Asks the cluster for a review: one POST in its turn, retried like webhooks in ``k8s.io/apiserver`` (behaviour A24).

Knows the rule for retries, not which review it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from twisted.internet.defer import Deferred

from extapi.client.fairqueue import FairQueue
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.singleflight import to_the_end
from extapi.client.transport import ConnectionLost, ProxyBusy, TransportError
from extapi.clock import Clock, sleep
from extapi.errors import ApiError

TRIES = 5
FIRST_DELAY = 0.5
FACTOR = 1.5
JITTER = 0.2
TIMEOUT = 10.0
"""Seconds per try."""
ANSWER = 4 * 1024 * 1024
"""Bytes per response: a user may have thousands of groups; more than this is a mistake."""


class Reviewer:
    """Posts reviews of one kind.

    Args:
        client: The client of the cluster.
        resource: The kind of review.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1), which spread the retries.
        queue: Where each try waits for its turn; by default one of its own.
    """

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
        """Post a review and return its status.

        Cancelling gives up the turn, or the remaining tries. A POST under way continues to its end, because breaking it
        off would cost kube-apiserver and this process a connection.

        Args:
            build: Makes the review; called when its turn has come.
            flow: The caller, for the fair queue.

        Raises:
            TooManyRequests: There was no turn in time.
            ApiError: The last try was refused.
            TransportError: The last try had no response.
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
    """Whether to retry: after a reset connection, an internal error, 504, 429, or a Retry-After.

    Also if a proxy was busy, after which client-go gives up: a token that nobody could judge fails the request of a client.
    """
    if isinstance(error, TransportError):
        return isinstance(error, ConnectionLost | ProxyBusy)
    return (error.code == 500 and error.reason == "InternalError") or error.code in {504, 429} or error.retry_after > 0
