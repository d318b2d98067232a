"""Progress of work that takes minutes: a live line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

QUIET = 15.0
"""Seconds between two lines where the output is not a terminal."""


class Progress(Protocol):
    """Is told about each step."""

    def step(self, what: str) -> None:
        """One more step, named ``what``, has begun."""
        ...


class LineProgress:
    """A line when it begins, then one every :data:`QUIET` seconds with the number of steps and the last of them."""

    def __init__(self, title: str, say: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._say = say
        self._clock = clock
        self._started = self._spoken = clock()
        self._steps = 0
        say(title)

    def step(self, what: str) -> None:
        """Count, and print a line when it is time."""
        self._steps += 1
        now = self._clock()
        if now - self._spoken >= QUIET:
            self._spoken = now
            self._say(f"{self._title}: {now - self._started:.0f} s, {self._steps} packages, {what}")


class LiveProgress:
    """A spinner with the elapsed time, drawn by rich."""

    def __init__(self, title: str, update: Callable[[str], None]) -> None:
        self._title = title
        self._update = update
        self._steps = 0

    def step(self, what: str) -> None:
        """Count, and draw."""
        self._steps += 1
        self._update(f"{self._title}: {self._steps} packages, {what}")


@contextmanager
def open_progress(title: str, say: Callable[[str], None]) -> Iterator[Progress]:
    """The progress display that suits the output; ``say`` prints one line."""
    if not sys.stderr.isatty():
        yield LineProgress(title, say)
        return
    from rich.console import Console  # noqa: PLC0415 - only terminals pay for it
    from rich.progress import Progress as Bar, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield LiveProgress(title, lambda text: bar.update(task, description=text))
