"""How often something may happen: a token bucket, or one per key. Pure arithmetic on a clock that is passed in.

Knows neither what is counted nor what happens beyond the rate.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from extapi.clock import Clock


class TokenBucket:
    """``burst`` at once, then ``rate`` per second (``golang.org/x/time/rate``, which client-go's QPS and Burst are)."""

    __slots__ = ("_burst", "_clock", "_last", "_rate", "_tokens")

    def __init__(self, clock: Clock, *, rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._last = clock.seconds()

    def take(self) -> bool:
        """Take a token if there is one.

        Returns:
            Whether there was one.
        """
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def give_back(self) -> None:
        """Return a token that was taken."""
        self._tokens = min(self._burst, self._tokens + 1)

    def wait(self) -> float:
        """Seconds until there is a token."""
        self._fill()
        return max(0.0, (1 - self._tokens) / self._rate)

    def _fill(self) -> None:
        now = self._clock.seconds()
        # Wall clocks are sometimes set back: that must neither fill nor empty the bucket.
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._last) * self._rate)
        self._last = now


class TokenBuckets:
    """A bucket per key. At most ``size`` keys are remembered; the least recently used one is forgotten, so its bucket is full."""

    def __init__(self, clock: Clock, *, rate: float, burst: float, size: int) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._size = size
        self._buckets: OrderedDict[Hashable, TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: Hashable) -> bool:
        """See :meth:`TokenBucket.take`."""
        return self._bucket(key).take()

    def give_back(self, key: Hashable) -> None:
        """See :meth:`TokenBucket.give_back`; nothing happens for a key that was forgotten."""
        if key in self._buckets:
            self._buckets[key].give_back()

    def wait(self, key: Hashable) -> float:
        """See :meth:`TokenBucket.wait`."""
        return self._bucket(key).wait()

    def _bucket(self, key: Hashable) -> TokenBucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = TokenBucket(self._clock, rate=self._rate, burst=self._burst)
            if len(self._buckets) > self._size:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key)
        return bucket
