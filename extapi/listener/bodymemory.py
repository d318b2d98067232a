"""What all bodies that are still arriving may keep in memory together, and whose goes when that is too much.

Counts bytes, not promises: room that is set aside for a declared length could be taken by whoever declares much and sends
nothing. Knows nothing of connections.
"""

from __future__ import annotations

from extapi.errors import TooManyRequests
from extapi.listener.body import RequestBody

FREED = 8
"""One such part of the room is freed at a time, so that the search for whom to refuse is rare."""


class BodyMemory:
    """``limit``: bytes. Bodies that are complete when their head is read never come here."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bodies: dict[RequestBody, float] = {}
        self.total = 0
        """Bytes kept."""

    def hold(self, body: RequestBody, now: float) -> None:
        """Count what is kept for a body that is not complete. May refuse it, or others."""
        kept = body.kept
        self.total += kept - body.held
        body.held = kept
        self._bodies.setdefault(body, now)
        if self.total > self._limit:
            self._refuse(now)

    def release(self, body: RequestBody) -> None:
        """It is complete, or nobody wants it any more."""
        if self._bodies.pop(body, None) is not None:
            self.total -= body.held
            body.held = 0

    def _refuse(self, now: float) -> None:
        """Those go first that took the most room for the longest time: a large body that comes quickly is not among them."""
        wanted = self._limit - self._limit // FREED
        costly = sorted(self._bodies, key=lambda body: body.held * (1 + now - self._bodies[body]), reverse=True)
        for body in costly:
            if self.total <= wanted:
                return
            self.release(body)
            body.fail(TooManyRequests("too many request bodies are arriving, please try again later", retry_after=1))
            body.poke()
