"""What an operator is told of a webhook that fails: the first failure at once, then a line per minute with their number.

Must not know what a failure is. Metrics there are none; the log is what an operator has.
"""

from __future__ import annotations

from twisted.logger import Logger

from extapi.clock import Clock

EVERY = 60.0
"""Seconds between lines about failures of one webhook."""


class FailureLog:
    """The failures of one webhook.

    Args:
        what: What it belongs to, such as a CustomResourceDefinition and its name.
        kind: What it does.
        url: Where it is.
        clock: Times the lines.
    """

    _log = Logger()

    def __init__(self, what: str, url: str, clock: Clock, kind: str = "conversion webhook") -> None:
        self._what = what
        self._url = url
        self._clock = clock
        self._kind = kind
        self._untold = 0
        self._told: float | None = None
        """When the last line was written; None while the webhook works."""

    def failed(self, why: str) -> None:
        """A call has failed."""
        now = self._clock.seconds()
        if self._told is not None and now - self._told < EVERY:
            self._untold += 1
            return
        more = f" ({self._untold} more failures since the last line)" if self._untold else ""
        self._log.error(
            "{what}: {why}{more}; the webhook is at {url}", what=self._what, why=why, more=more, url=self._url
        )
        self._told, self._untold = now, 0

    def succeeded(self) -> None:
        """A call has succeeded."""
        if self._told is not None and self._clock.seconds() - self._told >= EVERY:
            self._log.info("{what}: the {kind} at {url} works again", what=self._what, kind=self._kind, url=self._url)
            self._told, self._untold = None, 0
