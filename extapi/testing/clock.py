"""The clock of an in-memory server: a test moves it, and it refuses what a reactor refuses.

Twisted's ``task.Clock`` takes anything, so that a mistake passes each test and shows in production.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from threading import get_ident
from typing import Any

from twisted.internet.task import Clock


class ManualClock(Clock):
    """Time that passes when a test says so, in :meth:`advance`.

    It belongs to the thread that made it or moved it last.
    """

    def __init__(self) -> None:
        super().__init__()
        self._thread = get_ident()

    def callLater(  # noqa: N802 - Twisted's
        self,
        delay: float,
        callable: Callable[..., object],  # noqa: A002 - Twisted's
        *args: Any,
        **kw: Any,
    ) -> Any:
        """Call in ``delay`` seconds.

        Raises:
            AssertionError: A reactor would refuse this, or never notice it: the delay is negative or not a number, there is nothing
                to call, or it comes from another thread.

        Source: ``twisted.internet.base.ReactorBase.callLater``.
        """
        if not delay >= 0:
            raise AssertionError(f"{delay} is not greater than or equal to 0 seconds")
        if not builtins.callable(callable):
            raise AssertionError(f"{callable!r} is not callable")  # noqa: TRY004 - all that a reactor asserts
        if get_ident() != self._thread:
            raise AssertionError(
                "callLater was called from another thread than the reactor's; use callFromThread there"
            )
        return super().callLater(delay, callable, *args, **kw)

    def advance(self, amount: float) -> None:
        """Let ``amount`` seconds pass, and call what is due."""
        self._thread = get_ident()
        super().advance(amount)
