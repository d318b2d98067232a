"""How long to wait before something is tried again that has failed: longer each time, and differently in each process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from extapi.clock import Clock

FIRST: Final = 0.8
LAST: Final = 30.0
"""Seconds of the first wait, doubled with each further one, and at most; jitter makes each up to twice as long."""
RESET: Final = 120.0
"""Seconds without a wait after which the next one is the first again."""
HEEDED: Final = 60.0
"""The most seconds of a Retry-After that are heeded: a server that names a day would leave its client blind for so long."""
RETRIES: Final = 10
RETRY: Final = 1.0
"""How often, and after how many seconds, a request is sent again whose connection was lost before there was an answer: a proxy
without a server behind it does that, or a server that begins or ends."""


class Backoff:
    """The waits of one client.

    Args:
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1).

    Source: ``k8s.io/client-go/tools/cache`` reflector.go and ``k8s.io/apimachinery/pkg/util/wait`` Backoff.DelayWithReset.
    """

    def __init__(self, clock: Clock, jitter: Callable[[], float]) -> None:
        self._clock = clock
        self._jitter = jitter
        self._next = FIRST
        self._last = clock.seconds()
        self._lost = 0

    def retry(self, *, watch: bool) -> float | None:
        """Seconds until a request whose connection was lost is sent again; None: often enough, :meth:`wait` instead.

        Args:
            watch: Whether it is a watch, which is sent again as often as it takes.

        Source: ``k8s.io/client-go/rest`` with_retry.go; request.go Watch makes an empty watch of what has failed ten times,
        and the reflector begins the next one at once, since that took its time.
        """
        self._lost += 1
        return RETRY if watch or self._lost <= RETRIES else None

    def wait(self, *, took: float = 0.0, asked: float = 0.0) -> float:
        """Seconds to wait now.

        Args:
            took: Seconds that the attempt took which has failed: they count as part of the wait.
            asked: What the server asked for by Retry-After.
        """
        now = self._clock.seconds()
        if now - self._last > RESET:
            self._next = FIRST
        seconds = self._next * (1 + self._jitter())
        self._next = min(self._next * 2, LAST)
        seconds = max(seconds - took, min(asked, HEEDED), 0.0)
        self._last = now + seconds
        self._lost = 0
        return seconds
