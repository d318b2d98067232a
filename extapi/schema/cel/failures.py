"""What a failed rule says: its messageExpression's value, its message, or the rule itself; and the error made of it.

Source: ``apiextensions-apiserver/pkg/apiserver/schema/cel`` evalMessageExpression and fieldErrorForReason.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from extapi.fielderrors import FieldError, FieldErrorType, go_quote
from extapi.schema.cel.errors import CostLimitExceededError
from extapi.schema.cel.expression import Evaluation
from extapi.schema.cel.rules import SPACE, ValidationRule

LONGEST_MESSAGE: Final = 5 * 1024
"""Bytes of a message that an expression makes; a longer one is not used."""

_REASONS: Final = {
    "FieldValueForbidden": FieldErrorType.FORBIDDEN,
    "FieldValueRequired": FieldErrorType.REQUIRED,
    "FieldValueDuplicate": FieldErrorType.DUPLICATE,
}
"""The types of errors by the reason of a rule; all others are invalid values."""


class Made(NamedTuple):
    """What came of a messageExpression."""

    text: str = ""
    """The message; empty if there is none, so that the rule's own message is used."""
    fatal: str = ""
    """Why no further rule is run: the budget is used up."""


def made_message(evaluation: Evaluation, source: str, remaining: int) -> Made:
    """The message from the value of a messageExpression.

    Args:
        evaluation: The value, or why there is none.
        source: The expression.
        remaining: The budget that was left before.
    """
    if evaluation.cost > remaining:
        return Made(
            fatal="messageExpression evaluation failed due to running out of cost budget, no further validation rules will "
            "be run"
        )
    if isinstance(evaluation.error, CostLimitExceededError):
        return Made(
            fatal="no further validation rules will be run due to call cost exceeds limit for messageExpression: "
            f"{go_quote(source)}"
        )
    text = evaluation.value.strip(SPACE) if isinstance(evaluation.value, str) else ""
    if "\n" in text or len(text.encode(errors="surrogatepass")) > LONGEST_MESSAGE:
        return Made()
    return Made(text)


def rule_message(rule: ValidationRule) -> str:
    """The message of a rule without a messageExpression."""
    return rule.message.strip(SPACE) if rule.message else f"failed rule: {rule.text}"


def failure(rule: ValidationRule, path: str, kind: str, value: Any, message: str) -> FieldError:
    """The error of a failed rule.

    Args:
        rule: The rule.
        path: Where it failed.
        kind: The type of its schema; objects and arrays are not printed.
        value: The value.
        message: What it says.
    """
    type_ = _REASONS.get(rule.reason or "", FieldErrorType.INVALID)
    if type_ is FieldErrorType.FORBIDDEN or type_ is FieldErrorType.REQUIRED:
        return FieldError(type_, path, detail=message)
    detail = "" if type_ is FieldErrorType.DUPLICATE else message
    if kind in {"object", "array"}:
        return FieldError(type_, path, detail=detail)
    return FieldError(type_, path, value, detail)
