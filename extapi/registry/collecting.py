"""Making much at once without Python's cyclic garbage collector, which would look through it again and again.

A folder of definitions becomes a million objects, all of them in use. Knows nothing of what is made.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the collector for a block that waits for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
