"""Compiles an expression: parse, check, estimate."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from extapi.schema.cel.checker import check
from extapi.schema.cel.cost.estimate import estimate
from extapi.schema.cel.declared import ROOT, Declared
from extapi.schema.cel.environment import Environment
from extapi.schema.cel.errors import CompileError, InstantiationError, Issue
from extapi.schema.cel.expression import Expression, with_room
from extapi.schema.cel.folding import FoldingError, fold
from extapi.schema.cel.literalchecks import literal_issues
from extapi.schema.cel.syntax.nodes import Node
from extapi.schema.cel.syntax.parser import parse
from extapi.schema.cel.syntax.source import failure

_KEPT: Final = 128
"""How many trees are kept for expressions that failed: the interpreter needs them again if the next object fails, too."""


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
    except RecursionError:
        pass
    try:
        return with_room(lambda: _compiled(text, environment))
    except RecursionError as error:
        raise failure(text, [Issue(-1, "max recursion depth exceeded")]) from error


def _compiled(text: str, environment: Environment) -> Expression:
    root, used = _checked(text, environment)
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


def _checked(text: str, environment: Environment) -> tuple[Node, frozenset[str]]:
    root = parse(text, environment.language.macros)
    found = check(root, environment)
    if not found.issues and environment.language.literal_checks:
        found.issues.extend(literal_issues(found.nodes))
    if found.issues:
        raise failure(text, [_relative(issue, environment) for issue in found.issues])
    return root, frozenset(found.used)


def _relative(issue: Issue, environment: Environment) -> Issue:
    """The issue with names of types that begin where the expression is: ``selfType.name``, not ``selfType.spec.name``."""
    name = environment.root_name
    return issue._replace(message=issue.message.replace(name, ROOT)) if name != ROOT else issue


def folded(text: str, environment: Environment) -> Node:
    """The folded tree of an expression that has been compiled before."""
    return fold(_checked(text, environment)[0])


@lru_cache(maxsize=_KEPT)
def interpretable(text: str, environment: Environment) -> Node:
    """The same for the interpreter, which may need it often."""
    return folded(text, environment)


__all__ = ["CompileError", "compile_expression", "folded", "interpretable"]
