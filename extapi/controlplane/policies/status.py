"""The validation of the status of a policy: what type checking wrote, and conditions.

Source: ``kubernetes/pkg/apis/admissionregistration/validation`` validateValidatingAdmissionPolicyStatus,
``k8s.io/apimachinery/pkg/apis/meta/v1/validation`` ValidateConditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_letters, digits
from typing import Any, Final

from extapi.api.names import qualified_name
from extapi.codec.jsonpath import JSONPath, JSONPathError
from extapi.errors import MOST_ERRORS, FieldError

STATUSES: Final = ("False", "True", "Unknown")
LONGEST_REASON: Final = 1024
LONGEST_MESSAGE: Final = 32 * 1024
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_IN_REASON: Final = f"{ascii_letters}{digits}_,:"
_REASON_TEXT: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters "
    "or '_,:', and must end with an alphanumeric character or '_' "
    "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', "
    f"regex used for validation is '{_REASON}')"
)


def status_errors(status: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of the status of a ValidatingAdmissionPolicy, which is plain JSON."""
    warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or ()
    for index, each in enumerate(warnings[:MOST_ERRORS]):
        path = f"status.typeChecking.expressionWarnings[{index}]"
        if not each.get("warning"):
            yield FieldError.required(f"{path}.warning")
        yield from _field_ref((each.get("fieldRef") or "").strip(), f"{path}.fieldRef")
    yield from condition_errors(status.get("conditions") or (), "status.conditions")


def _field_ref(text: str, path: str) -> Iterator[FieldError]:
    if not text:
        yield FieldError.required(path)
        return
    try:
        JSONPath(f".{text}" if text[0] not in ".[$@{" else text)
    except JSONPathError as error:
        yield FieldError.invalid(path, text, f"invalid JSONPath: {error}")


def condition_errors(conditions: Sequence[Mapping[str, Any]], path: str) -> Iterator[FieldError]:
    """The errors of conditions (``ValidateConditions``)."""
    types: set[str] = set()
    for index, each in enumerate(conditions[:MOST_ERRORS]):
        at, type_ = f"{path}[{index}]", each.get("type") or ""
        if type_ in types:
            yield FieldError.duplicate(f"{at}.type", type_)
        types.add(type_)
        yield from (FieldError.invalid(f"{at}.type", type_, why) for why in qualified_name(type_))
        yield from _condition(each, at)


def _condition(condition: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    status, seen = condition.get("status") or "", condition.get("observedGeneration") or 0
    if status not in STATUSES:
        yield FieldError.not_supported(f"{path}.status", status, STATUSES)
    if seen < 0:
        yield FieldError.invalid(f"{path}.observedGeneration", seen, "must be greater than or equal to zero")
    if condition.get("lastTransitionTime") is None:
        yield FieldError.required(f"{path}.lastTransitionTime")
    reason = condition.get("reason") or ""
    if not reason:
        yield FieldError.required(f"{path}.reason")
    else:
        if not _is_reason(reason):
            yield FieldError.invalid(f"{path}.reason", reason, _REASON_TEXT)
        if len(reason.encode()) > LONGEST_REASON:
            yield FieldError.too_long(f"{path}.reason", LONGEST_REASON)
    if len((condition.get("message") or "").encode()) > LONGEST_MESSAGE:
        yield FieldError.too_long(f"{path}.message", LONGEST_MESSAGE)


def _is_reason(text: str) -> bool:
    return text[0] in ascii_letters and text[-1] not in ",:" and not text.strip(_IN_REASON)
