"""Match conditions: expressions in CEL that say whether a webhook, or a policy, is asked (behaviour I15).

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from extapi.admission.expressions.authorizing import Checks
from extapi.admission.expressions.composition import Activation, Compiled, Composition, OutOfBudgetError, compiled
from extapi.admission.expressions.environment import Declarations, Input, environment
from extapi.admission.expressions.evaluating import Evaluator, Expired, ExpressionError
from extapi.errors import aggregate

BUDGET: Final = 2_500_000
"""What all conditions of a webhook or policy may cost together (``RuntimeCELCostBudgetMatchConditions``)."""


class MatchError(ExpressionError):
    """The conditions have no answer, and the failure policy is Fail. The text is kube-apiserver's."""


class MatchConditions:
    """The conditions of a webhook or policy. They are compiled when they are first needed.

    Args:
        conditions: The conditions, each with a name and an expression.
        fails: Whether an error refuses the write; otherwise the webhook or policy is not asked.
        composition: A policy's variables.
    """

    __slots__ = ("_compiled", "_composition", "_fails", "_texts")

    def __init__(
        self, conditions: Sequence[Mapping[str, Any]], *, fails: bool, composition: Composition | None = None
    ) -> None:
        self._texts = [str(each.get("expression") or "") for each in conditions]
        self._fails = fails
        self._composition = composition
        self._compiled: list[Compiled] | None = None

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._texts)

    async def match(self, given: Input, evaluator: Evaluator, deadline: float) -> bool:
        """Whether all are true.

        Args:
            given: What they look at.
            evaluator: Where they run.
            deadline: When the request has to be answered, on the reactor's clock.

        Raises:
            MatchError: See :class:`MatchError`.
        """

        def evaluate(checks: Checks, expired: Expired) -> bool:
            return self.evaluate(given, checks, expired)

        return await evaluator.run(evaluate, given.user, deadline)

    def evaluate(self, given: Input, checks: Checks, expired: Expired) -> bool:
        """The same, for those who are called by an :class:`extapi.admission.expressions.evaluating.Evaluator`.

        They do not see the namespace.

        Raises:
            MatchError: See :class:`MatchError`.
        """
        if self._compiled is None:
            self._compiled = [self._compile(text) for text in self._texts]
        activation = Activation(given._replace(namespace=None), checks, expired, self._composition, BUDGET)
        try:
            results = activation.evaluate_all(self._compiled)
        except OutOfBudgetError as error:
            return self._failed(str(error))
        if any(each.value is False for each in results):
            return False
        errors = [each.error for each in results if each.error]
        return self._failed(aggregate(errors)) if errors else True

    def _compile(self, text: str) -> Compiled:
        from extapi.schema.cel.types import BOOL  # noqa: PLC0415 - most servers evaluate no CEL

        if self._composition is not None:
            return self._composition.compile(text, (BOOL,))
        return compiled(text, _environment(), (BOOL,))

    def _failed(self, why: str) -> bool:
        if self._fails:
            raise MatchError(why)
        return False


def condition_error(text: str, *, stored: bool) -> str:
    """Why an expression is no condition of a webhook; empty if it is one.

    Args:
        text: The expression.
        stored: Whether it has been stored before: a new one may use only what the version before this server knew, too.
    """
    from extapi.schema.cel.types import BOOL  # noqa: PLC0415 - most servers evaluate no CEL

    return compiled(text, _environment() if stored else _older_environment(), (BOOL,)).error


@cache
def _environment() -> Any:
    """What the conditions of webhooks may use."""
    return environment(Declarations(), {})


@cache
def _older_environment() -> Any:
    """What new ones may use."""
    from extapi.schema.cel.environment import base_environment  # noqa: PLC0415 - most servers evaluate no CEL

    return environment(Declarations(), {}, base_environment())
