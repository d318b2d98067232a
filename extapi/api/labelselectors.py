"""Label selectors in objects (``metav1.LabelSelector`` as JSON): validation, and conversion to query selectors.

Selectors in queries are the subject of :mod:`extapi.api.selectors`.

Source: ``k8s.io/apimachinery/pkg/apis/meta/v1/validation`` and ``metav1.LabelSelectorAsSelector``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from extapi.api.names import label_value, qualified_name
from extapi.api.requirements import Requirement
from extapi.api.selectors import LabelSelectorQuery, label_selector
from extapi.errors import BadRequest, FieldError, aggregate


def selector_of(selector: Mapping[str, Any]) -> LabelSelectorQuery:
    """The selector as a query; an empty one selects everything.

    Raises:
        BadRequest: The selector is not valid.
    """
    problems = [problem.text() for problem in selector_problems(selector, "selector")]
    if problems:
        raise BadRequest(aggregate(problems))
    terms = [Requirement(key, "In", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or ():
        values = sorted(set(each.get("values") or ()))
        terms.append(Requirement(each["key"], each["operator"], tuple(values)))
    return label_selector(terms)


def selector_problems(selector: Mapping[str, Any], path: str, *, any_value: bool = False) -> Iterator[FieldError]:
    """The errors of a selector (``ValidateLabelSelector``); ``any_value``: the values of its expressions may be anything."""
    where = f"{path}.matchLabels"
    for key, value in (selector.get("matchLabels") or {}).items():
        yield from (FieldError.invalid(where, key, why) for why in qualified_name(key))
        yield from (FieldError.invalid(where, value, why) for why in label_value(value))
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        yield from requirement_problems(requirement, f"{path}.matchExpressions[{index}]", any_value=any_value)


def requirement_problems(
    requirement: Mapping[str, Any], path: str, *, any_operator: bool = False, any_value: bool = False
) -> Iterator[FieldError]:
    """The errors of one of its expressions. With ``any_operator``, an unknown operator (of a later release) is none."""
    yield from operator_problems(requirement, path, any_operator=any_operator)
    key = requirement.get("key", "")
    yield from (FieldError.invalid(f"{path}.key", key, why) for why in qualified_name(key))
    for index, value in enumerate(() if any_value else requirement.get("values") or ()):
        yield from (FieldError.invalid(f"{path}.values[{index}]", value, why) for why in label_value(value))


def operator_problems(requirement: Mapping[str, Any], path: str, *, any_operator: bool = False) -> Iterator[FieldError]:
    """The errors where operator and values do not fit; field selectors have the same rules."""
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if operator in {"In", "NotIn"}:
        if not values:
            yield FieldError.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield FieldError.forbidden(f"{path}.values", why)
    elif not any_operator:
        yield FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator")
