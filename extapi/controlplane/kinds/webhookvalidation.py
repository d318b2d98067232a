"""The validation of webhook configurations: kube-apiserver's errors, with its texts, paths and order.

Objects are plain JSON with their defaults. What is asked of the metadata of every object is not asked here.

Source: ``kubernetes/pkg/apis/admissionregistration/validation`` validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from extapi.api.labelselectors import selector_problems
from extapi.api.names import dns1123_subdomain
from extapi.controlplane.kinds.admissionvalidation import (
    MOST_INLINE,
    compile_condition,
    condition_errors,
    operation_errors,
    rule_errors,
)
from extapi.crd.validation.webhooks import REVIEW_VERSIONS, client_errors, review_version_errors
from extapi.errors import MOST_ERRORS, FieldError

_HARMLESS: Final = ("None", "NoneOnDryRun")
_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
}
_SELECTORS: Final = ("namespaceSelector", "objectSelector")
LONGEST: Final = 30
"""Seconds that a call may take at most (``timeoutSeconds``)."""

Webhooks = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """What is asked; of a stored configuration, what is wrong with it already may stay so (``validationOptions``)."""

    conditions: bool = True
    """Match conditions are looked at."""
    harmless: bool = True
    """Webhooks have to be without side effects."""
    known_reviews: bool = True
    unique_names: bool = True
    any_value: bool = False
    """The values in selectors may be anything."""
    expressions: frozenset[str] = frozenset()
    """The match conditions that are stored."""


def validate_webhooks(webhooks: Webhooks, old: Webhooks | None) -> Iterator[FieldError]:
    """The errors of the webhooks of a configuration.

    Args:
        webhooks: They.
        old: The stored ones; None: the configuration is new.
    """
    options = _Options() if old is None else _options(webhooks, old)
    names: set[str] = set()
    for index, webhook in enumerate(webhooks[:MOST_ERRORS]):
        path, name = f"webhooks[{index}]", webhook.get("name") or ""
        yield from _webhook(webhook, options, path)
        versions = webhook.get("admissionReviewVersions") or []
        at = f"{path}.admissionReviewVersions"
        if versions:
            yield from review_version_errors(versions, at, known=options.known_reviews)
        else:
            yield FieldError.required(at, f"must specify one of {', '.join(REVIEW_VERSIONS)}")
        if options.unique_names and name in names:
            yield FieldError.duplicate(f"{path}.name", name)
        if name:
            names.add(name)


def is_large(webhooks: Webhooks) -> bool:
    """Whether match conditions take long to compile."""
    sizes = (len(each.get("expression") or "") for hook in webhooks for each in hook.get("matchConditions") or ())
    return sum(sizes) > MOST_INLINE


def _options(webhooks: Webhooks, old: Webhooks) -> _Options:
    """(``ValidateMutatingWebhookConfigurationUpdate``, ``ValidateValidatingWebhookConfigurationUpdate``)."""
    conditions = [each.get("matchConditions") or [] for each in webhooks]
    before = [each.get("matchConditions") or [] for each in old]
    names = [each.get("name") for each in old]
    return _Options(
        conditions=conditions != before,
        harmless=all(each.get("sideEffects") in _HARMLESS for each in old),
        known_reviews=all(
            not versions or any(each in REVIEW_VERSIONS for each in versions)
            for versions in (each.get("admissionReviewVersions") for each in old)
        ),
        unique_names=len(set(names)) == len(names),
        any_value=any(True for each in old for _ in _selector_errors(each, "", any_value=False)),
        expressions=frozenset(str(each.get("expression") or "") for several in before for each in several),
    )


def _webhook(webhook: Mapping[str, Any], options: _Options, path: str) -> Iterator[FieldError]:
    """(``validateMutatingWebhook``, ``validateValidatingWebhook``)."""
    yield from _name_errors(webhook.get("name") or "", f"{path}.name")
    for index, rule in enumerate((webhook.get("rules") or [])[:MOST_ERRORS]):
        at = f"{path}.rules[{index}]"
        yield from operation_errors(rule, at)
        yield from rule_errors(rule, at)
    for name, known in _CHOICES.items():
        yield from _choice(webhook, name, known, path)
    effects = _HARMLESS if options.harmless else _EFFECTS
    if webhook.get("sideEffects") is None:
        yield FieldError.required(f"{path}.sideEffects", f"must specify one of {', '.join(effects)}")
    yield from _choice(webhook, "sideEffects", effects, path)
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= LONGEST:
        why = f"the timeout value must be between 1 and {LONGEST} seconds"
        yield FieldError.invalid(f"{path}.timeoutSeconds", seconds, why)
    yield from _selector_errors(webhook, f"{path}.", any_value=options.any_value)
    yield from _choice(webhook, "reinvocationPolicy", ("IfNeeded", "Never"), path)
    yield from client_errors(webhook.get("clientConfig") or {}, f"{path}.clientConfig")
    if options.conditions:
        conditions = webhook.get("matchConditions") or []
        yield from condition_errors(conditions, f"{path}.matchConditions", options.expressions, compile_condition)


def _choice(webhook: Mapping[str, Any], name: str, known: Sequence[str], path: str) -> Iterator[FieldError]:
    value = webhook.get(name)
    if value is not None and value not in known:
        yield FieldError.not_supported(f"{path}.{name}", value, known)


def _name_errors(name: str, path: str) -> Iterator[FieldError]:
    """(``IsFullyQualifiedName``)."""
    if not name:
        yield FieldError.required(path)
    elif problems := dns1123_subdomain(name):
        yield FieldError.invalid(path, name, ",".join(problems))
    elif name.count(".") < 2:
        yield FieldError.invalid(path, name, "should be a domain with at least three segments separated by dots")


def _selector_errors(webhook: Mapping[str, Any], path: str, *, any_value: bool) -> Iterator[FieldError]:
    for name in _SELECTORS:
        selector = webhook.get(name)
        if selector is not None:
            yield from selector_problems(selector, f"{path}{name}", any_value=any_value)
