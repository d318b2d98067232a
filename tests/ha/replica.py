"""``extapi serve`` with a wall clock that a test moves, and on demand with a fault: what the checker starts as a replica.

The clock: what ``time.time`` says, by which Twisted runs its timers and the server stamps objects. It is moved by the number
of seconds that the file has which ``CHECKER_CLOCK`` names, read once per tenth of a second. ``CHECKER_PLANT`` names the fault.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

_real = time.time
_monotonic = time.monotonic
_EVERY = 0.1


class MovedClock:
    """The wall clock, moved."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = 0.0
        self._moved = 0.0

    def __call__(self) -> float:
        """What the time is said to be."""
        if _monotonic() - self._read > _EVERY:
            self._read = _monotonic()
            self._moved = float(self._file.read_text() or 0)
        return _real() + self._moved


if __name__ == "__main__":
    time.time = MovedClock(Path(os.environ["CHECKER_CLOCK"]))  # before Twisted takes it
    from extapi.cli import main
    from tests.ha.live import PLANTS

    if plant := os.environ["CHECKER_PLANT"]:
        PLANTS[plant].begin()
    sys.argv[0] = "extapi"
    main()
