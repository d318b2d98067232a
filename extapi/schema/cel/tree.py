"""The syntax tree of an expression, checked, and ready to be evaluated."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from extapi.schema.cel.checking.checker import check
from extapi.schema.cel.checking.folding import fold
from extapi.schema.cel.checking.literalchecks import literal_issues
from extapi.schema.cel.declared import ROOT
from extapi.schema.cel.environment import Environment
from extapi.schema.cel.errors import Issue
from extapi.schema.cel.syntax.nodes import Node
from extapi.schema.cel.syntax.parser import parse
from extapi.schema.cel.syntax.source import failure

_KEPT: Final = 1024
"""How many trees are kept for expressions that failed: the interpreter needs them again if the next object fails, too."""


def checked(text: str, environment: Environment) -> tuple[Node, frozenset[str]]:
    """Parse and check an expression.

    Returns:
        The tree, and the variables that occur in it.

    Raises:
        CompileError: The expression has mistakes.
    """
    root = parse(text, environment.language.macros)
    found = check(root, environment)
    if not found.issues and environment.language.literal_checks:
        found.issues.extend(literal_issues(found.nodes))
    if found.issues:
        raise failure(text, [_relative(issue, environment) for issue in found.issues])
    return root, frozenset(found.used)


def _relative(issue: Issue, environment: Environment) -> Issue:
    """The issue with names of types that begin where the expression is: ``selfType1.name``, not ``selfType1.spec.name``.

    Other types, such as that of ``request``, keep their names.
    """
    name = environment.root_name
    return issue._replace(message=issue.message.replace(name, ROOT)) if name.startswith(f"{ROOT}.") else issue


def folded(text: str, environment: Environment) -> Node:
    """The folded tree of an expression that has been compiled before."""
    return fold(checked(text, environment)[0])


@lru_cache(maxsize=_KEPT)
def interpretable(text: str, environment: Environment) -> Node:
    """The same for the interpreter, which may need it often."""
    return folded(text, environment)
