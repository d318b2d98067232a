"""Where expressions run: in the reactor's thread as long as they are fast, then in another one; and whom they may ask.

Must not know what is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from twisted.internet.threads import deferToThreadPool

from extapi.admission.expressions.authorizing import Checks, Unanswered
from extapi.api.user import User
from extapi.authorization.authorizer import Authorizer

INLINE: Final = 0.05
"""Seconds that expressions may take in the reactor's thread; then they begin again in another one."""

T = TypeVar("T")
Expired = Callable[[], bool]
"""Whether the time of an evaluation is up."""
Evaluate = Callable[[Checks, Expired], T]
"""Evaluates: gets the checks with the answers that are known, and what says that time is up."""


class ExpressionError(Exception):
    """An evaluation without a result. The text is kube-apiserver's."""


class Evaluator:
    """Where expressions run, and whom they may ask.

    Args:
        authorizer: Decides about the checks of ``authorizer``.
        reactor: Provides the clock, and takes calls from threads.
        pool: A thread pool; without one, all run in the reactor's thread.
    """

    def __init__(self, authorizer: Authorizer, reactor: Any, pool: Any = None) -> None:
        self._authorizer = authorizer
        self._reactor = reactor
        self._pool = pool

    async def run(self, evaluate: Evaluate[T], user: User, deadline: float) -> T:
        """The result of ``evaluate``, which is called with the checks that have been answered, until all are.

        Args:
            evaluate: May be called several times, also in other threads, one after the other.
            user: Whom ``authorizer`` is about.
            deadline: When the request has to be answered, on the reactor's clock.

        Raises:
            ExpressionError: ``evaluate`` raised it.
        """
        checks, clock = Checks(user), self._reactor
        inline = self._pool is not None
        while True:
            try:
                if not inline:
                    return await self._waited(evaluate, checks, deadline)
                late = _Timer(clock.seconds, clock.seconds() + INLINE)
                try:
                    found = evaluate(checks, late)
                except ExpressionError:
                    if not late.late:
                        raise
                else:
                    if not late.late:
                        return found
                inline = False  # it was stopped, so that the result is none
            except Unanswered as unanswered:
                await checks.answer(unanswered, self._authorizer)

    async def _waited(self, evaluate: Evaluate[T], checks: Checks, deadline: float) -> T:
        timer = _Timer(self._reactor.seconds, deadline)
        if self._pool is None:
            return evaluate(checks, timer)
        try:
            found: T = await deferToThreadPool(self._reactor, self._pool, evaluate, checks, timer)
        finally:
            timer.late = True  # whoever waited has left
        return found


class _Timer:
    """Whether a time has come; once it has, always."""

    __slots__ = ("_seconds", "_until", "late")

    def __init__(self, seconds: Callable[[], float], until: float) -> None:
        self._seconds = seconds
        self._until = until
        self.late = False

    def __call__(self) -> bool:
        self.late = self.late or self._seconds() >= self._until
        return self.late
