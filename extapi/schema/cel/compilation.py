"""Compiles an expression: parse, check, estimate."""

from __future__ import annotations

from extapi.schema.cel.checking.folding import FoldingError, fold
from extapi.schema.cel.declared import Declared
from extapi.schema.cel.environment import Environment
from extapi.schema.cel.errors import InstantiationError, Issue
from extapi.schema.cel.estimate import estimate
from extapi.schema.cel.expression import Expression
from extapi.schema.cel.syntax.source import failure
from extapi.schema.cel.tree import checked


def compile_expression(text: str, environment: Environment) -> Expression:
    """Compile an expression.

    Args:
        text: The expression.
        environment: What it may use.

    Raises:
        CompileError: It has mistakes.
        InstantiationError: A constant in it has no value.
    """
    try:
        return _compiled(text, environment)
    except RecursionError as error:
        raise failure(text, [Issue(-1, "max recursion depth exceeded")]) from error


def _compiled(text: str, environment: Environment) -> Expression:
    root, used = checked(text, environment)
    declared = _sizes(environment)
    type_ = root.type
    cost = estimate(root, declared)
    try:
        fold(root)
    except FoldingError as error:
        raise InstantiationError(str(error), type_) from error
    return Expression(text, environment, type_, cost, used)


def _sizes(environment: Environment) -> Declared | None:
    """The schema that says how large values can be."""
    return next((each.declared for each in environment.variables if each.declared is not None), None)
