"""Asking the cluster for a review: one POST, tried again where ``k8s.io/apiserver``'s webhooks try again (spec A24).

Knows the retry rule. Must not know which review it is.
"""

from __future__ import annotations

from collections.abc import Callable

from extapi.client.base import ConnectionLost, TransportError
from extapi.client.clock import Clock, sleep
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
    """Posts reviews of one kind. ``jitter``: random numbers in [0, 1)."""

    def __init__(self, client: Client, resource: ResourceName, *, clock: Clock, jitter: Callable[[], float]) -> None:
        self._client = client
        self._resource = resource
        self._clock = clock
        self._jitter = jitter

    async def review(self, obj: Obj) -> Obj:
        """The answered review's status. Raises :class:`ApiError` or :class:`TransportError` of the last try."""
        delay = FIRST_DELAY
        for left in reversed(range(TRIES)):
            try:
                answer = await self._client.create(self._resource, obj, timeout=TIMEOUT, limit=ANSWER)
            except (ApiError, TransportError) as error:
                if left == 0 or not _is_worth_a_retry(error):
                    raise
            else:
                status = answer.get("status")
                return status if isinstance(status, dict) else {}
            await sleep(self._clock, delay * (1 + JITTER * self._jitter()))
            delay *= FACTOR
        raise AssertionError("unreachable")


def _is_worth_a_retry(error: ApiError | TransportError) -> bool:
    """A reset connection, an internal error, 504, 429, or an answer that names a time to come back."""
    if isinstance(error, TransportError):
        return isinstance(error, ConnectionLost)
    return (error.code == 500 and error.reason == "InternalError") or error.code in {504, 429} or error.retry_after > 0
