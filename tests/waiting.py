"""Waiting for what happens elsewhere: asked for again until it is so, never slept for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_INTERVAL = 0.05


def until(check: Callable[[], T | None], seconds: float = 15, *, interval: float = _INTERVAL) -> T:
    """What ``check`` returns, as soon as that is true; asked every ``interval`` seconds.

    An AssertionError that it raises means "not yet", and is what the test fails with when the time is over.
    """
    deadline = time.monotonic() + seconds
    while True:
        late = time.monotonic() > deadline
        try:
            found = check()
        except AssertionError:
            if late:
                raise
        else:
            if found:
                return found
            assert not late, f"still {found!r} after {seconds} s"
        time.sleep(interval)
