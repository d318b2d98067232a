"""A machine's clock that somebody sets, beside the one that goes on evenly, as the reactor of a server has both."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock

_FIRST = 1_000.0
"""What it begins with: whoever takes one clock for the other is far off."""


class SettableClock(Clock):
    """Stands still, as ``task.Clock``."""

    def __init__(self, now: float = 0.0) -> None:
        untyped: Any = super()
        untyped.__init__()
        self.rightNow = _FIRST
        self._moved = now - _FIRST

    def wall_time(self) -> float:
        """What the machine's clock says."""
        return float(self.rightNow + self._moved)

    def set_by(self, seconds: float) -> None:
        """Set the machine's clock ahead, or back."""
        self._moved += seconds
