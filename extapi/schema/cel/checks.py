"""Checks the rules of a schema as kube-apiserver checks those of a CRD: what is written, what compiles, what it may cost.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation``
ValidateCustomResourceDefinitionOpenAPISchema and CELSchemaContext.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from extapi.fielderrors import FieldError, FieldErrorType
from extapi.schema.cel.declared import Declared, declare
from extapi.schema.cel.fieldpath import normalize_field_path
from extapi.schema.cel.intervals import LARGEST
from extapi.schema.cel.rules import (
    MEMBERS,
    NEW,
    SPACE,
    CompiledRule,
    StoredExpressions,
    ValidationRule,
    compile_rules,
)
from extapi.schema.cel.validator import OBJECT_BUDGET, rule_validator
from extapi.schema.structural import MISSING, Structural, join, replace
from extapi.schema.unreadable import unreadable

RULE_LIMIT: Final = 10_000_000
"""What a rule may cost at most in one object, by its estimate."""
SCHEMA_LIMIT: Final = 100_000_000
"""What all rules of a schema may cost together."""
_LISTED: Final = 4
"""The most expensive rules that are named if the total is too high."""
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_RULES: Final = "x-kubernetes-validations"


def check_written_rules(node: Structural, path: str, *, of_author: bool = False) -> Iterator[FieldError]:
    """The mistakes in the rules of one node that can be seen without compiling them.

    Args:
        node: The node.
        path: Where it is.
        of_author: Whether members that rules do not have are mistakes, too; those of a definition went with its decoding.
    """
    for index, written in enumerate(node.validations):
        at = f"{join(path, _RULES)}[{index}]"
        for key in written if of_author else ():
            if key not in MEMBERS:
                yield FieldError.forbidden(join(at, key), "is not a field of validation rules")
        yield from _written(ValidationRule.read(written), node, at)


def _written(rule: ValidationRule, node: Structural, at: str) -> Iterator[FieldError]:
    text, message = rule.rule.strip(SPACE), rule.message.strip(SPACE)
    if not text:
        yield FieldError.required(join(at, "rule"), "rule is not specified")
    elif rule.message and not message:
        yield FieldError.invalid(join(at, "message"), rule.message, "must be non-empty if specified")
    elif _has_line_breaks(message):
        yield FieldError.invalid(join(at, "message"), rule.message, "must not contain line breaks")
    elif _has_line_breaks(text) and not message:
        yield FieldError.required(join(at, "message"), "message must be specified if rule contains line breaks")
    if rule.message_expression and not rule.message_expression.strip(SPACE):
        text = "messageExpression must be non-empty if specified"
        yield FieldError.required(join(at, "messageExpression"), text)
    if rule.reason is not None and rule.reason not in _REASONS:
        yield FieldError.not_supported(join(at, "reason"), rule.reason, _REASONS)
    if rule.field_path:
        yield from _field_path(rule.field_path, node, join(at, "fieldPath"))


def _field_path(given: str, node: Structural, at: str) -> Iterator[FieldError]:
    if not given.strip(SPACE):
        yield FieldError.invalid(at, given, "must be non-empty if specified")
    if _has_line_breaks(given):
        yield FieldError.invalid(at, given, "must not contain line breaks")
    if not unreadable(node) and normalize_field_path(given, node) is None:
        yield FieldError.invalid(at, given, "must be a valid path")


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def check_rules(
    structural: Structural,
    path: str,
    is_sound: Callable[[str], bool],
    *,
    stored: StoredExpressions = NEW,
    any_cost: bool = False,
) -> list[FieldError]:
    """The mistakes in the rules of a whole schema that show when they are compiled, and rules that may cost too much.

    Args:
        structural: The schema, which is structural.
        path: Where it is.
        is_sound: Whether the part of the schema at a path has no errors, so that its rules can be judged.
        stored: The expressions that are stored already, and may use more than new ones.
        any_cost: Whether a single rule may cost what it will, as it may if it was accepted before.
    """
    walk = _Check(is_sound, stored, any_cost=any_cost)
    walk.visit(structural, path, declare(structural, root=True), 1, "")
    walk.errors += walk.total(path)
    return walk.errors


class _Check:
    """One walk through a schema, and what its rules cost so far."""

    __slots__ = ("_any_cost", "_costs", "_is_sound", "_stored", "_total", "errors")

    def __init__(self, is_sound: Callable[[str], bool], stored: StoredExpressions, *, any_cost: bool) -> None:
        self.errors: list[FieldError] = []
        self._is_sound = is_sound
        self._stored = stored
        self._any_cost = any_cost
        self._total = 0
        self._costs: list[tuple[int, str]] = []

    def visit(
        self, node: Structural, path: str, declared: Declared | None, cardinality: int | None, uncorrelatable: str
    ) -> None:
        """Check the rules below a node, then its own.

        Args:
            node: The node.
            path: Where it is.
            declared: What it is to CEL.
            cardinality: How often values of it can be in one object; None: nothing bounds it.
            uncorrelatable: The list around whose items have no old values; empty: none.
        """
        inner = _product(cardinality, _most_elements(node))
        if node.additional is not None:
            at = join(path, "additionalProperties")
            self.visit(node.additional, at, _below(declared, node.additional), inner, uncorrelatable)
        for key, sub in node.properties.items():
            if sub.plain:
                continue
            at = f"{join(path, 'properties')}[{key}]"
            seen = None if declared is None else declared.properties.get(key)
            self.visit(sub, at, seen or declare(sub, root=sub.embedded_resource), inner, uncorrelatable)
        if node.items is not None:
            whole = uncorrelatable if node.list_type == "map" else uncorrelatable or path
            self.visit(node.items, join(path, "items"), _below(declared, node.items), inner, whole)
        if node.validations and self._is_sound(path):
            self._rules(node, join(path, _RULES), declared, cardinality, uncorrelatable)

    def _rules(
        self, node: Structural, path: str, declared: Declared | None, cardinality: int | None, uncorrelatable: str
    ) -> None:
        if declared is None:
            why = "failed to construct type information for x-kubernetes-validations rules"
            text = f"internal error: {why}: unable to convert structural schema to CEL declarations"
            self.errors.append(FieldError(FieldErrorType.INTERNAL, path, detail=text))
            return
        for index, compiled in enumerate(compile_rules(node, declared, stored=self._stored)):
            self._rule(compiled, f"{path}[{index}]", cardinality, uncorrelatable)

    def _rule(self, compiled: CompiledRule, path: str, cardinality: int | None, uncorrelatable: str) -> None:
        rule, at = compiled.rule, join(path, "rule")
        often = compiled.cardinality if cardinality is None else cardinality
        self._cost("estimated rule cost", min(compiled.cost * often, LARGEST), at)
        if compiled.error:
            self.errors.append(FieldError.invalid(at, rule.shown(), compiled.error))
        at_message = join(path, "messageExpression")
        if compiled.message_error:
            self.errors.append(FieldError.invalid(at_message, rule.shown(), compiled.message_error))
        elif compiled.message is not None:
            self._cost("estimated messageExpression cost", compiled.message_cost, at_message)
        if compiled.uses_old_self:
            if uncorrelatable:
                text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
                self.errors.append(FieldError.invalid(at, rule.rule, text))
        elif rule.optional_old_self is not None:
            text = "may not be set if oldSelf is not used in rule"
            self.errors.append(FieldError.invalid(join(path, "optionalOldSelf"), rule.optional_old_self, text))

    def _cost(self, name: str, cost: int, path: str) -> None:
        if cost > RULE_LIMIT and not self._any_cost:
            self.errors.append(FieldError.forbidden(path, _too_high(name, cost, RULE_LIMIT)))
        self._total = min(self._total + cost, LARGEST)
        if cost >= SCHEMA_LIMIT // 100:  # others contribute too little
            self._costs.append((cost, path))

    def total(self, path: str) -> Iterator[FieldError]:
        """The errors of a schema whose rules cost too much together."""
        if self._total <= SCHEMA_LIMIT:
            return
        for _, at in sorted(self._costs, key=lambda found: -found[0])[:_LISTED]:
            text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            yield FieldError.forbidden(at, text)
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield FieldError.forbidden(path, _too_high(name, self._total, SCHEMA_LIMIT))


def _below(declared: Declared | None, node: Structural) -> Declared | None:
    """The declaration of the elements of a list or map."""
    found = None if declared is None else declared.element
    return found or declare(node, root=node.embedded_resource)


def _most_elements(node: Structural) -> int | None:
    """How many values there can be below one value, for each node below it; None: nothing bounds their number."""
    if node.type == "object" and node.additional_properties is not None:
        return None if node.max_properties is None else max(node.max_properties, 0)
    if node.type == "array":
        return None if node.max_items is None else max(node.max_items, 0)
    return 1


def _product(cardinality: int | None, factor: int | None) -> int | None:
    return None if cardinality is None or factor is None else min(cardinality * factor, LARGEST)


def _too_high(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    why = (
        "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are"
    )
    return f"{name} exceeds budget by factor of {shown} ({why} declared)"


class DefaultRules:
    """Runs rules on the defaults of a schema, which share one budget.

    Source: ``apiextensions-apiserver/pkg/apiserver/schema/defaulting`` ValidateDefaults.
    """

    __slots__ = ("_remaining",)

    def __init__(self) -> None:
        self._remaining = OBJECT_BUDGET

    def errors(self, node: Structural, default: Any, path: str) -> list[FieldError]:
        """The errors of a default: as one that was there before, then as a new one.

        Args:
            node: The schema of the value.
            default: The value.
            path: Where it is.
        """
        if self._remaining < 0:
            return []
        validator = rule_validator(replace(node, default=MISSING), root=node.embedded_resource)
        if validator is None:
            return []
        found = validator.validate(default, default, budget=self._remaining, path=path, ratchets=False)
        left, errors = found.remaining, found.errors
        if not errors:
            found = validator.validate(default, budget=self._remaining, path=path, ratchets=False)
            left, errors = min(left, found.remaining), found.errors
        self._remaining = left
        return errors
