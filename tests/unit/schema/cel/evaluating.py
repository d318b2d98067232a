"""Expressions evaluated both ways: by the code that is generated for them, and by the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from extapi.schema.cel.declared import Declared, declare
from extapi.schema.cel.emit.program import Program, write
from extapi.schema.cel.emit.runtime import Bounds
from extapi.schema.cel.environment import Environment, Variable, base_environment
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.evaluation.interpreter import Interpreter
from extapi.schema.cel.evaluation.reading import materialized
from extapi.schema.cel.expression import CALL_LIMIT
from extapi.schema.cel.syntax.nodes import Node
from extapi.schema.cel.tree import checked, folded
from extapi.schema.cel.values.values import OptionalValue
from extapi.schema.structural import from_openapi

FAILURES: Final = (ArithmeticError, AttributeError, EvaluationError, LookupError, TypeError, ValueError)
"""What generated code raises for the interpreter to say why."""


class Failed(NamedTuple):
    """The text of the error that an expression ends with."""

    text: str


def some(value: Any) -> tuple[str, Any]:
    """An optional with a value, as :func:`plain` shows it."""
    return ("some", value)


def plain(value: Any) -> Any:
    """A value as ``==`` of tests can compare it."""
    if isinstance(value, OptionalValue):
        return some(plain(value.value)) if value.present else "none"
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def schema_of(schema: Mapping[str, Any], *, root: bool = False) -> Declared:
    """The declaration of a schema."""
    declared = declare(from_openapi(dict(schema)), root=root)
    assert declared is not None
    return declared


def environment_of(schema: Mapping[str, Any] | None = None, *, root: bool = False) -> Environment:
    """An environment with ``self`` of a schema; without variables, if there is none."""
    if schema is None:
        return base_environment()
    declared = schema_of(schema, root=root)
    return base_environment().with_variables([Variable("self", declared.type, declared)])


def tree_of(text: str, environment: Environment | None = None) -> Node:
    """The tree of an expression."""
    return folded(text, environment or base_environment())


def program_of(text: str, environment: Environment) -> Program | None:
    """What is generated for an expression."""
    return write(tree_of(text, environment), environment, checked(text, environment)[1])


def stop_at(limit: int) -> Bounds:
    """What bounds generated code at a cost."""
    return limit, limit, None


def generated(text: str, environment: Environment, *values: Any) -> tuple[Any, int]:
    """The value and the cost that generated code gives.

    Raises:
        Exception: Any of FAILURES, if the expression fails.
    """
    program = program_of(text, environment)
    assert program is not None, "no code is generated"
    value, cost = program(*values, CALL_LIMIT, stop_at(CALL_LIMIT))
    return plain(value), cost


def interpreted(text: str, environment: Environment, *values: Any) -> tuple[Any, int]:
    """The value or error, and the cost, that the interpreter gives."""
    run = Interpreter(environment, values, limit=CALL_LIMIT)
    try:
        value = run.evaluate(tree_of(text, environment))
        if isinstance(value, EvaluationError):
            return Failed(str(value)), run.cost
        return plain(materialized(value)), run.cost
    except EvaluationError as error:
        return Failed(str(error)), run.cost


def judge_both(text: str, environment: Environment, values: tuple[Any, ...], expected: Any, cost: int) -> None:
    """Compare what both give with what is expected; generated code has to fail where an error is expected."""
    found = interpreted(text, environment, *values)
    assert (type(found[0]), found) == (type(expected), (expected, cost))
    if not isinstance(expected, Failed):
        found = generated(text, environment, *values)
        assert (type(found[0]), found) == (type(expected), (expected, cost))
        return
    try:
        made = generated(text, environment, *values)
    except FAILURES:
        return
    raise AssertionError(made)
