"""Ctrl-C, SIGTERM and a closed terminal as one exception, so that ``finally`` ends what was started."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """Somebody asks us to end. Like KeyboardInterrupt it is no error."""


@contextlib.contextmanager
def as_exception() -> Iterator[None]:
    """Raise :class:`StopRequested` where the program is when the first of the signals comes; ignore further ones."""
    before = {number: signal.signal(number, _first) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _first(number: int, frame: FrameType | None) -> None:
    del number, frame
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise StopRequested
