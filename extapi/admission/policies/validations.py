"""The expressions of a ValidatingAdmissionPolicy: what they say about a write. Pure; knows no bindings.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from extapi.admission.expressions.authorizing import Checks
from extapi.admission.expressions.composition import (
    BUDGET,
    Activation,
    Compiled,
    Composition,
    ExpressionResult,
    OutOfBudgetError,
)
from extapi.admission.expressions.conditions import MatchConditions, MatchError
from extapi.admission.expressions.environment import Input
from extapi.admission.expressions.evaluating import Expired

LONGEST_MESSAGE: Final = 5 * 1024
"""Bytes of a message that an expression makes; a longer one is not used (``MaxEvaluatedMessageExpressionSizeBytes``)."""
_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""What Go's ``strings.TrimSpace`` removes."""


class ValidationDecision(NamedTuple):
    """What came of one validation."""

    message: str = ""
    """Why the write is denied; empty if it is not."""
    reason: str = ""
    """The reason of the Status; empty: that of a validation that has none."""
    error: str = ""
    """Why there is no answer, whether that denies the write or not."""

    @property
    def denies(self) -> bool:
        """Whether the write is denied."""
        return bool(self.message)


class Annotation(NamedTuple):
    """What came of one audit annotation."""

    key: str
    value: str = ""
    """Empty: there is nothing to note."""
    error: str = ""
    """Why the write is denied; empty if it is not."""


class PolicyVerdict(NamedTuple):
    """What a policy says about a write, with one param."""

    decisions: Sequence[ValidationDecision] = ()
    annotations: Sequence[Annotation] = ()


class _Validation(NamedTuple):
    compiled: Compiled
    expression: str
    message: str
    reason: str


class Validations:
    """The expressions of a policy. They are compiled when they are first needed.

    Args:
        spec: The policy's ``spec``.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._spec = spec
        self._fails = spec.get("failurePolicy") != "Ignore"
        self._composition = Composition(spec.get("variables") or (), params=spec.get("paramKind") is not None)
        conditions = spec.get("matchConditions") or ()
        self._conditions = MatchConditions(conditions, fails=self._fails, composition=self._composition)
        self._compiled: tuple[list[_Validation], list[Compiled | None], list[tuple[str, Compiled]]] | None = None

    def evaluate(self, given: Input, matched: str, checks: Checks, expired: Expired) -> PolicyVerdict:
        """What the policy says.

        Args:
            given: The write and the params. Match conditions get its request as it is.
            matched: The version of the resource that the policy's rules match: the one in the request of validations.
            checks: Answers the checks of ``authorizer``.
            expired: Says that time is up.
        """
        if self._conditions:
            try:
                if not self._conditions.evaluate(given, checks, expired):
                    return PolicyVerdict()
            except MatchError as error:
                return PolicyVerdict([self._failed(str(error))])
        resource = {**given.request["resource"], "version": matched}
        given = given._replace(request={**given.request, "resource": resource})
        if self._compiled is None:
            self._compiled = self._compile()
        validations, messages, annotations = self._compiled
        activation = Activation(given, checks, expired, self._composition, BUDGET)
        try:
            results = activation.evaluate_all([each.compiled for each in validations])
        except OutOfBudgetError as error:
            return PolicyVerdict([self._failed(str(error))])
        composed: Sequence[ExpressionResult] = ()
        no_messages = ""
        try:
            composed = Activation(given, None, expired, self._composition, activation.remaining).evaluate_all(messages)
        except OutOfBudgetError as error:
            no_messages = f"failed messageExpression: {error}"
        decisions = []
        for place, (validation, result) in enumerate(zip(validations, results, strict=True)):
            if result.error or no_messages:
                decisions.append(self._failed(result.error or no_messages))
            elif result.value is True:
                decisions.append(ValidationDecision())
            else:
                message = _message(validation, composed[place])
                decisions.append(ValidationDecision(message, validation.reason))
        noted = Activation(given, None, expired, self._composition, BUDGET)
        try:
            found = [self._annotation(key, each, noted.evaluate(each)) for key, each in annotations]
        except OutOfBudgetError as error:
            return PolicyVerdict([self._failed(str(error))])
        return PolicyVerdict(decisions, found)

    def _failed(self, why: str) -> ValidationDecision:
        return ValidationDecision(why if self._fails else "", "", why)

    def _annotation(self, key: str, compiled: Compiled, result: ExpressionResult) -> Annotation:
        if result.error:
            return Annotation(key, error=result.error if self._fails else "")
        if isinstance(result.value, str):
            return Annotation(key, result.value.strip(_SPACE))
        if result.value is None:
            return Annotation(key)
        from extapi.schema.cel.values.values import type_name  # noqa: PLC0415 - CEL is for those with policies

        why = (
            f"valueExpression '{compiled.text}' resulted in unsupported return type: {type_name(result.value)}. "
            "Return type must be either string or null."
        )
        return Annotation(key, error=why)

    def _compile(self) -> tuple[list[_Validation], list[Compiled | None], list[tuple[str, Compiled]]]:
        from extapi.schema.cel.types import BOOL, NULL, STRING  # noqa: PLC0415 - CEL is for those with policies

        compile_ = self._composition.compile
        validations, messages = [], []
        for each in self._spec.get("validations") or ():
            text = str(each.get("expression") or "")
            compiled = compile_(text, (BOOL,))
            message, reason = str(each.get("message") or ""), str(each.get("reason") or "Invalid")
            validations.append(_Validation(compiled, text.strip(_SPACE), message.strip(_SPACE), reason))
            made = str(each.get("messageExpression") or "")
            messages.append(compile_(made, (STRING,), authorizer=False) if made else None)
        annotations = [
            (str(each.get("key") or ""), compile_(str(each.get("valueExpression") or ""), (STRING, NULL)))
            for each in self._spec.get("auditAnnotations") or ()
        ]
        return validations, messages, annotations


def _message(validation: _Validation, composed: ExpressionResult) -> str:
    """The message of a validation that is false: one that an expression has made, if it is usable."""
    if isinstance(composed.value, str):
        text = composed.value.strip(_SPACE)
        if text and "\n" not in text and len(text.encode(errors="surrogatepass")) <= LONGEST_MESSAGE:
            return text
    return validation.message or f"failed expression: {validation.expression}"
