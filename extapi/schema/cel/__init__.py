"""CEL: compile an expression against a schema, evaluate it, count what it costs.

Whatever stands in ``__all__`` may be used by authors::

    from extapi.schema.cel import compile_against

    size = compile_against("self.minimum <= self.maximum", {"type": "object", "properties": {...}})
    size.cost.max  # what it may cost
    size.evaluate(({"minimum": 1, "maximum": 3}, None)).value  # True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.declared import declare
from extapi.schema.cel.environment import rule_environment
from extapi.schema.cel.errors import (
    CompileError,
    CostLimitExceededError,
    DeadlineExceededError,
    EvaluationError,
    InstantiationError,
)
from extapi.schema.cel.expression import CALL_LIMIT, Evaluation, Expression
from extapi.schema.structural import from_openapi

__all__ = [
    "CALL_LIMIT",
    "CompileError",
    "CostLimitExceededError",
    "DeadlineExceededError",
    "Evaluation",
    "EvaluationError",
    "Expression",
    "InstantiationError",
    "compile_against",
]


def compile_against(
    text: str, schema: Mapping[str, Any], *, root: bool = False, optional_old_self: bool = False
) -> Expression:
    """Compile an expression as a rule on a schema would be: ``self`` is a value of it, ``oldSelf`` the value before.

    Args:
        text: The expression.
        schema: The schema of the value, as in a CustomResourceDefinition.
        root: Whether it is that of a whole object, which has apiVersion, kind and names.
        optional_old_self: Whether ``oldSelf`` is an optional value, as in a rule with ``optionalOldSelf``.

    Returns:
        The expression. :meth:`Expression.evaluate` takes the two values, each as JSON.

    Raises:
        CompileError: The expression has mistakes.
        InstantiationError: A constant in it has no value.
        ValueError: The schema cannot be read, or CEL cannot see its values, since their type is not known.
    """
    declared = declare(from_openapi(schema), root=root)
    if declared is None:
        raise ValueError("the type of the schema is not known")
    return compile_expression(text, rule_environment(declared, optional_old_self=optional_old_self))
