"""Large writes without Python's cyclic garbage collector, which would scan what they make again and again.

A body of 3 MiB becomes a million objects, all of them in use: three quarters of the time went into looking for garbage among
them. Knows nothing of what a write does.
"""

from __future__ import annotations

import gc
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, Final, TypeVar

from extapi.http.request import Request

T = TypeVar("T")

WRITES: Final = frozenset({"create", "update", "patch"})
_DIGITS: Final = 6
"""Of the Content-Length of a large body: 100 kB."""


def is_large(request: Request) -> bool:
    """Whether the body may be large, because it says so, or does not say its size."""
    length = request.header("content-length")
    return not length or len(length) >= _DIGITS


@coroutine
def uncollected(work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Run ``work``; the collector pauses during each of its steps, and may run whenever it waits."""
    value: Any = None
    error: BaseException | None = None
    while True:
        enabled = gc.isenabled()
        gc.disable()
        try:
            waits = work.send(value) if error is None else work.throw(error)
        except StopIteration as ended:
            result: T = ended.value
            return result
        finally:
            if enabled:
                gc.enable()
        value = error = None
        try:
            value = yield waits
        except GeneratorExit:
            work.close()
            raise
        except BaseException as raised:  # noqa: BLE001 - it is for the work, whatever it is
            error = raised
