"""The rules of one schema node, compiled: what stands in ``x-kubernetes-validations``.

Source: ``apiextensions-apiserver/pkg/apiserver/schema/cel`` Compile and compileRule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from extapi.fielderrors import RawValue, go_string
from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.declared import MAX_REQUEST, Declared
from extapi.schema.cel.environment import Environment, rule_environment
from extapi.schema.cel.errors import CompileError, InstantiationError
from extapi.schema.cel.expression import Expression
from extapi.schema.cel.fieldpath import normalize_field_path
from extapi.schema.cel.types import BOOL, STRING
from extapi.schema.structural import Structural

OLD_SELF: Final = "oldSelf"
"""The variable that has the old value."""
_NO_BOOL: Final = "cel expression must evaluate to a bool"
_NO_STRING: Final = "messageExpression must evaluate to a string"
SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""What Go's ``strings.TrimSpace`` trims; Python's ``strip`` trims more."""


class ValidationRule(NamedTuple):
    """A rule as it was written."""

    rule: str = ""
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> ValidationRule:
        """The rule from its JSON, which has members of the right types; null is absent."""
        found = {name: written[key] for key, name in MEMBERS.items() if written.get(key) is not None}
        return cls(**found)

    def shown(self) -> RawValue:
        """The rule as errors about it show it, with the names of Go's fields."""
        optional = {None: "null", False: "false", True: "true"}[self.optional_old_self]
        return RawValue(
            f'{{"Rule":{go_string(self.rule)},"Message":{go_string(self.message)},'
            f'"MessageExpression":{go_string(self.message_expression)},'
            f'"Reason":{"null" if self.reason is None else go_string(self.reason)},'
            f'"FieldPath":{go_string(self.field_path)},"OptionalOldSelf":{optional}}}'
        )

    @property
    def text(self) -> str:
        """What errors call the rule: its message, or else the rule."""
        return (self.message or self.rule).strip(SPACE)


MEMBERS: Final[Mapping[str, str]] = {
    "rule": "rule",
    "message": "message",
    "messageExpression": "message_expression",
    "reason": "reason",
    "fieldPath": "field_path",
    "optionalOldSelf": "optional_old_self",
}
"""The members of a rule in JSON, and the fields that hold them."""


class CompiledRule(NamedTuple):
    """A rule that was compiled, or why it was not.

    A rule that is empty has neither an expression nor an error.
    """

    rule: ValidationRule
    expression: Expression | None = None
    error: str = ""
    uses_old_self: bool = False
    cost: int = 0
    """What one evaluation costs at most."""
    cardinality: int = 0
    """How often values of the schema can be in one request, if nothing bounds their number."""
    message: Expression | None = None
    """What makes the message of a failure."""
    message_error: str = ""
    message_cost: int = 0
    field_path: str = ""
    """Where failures are, below the value; empty: at the value itself."""


class StoredExpressions(NamedTuple):
    """Expressions that are stored already, so that they may use more than new ones; None: all are."""

    rules: Collection[str] | None = ()
    messages: Collection[str] | None = ()


NEW: Final = StoredExpressions()
"""No expression is stored."""
STORED: Final = StoredExpressions(None, None)
"""All are."""


def compile_rules(
    structural: Structural, declared: Declared, *, stored: StoredExpressions = NEW
) -> Iterator[CompiledRule]:
    """The rules of a node, in their order.

    Args:
        structural: The node.
        declared: What it is to CEL.
        stored: The expressions that are stored already.
    """
    environments = _Environments(declared, stored)
    cardinality = MAX_REQUEST // (declared.min_serialized_size + 1)  # at least a comma between two values
    for written in structural.validations:
        rule = ValidationRule.read(written)
        yield _compiled(rule, structural, environments, cardinality)


class _Environments:
    """The environments of a node's rules, each made when it is needed."""

    __slots__ = ("_declared", "_made", "_stored")

    def __init__(self, declared: Declared, stored: StoredExpressions) -> None:
        self._declared = declared
        self._stored = stored
        self._made: dict[tuple[bool, bool], Environment] = {}

    def of_rule(self, rule: ValidationRule) -> Environment:
        """The environment of a rule."""
        rules = self._stored.rules
        return self._of(rule, stored=rules is None or rule.rule in rules)

    def of_message(self, rule: ValidationRule) -> Environment:
        """The environment of the expression that makes a rule's message."""
        messages = self._stored.messages
        return self._of(rule, stored=messages is None or rule.message_expression in messages)

    def _of(self, rule: ValidationRule, *, stored: bool) -> Environment:
        wanted = bool(rule.optional_old_self), stored
        found = self._made.get(wanted)
        if found is None:
            found = rule_environment(self._declared, optional_old_self=wanted[0], stored=stored)
            self._made[wanted] = found
        return found


def _compiled(
    rule: ValidationRule, structural: Structural, environments: _Environments, cardinality: int
) -> CompiledRule:
    if not rule.rule.strip(SPACE):
        return CompiledRule(rule)
    environment = environments.of_rule(rule)
    try:
        expression = compile_expression(rule.rule, environment)
    except CompileError as error:
        return CompiledRule(rule, error=f"compilation failed: {error}")
    except InstantiationError as error:
        if error.type != BOOL:
            return CompiledRule(rule, error=_NO_BOOL)
        return CompiledRule(rule, error=f"program instantiation failed: {error}")
    if expression.type != BOOL:
        return CompiledRule(rule, error=_NO_BOOL)
    compiled = CompiledRule(
        rule,
        expression,
        uses_old_self=expression.uses(OLD_SELF),
        cost=expression.cost.max,
        cardinality=cardinality,
    )
    if rule.message_expression:
        compiled = _with_message(compiled, environments.of_message(rule))
        if compiled.message_error:
            return compiled
    if rule.field_path:
        compiled = compiled._replace(field_path=normalize_field_path(rule.field_path, structural) or "")
    return compiled


def _with_message(compiled: CompiledRule, environment: Environment) -> CompiledRule:
    try:
        message = compile_expression(compiled.rule.message_expression, environment)
    except CompileError as error:
        return compiled._replace(message_error=f"messageExpression compilation failed: {error}")
    except InstantiationError as error:
        if error.type != STRING:
            return compiled._replace(message_error=_NO_STRING)
        return compiled._replace(message_error=f"messageExpression instantiation failed: {error}")
    if message.type != STRING:
        return compiled._replace(message_error=_NO_STRING)
    return compiled._replace(message=message, message_cost=message.cost.max)
