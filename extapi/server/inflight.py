"""Stage 3, is there room: a bound on the requests in work, one for reads and one for writes (spec H7).

Watches do not count: they are long-running. Nor do ``system:masters``, so that an operator gets through to a busy server.
"""

from __future__ import annotations

from extapi.api.user import MASTERS
from extapi.listener.call import Call, Handler, Response

READS = frozenset({"get", "list", "watch"})


class InFlight:
    """Lets at most ``reads`` and ``writes`` requests in at a time; the others get 429 and a second to wait. 0: no bound."""

    def __init__(self, successor: Handler, *, reads: int = 400, writes: int = 200) -> None:
        self._successor = successor
        self._bounds = (reads, writes)
        self._counts = [0, 0]

    async def __call__(self, call: Call) -> Response:
        """Pass the call on if there is room."""
        verb = call.info.verb
        if verb == "watch" or (call.user is not None and MASTERS in call.user.groups):
            return await self._successor(call)
        pool = 0 if verb in READS else 1
        if 0 < self._bounds[pool] <= self._counts[pool]:
            return Response(
                429,
                [
                    ("Content-Type", "text/plain; charset=utf-8"),
                    ("X-Content-Type-Options", "nosniff"),
                    ("Retry-After", "1"),
                ],
                b"Too many requests, please try again later.\n",
            )
        self._counts[pool] += 1
        try:
            return await self._successor(call)
        finally:
            self._counts[pool] -= 1
