"""What bounds a review: bytes, those of all reviews together, their number, and time.

kube-apiserver gives up after a webhook's ``timeoutSeconds``, which it sends as ``?timeout=``; nothing goes on for it after
that. A conversion has 30 seconds there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from twisted.internet.defer import Deferred

from extapi.clock import Clock, Late, in_time
from extapi.errors import ServiceUnavailable, TooManyRequests
from extapi.http.request import Request

MIB: Final = 1024 * 1024
ADMISSION: Final = 16 * MIB
"""Bytes of an AdmissionReview: an object of 3 MiB and its old one, and as much again for escapes."""
CONVERSION: Final = 64 * MIB
"""Bytes of a ConversionReview: 500 objects of 128 KiB."""
TOGETHER: Final = 128 * MIB
"""Bytes of the reviews that are being answered."""
REVIEWS: Final = 400
"""Reviews that are being answered at a time."""
_BUSY: Final = "too many reviews are being answered, please try again later"
LATE: Final = "the review was not answered in time"


class Bounds:
    """Runs what answers reviews, within bounds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bytes = 0
        self._reviews = 0

    async def run(self, request: Request, limit: int, answer: Callable[[bytes], Awaitable[bytes]]) -> bytes:
        """The answer.

        Raises:
            RequestTooLarge: The review has more than ``limit`` bytes.
            TooManyRequests: Too much is being answered already.
            ServiceUnavailable: The time is up, which the listener has told the caller.
            ApiError: The body does not arrive.
        """
        running = Deferred.fromCoroutine(self._answered(request, limit, answer))
        if running.called:
            return await running
        try:
            return await in_time(self._clock, max(0.0, request.deadline - self._clock.seconds()), running)
        except Late:
            raise ServiceUnavailable(LATE) from None

    async def _answered(self, request: Request, limit: int, answer: Callable[[bytes], Awaitable[bytes]]) -> bytes:
        body = await request.body.read(limit)
        # Not before: whoever sends a body slowly takes nobody's place. The listener bounds those.
        if self._reviews >= REVIEWS or self._bytes + len(body) > TOGETHER:
            raise TooManyRequests(_BUSY, retry_after=1)
        self._reviews += 1
        self._bytes += len(body)
        try:
            return await answer(body)
        finally:
            self._reviews -= 1
            self._bytes -= len(body)
