"""When a server was heard last of a collection, and what an operator is told of it. Knows no lists and watches."""

from __future__ import annotations

from typing import Final

from twisted.logger import Logger

from extapi.clock import Clock

BOUND: Final = 75.0
"""Seconds without a word after which what is known of a collection may be wrong. Watches are shorter, so that each says something."""
_EVERY: Final = 60.0
"""Seconds between two lines about failures."""


class Hearing:
    """Of one collection.

    Args:
        what: The collection, for messages.
        clock: The reactor's clock.
    """

    _log = Logger()

    def __init__(self, what: str, clock: Clock) -> None:
        self._what = what
        self._clock = clock
        self._last = clock.seconds()
        self._told: float | None = None
        """When the last line was written; None: no failure was told of."""
        self._untold = 0

    @property
    def silent(self) -> float:
        """Seconds since the server was heard last."""
        return self._clock.seconds() - self._last

    def heard(self) -> None:
        """The server has said something about the collection."""
        silent = self.silent
        self._last = self._clock.seconds()
        if self._told is not None and silent > BOUND:
            self._log.info("{what} are followed again, after {silent} s", what=self._what, silent=int(silent))
            self._told, self._untold = None, 0

    def failed(self, why: str) -> None:
        """It could not be asked, or has refused."""
        now = self._clock.seconds()
        if self._told is not None and now - self._told < _EVERY:
            self._untold += 1
            return
        blind = f"; nothing has been heard for {int(self.silent)} s" if self.silent > BOUND else ""
        more = f" ({self._untold} more failures since the last line)" if self._untold else ""
        tell = self._log.warn if blind else self._log.info
        tell("informer of {what} continues after: {why}{more}{blind}", what=self._what, why=why, more=more, blind=blind)
        self._told, self._untold = now, 0

    def problem(self) -> str | None:
        """None, or that what is known may be wrong."""
        silent = self.silent
        return None if silent <= BOUND else f"nothing has been heard of {self._what} for {int(silent)} s"
