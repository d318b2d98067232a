"""A compiled expression: its type, what it may cost, and its value for given variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from extapi.schema.cel.environment import Environment
from extapi.schema.cel.errors import CostLimitExceededError, DeadlineExceededError, EvaluationError, PanicError
from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.types import Type

CALL_LIMIT: Final = 1_000_000
"""What one evaluation of an expression may cost."""
_STEP: Final = 10_000
"""After how much cost the deadline is looked at: about a millisecond."""


class Evaluation(NamedTuple):
    """What came of an evaluation."""

    value: Any
    """The value; None if there is an error."""
    error: EvaluationError | CostLimitExceededError | DeadlineExceededError | None
    cost: int
    """What it has cost, failed or not."""


_UNWRITTEN: Final[Any] = object()
_new: Final = tuple.__new__
"""Makes a named tuple in half of the time that its class takes."""


class Expression:
    """An expression that has been checked. Code is made when it is first evaluated.

    Attributes:
        text: As it was written.
        type: The type of its value.
        cost: What it may cost.
        environment: Where it was compiled.
    """

    __slots__ = ("_program", "_used", "cost", "environment", "text", "type")

    def __init__(self, text: str, environment: Environment, type_: Type, cost: Interval, used: frozenset[str]) -> None:
        self.text = text
        self.environment = environment
        self.type = type_
        self.cost = cost
        self._used = used
        self._program: Any = _UNWRITTEN

    def uses(self, variable: str) -> bool:
        """Whether the expression refers to that variable of its environment."""
        return variable in self._used

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
        program = self._program
        if program is _UNWRITTEN:
            if expired is not None and expired():  # writing takes longer than most evaluations
                return Evaluation(None, DeadlineExceededError(), 0)
            try:
                program = self._program = self._write()
            except RecursionError:  # the caller's stack is fuller than it was when this was compiled
                return Evaluation(None, _too_deep(), 0)
        if program is not None:
            try:
                value, cost = program(*values, min(_STEP, limit), (limit, _STEP, expired))
            except CostLimitExceededError as error:
                return Evaluation(None, error, error.cost)
            except DeadlineExceededError as error:
                return Evaluation(None, error, limit)
            except _FAILURES:
                pass  # something is wrong with the values: the interpreter finds out what
            else:
                if cost <= limit:
                    return _new(Evaluation, (value, None, cost))
                return Evaluation(None, CostLimitExceededError(cost), cost)
        return self._interpret(values, limit, expired)

    def _write(self) -> Any:
        # What this imports is not needed to check an expression.
        from extapi.schema.cel.emit.program import write  # noqa: PLC0415 - only when needed
        from extapi.schema.cel.tree import folded  # noqa: PLC0415 - only when needed

        program = write(folded(self.text, self.environment), self.environment, self._used)
        if any(variable.optional for variable in self.environment.variables if self.uses(variable.name)):
            return _with_optionals(program, self.environment)
        return program

    def _interpret(self, values: Sequence[Any], limit: int, expired: Callable[[], bool] | None) -> Evaluation:
        interpreter, interpretable, materialized = _interpreter()
        run = interpreter(self.environment, values, limit=limit, expired=expired)
        try:
            value = run.evaluate(interpretable(self.text, self.environment))
        except (CostLimitExceededError, DeadlineExceededError, EvaluationError) as error:
            return Evaluation(None, error, run.cost)
        except RecursionError:  # the caller's stack is nearly full
            return Evaluation(None, _too_deep(), run.cost)
        if isinstance(value, EvaluationError):
            return Evaluation(None, value, run.cost)
        return Evaluation(materialized(value), None, run.cost)


@cache
def _interpreter() -> tuple[Any, Any, Any]:
    """What evaluates an expression that has failed, imported when the first one has."""
    from extapi.schema.cel.evaluation.interpreter import Interpreter  # noqa: PLC0415 - only when needed
    from extapi.schema.cel.evaluation.reading import materialized  # noqa: PLC0415 - only when needed
    from extapi.schema.cel.tree import interpretable  # noqa: PLC0415 - only when needed

    return Interpreter, interpretable, materialized


_FAILURES: Final = (
    ArithmeticError,
    AttributeError,
    EvaluationError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What generated code raises if an expression fails."""


def _too_deep() -> PanicError:
    return PanicError("the expression nests too deeply")


def _as_it_is(value: Any) -> Any:
    return value


def _with_optionals(program: Any, environment: Environment) -> Any:
    """The program with the values of optional variables wrapped, as the expression expects them."""
    if program is None:
        return None
    from extapi.schema.cel.evaluation.reading import CONVERSIONS  # noqa: PLC0415 - only when needed
    from extapi.schema.cel.values.values import NONE, some  # noqa: PLC0415 - only when needed
    from extapi.schema.structural import MISSING  # noqa: PLC0415 - only when needed

    places = [
        (index, CONVERSIONS.get(variable.declared.conversion if variable.declared is not None else "", _as_it_is))
        for index, variable in enumerate(environment.variables)
        if variable.optional
    ]

    def run(*arguments: Any) -> Any:
        values = list(arguments)
        for place, convert in places:
            value = values[place]
            values[place] = NONE if value is MISSING or value is None else some(convert(value))
        return program(*values)

    return run
