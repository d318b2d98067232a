"""Runs the rules of a kind on an object without holding up other requests.

Most objects cost little, and their rules run at once. What costs more or takes longer is begun again in a thread, where it
runs to its end: the reactor goes on, slower, since both share one interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.internet.defer import DeferredSemaphore
from twisted.internet.threads import deferToThreadPool

from extapi.api.types import Obj

if TYPE_CHECKING:
    from extapi.schema.cel.validator import RuleValidator, Validation

INLINE: Final = 100_000
"""What rules may cost in the reactor's thread: about 10 ms."""
INLINE_TIME: Final = 0.05
"""Seconds that they may take there. Some functions take much longer than their price says."""
AT_ONCE: Final = 2
"""Threads that run rules at a time. More would finish no sooner, and leave less for the reactor."""

Expired = Callable[[], bool]
T = TypeVar("T")


def never() -> bool:
    """No deadline."""
    return False


class RuleRunner:
    """Runs rules.

    Args:
        reactor: The reactor.
        pool: A thread pool; without one, all rules run in the reactor's thread.
    """

    def __init__(self, reactor: Any = None, pool: Any = None) -> None:
        self._reactor = reactor
        self._pool = pool
        self._turns = DeferredSemaphore(AT_ONCE)

    async def validate(self, rules: RuleValidator, obj: Obj, old: Obj | None, expired: Expired = never) -> Validation:
        """Run all rules on an object, which must not change meanwhile.

        Args:
            rules: The rules.
            obj: The object.
            old: On an update, the object that it replaces.
            expired: Whether the request's time is up; asked in a thread.
        """
        if self._pool is None:
            return rules.validate(obj, old, expired=expired)
        until = self._reactor.seconds() + INLINE_TIME
        late = False

        def is_late() -> bool:
            nonlocal late
            late = late or self._reactor.seconds() >= until
            return late

        found = rules.validate(obj, old, budget=INLINE, expired=is_late)
        if found.remaining >= 0 and not late:
            return found
        left = False  # whether the request has ended without waiting
        await self._turns.acquire()
        try:
            return await deferToThreadPool(
                self._reactor, self._pool, rules.validate, obj, old, expired=lambda: left or expired()
            )
        finally:
            left = True
            self._turns.release()

    async def apart(self, work: Callable[[], T]) -> T:
        """Do what takes long in a thread, where there is a pool; meanwhile nobody may change what it reads."""
        if self._pool is None:
            return work()
        await self._turns.acquire()
        try:
            done: T = await deferToThreadPool(self._reactor, self._pool, work)
            return done
        finally:
            self._turns.release()
