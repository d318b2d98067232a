"""Ctrl-C, SIGTERM and a closed terminal as one exception, so that ``finally`` ends what was started."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Collection, Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """A request to end. Like KeyboardInterrupt it is not an error."""


class Stop:
    """What has been asked for so far."""

    def __init__(self) -> None:
        self._requested = False

    def check(self) -> None:
        """Raise :class:`StopRequested` again if Python dropped it, as it does with exceptions in finalizers."""
        if self._requested:
            raise StopRequested

    def _first(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._requested = True
        ignore()
        raise StopRequested


def ignore() -> None:
    """Ignore further signals: the process is ending."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)


@contextlib.contextmanager
def as_exception() -> Iterator[Stop]:
    """Raise :class:`StopRequested` when the first signal arrives; ignore further ones."""
    stop = Stop()
    before = {number: signal.signal(number, stop._first) for number in _SIGNALS}  # noqa: SLF001 - ours
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Let no signal arrive before the end, where one that came meanwhile raises its exception.

    For a fork: Python drops exceptions in what it calls around one (``os.register_at_fork``), such as the lock of logging,
    and prints them. A child that is started meanwhile has to :func:`release` them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def release(*, but: Collection[signal.Signals] = ()) -> None:
    """Let signals arrive in a child, all that its parent held ``but`` these."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [each for each in _SIGNALS if each not in but])
