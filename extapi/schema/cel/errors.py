"""What can go wrong with an expression: when it is compiled, and when it is evaluated."""

from __future__ import annotations

from typing import NamedTuple

from extapi.schema.cel.types import Type


class Issue(NamedTuple):
    """One mistake in an expression."""

    offset: int
    """Where it is, in code points from the beginning; -1 if nowhere in particular."""
    message: str


class CompileError(ValueError):
    """An expression that does not compile. ``str`` is the text that kube-apiserver prints after "compilation failed: ".

    Attributes:
        issues: The mistakes, in the order of their places.
    """

    def __init__(self, text: str, issues: tuple[Issue, ...]) -> None:
        super().__init__(text)
        self.issues = issues


class InstantiationError(ValueError):
    """An expression that is correct, but has a constant without a value, such as ``int("x")``.

    ``str`` is the text that kube-apiserver prints after "program instantiation failed: ".

    Attributes:
        type: The type that the expression has: it is looked at first.
    """

    def __init__(self, text: str, type_: Type) -> None:
        super().__init__(text)
        self.type = type_


class EvaluationError(Exception):
    """An expression that has no value for this input: a missing key, a division by zero. ``str`` is cel-go's text."""


class PanicError(EvaluationError):
    """What cel-go does not expect: it ends the whole evaluation, whatever stands around."""

    def __init__(self, text: str) -> None:
        super().__init__(f"internal error: {text}")


class CostLimitExceededError(Exception):
    """An expression that cost more than its limit allows.

    Attributes:
        cost: What it had cost when it was stopped.
    """

    def __init__(self, cost: int) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")
        self.cost = cost


class DeadlineExceededError(Exception):
    """An expression that was stopped because its time was up."""

    def __init__(self) -> None:
        super().__init__("operation interrupted")
