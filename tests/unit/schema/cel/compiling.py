"""Expressions, compiled as rules on a schema are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.declared import Declared, declare
from extapi.schema.cel.environment import Environment, base_environment, rule_environment
from extapi.schema.cel.errors import CompileError, InstantiationError
from extapi.schema.cel.expression import Expression
from extapi.schema.structural import from_openapi

Schema = Mapping[str, Any]


def declaration(schema: Schema, *, root: bool = False) -> Declared:
    """What the schema is to CEL."""
    found = declare(from_openapi(schema), root=root)
    assert found is not None
    return found


def environment(schema: Schema | None = None, *, root: bool = False) -> Environment:
    """The environment of a rule on the schema; without one, that of an expression without variables."""
    return base_environment() if schema is None else rule_environment(declaration(schema, root=root))


def compiled(text: str, schema: Schema | None = None, *, root: bool = False) -> Expression:
    """The expression; without a schema it has no variables."""
    return compile_expression(text, environment(schema, root=root))


def refusal(text: str, schema: Schema | None = None, *, root: bool = False) -> str:
    """Why the expression is refused; empty if it is not."""
    try:
        compiled(text, schema, root=root)
    except CompileError as error:
        return str(error)
    except InstantiationError as error:
        return f"program instantiation failed: {error}"
    return ""


def of(properties: Schema, **more: Any) -> dict[str, Any]:
    """The schema of an object."""
    return {"type": "object", "properties": properties, **more}


def array(items: Schema, **more: Any) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": items, **more}


def mapping(values: Schema, **more: Any) -> dict[str, Any]:
    """The schema of a map."""
    return {"type": "object", "additionalProperties": values, **more}
