"""A compiled expression: its type, what it may cost, and its value for given variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from extapi.schema.cel.cost.intervals import Interval
from extapi.schema.cel.errors import CostLimitExceededError, DeadlineExceededError, EvaluationError
from extapi.schema.cel.types import Type

CALL_LIMIT: Final = 1_000_000
"""What one evaluation of an expression may cost."""


class Evaluation(NamedTuple):
    """What came of an evaluation."""

    value: Any
    """The value; None if there is an error."""
    error: EvaluationError | CostLimitExceededError | DeadlineExceededError | None
    cost: int
    """What it has cost, failed or not."""


class Expression:
    """An expression that has been checked. Immutable; code is made when it is first evaluated.

    Attributes:
        text: As it was written.
        type: The type of its value.
        cost: What it may cost.
    """

    __slots__ = ("cost", "text", "type")

    def __init__(self, text: str, type_: Type, cost: Interval) -> None:
        self.text = text
        self.type = type_
        self.cost = cost

    def uses(self, variable: str) -> bool:
        """Whether the expression refers to that variable of its environment."""
        raise NotImplementedError

    def evaluate(
        self, values: Sequence[Any], *, limit: int = CALL_LIMIT, expired: Callable[[], bool] | None = None
    ) -> Evaluation:
        """Evaluate the expression.

        Args:
            values: One value per variable of the environment, in its order. Objects are given as they are, as JSON of
                the schema that the variable was declared with; they are not changed.
            limit: The cost at which it is stopped.
            expired: Asked now and then; true stops the evaluation.
        """
        raise NotImplementedError
