"""Rules on operations and resources (``RuleWithOperations``), in any version that is equivalent to the request's.

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules``, ``plugin/webhook/generic/webhook.go`` ShouldCallHook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

ALL: Final = "*"
_NAMESPACES: Final = ("", "v1", "namespaces")
EXEMPT: Final = frozenset(
    {
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"),
    }
)
"""The kinds that say who is asked: nobody is asked about them, or a mistake in one could not be repaired."""


class Subject(NamedTuple):
    """What a request acts on, as far as rules look at it. Hashable, so that what matches can be found out once."""

    operation: str
    group: str
    version: str
    """The version in the request's path."""
    resource: str
    subresource: str
    namespaced: bool
    """Whether the request has a namespace."""
    equivalents: tuple[str, ...] = ()
    """All versions in which the resource, or the subresource, is served."""


class RuleWithOperations:
    """One ``RuleWithOperations``. What has a wrong type in it matches nothing."""

    __slots__ = ("_groups", "_operations", "_resources", "_scope", "_versions")

    def __init__(self, rule: Mapping[str, Any]) -> None:
        self._operations = _words(rule.get("operations"))
        self._groups = _words(rule.get("apiGroups"))
        self._versions = _words(rule.get("apiVersions"))
        self._resources = [tuple(each.partition("/")[::2]) for each in _words(rule.get("resources"))]
        self._scope = rule.get("scope") or ALL

    def matches(self, subject: Subject, version: str) -> bool:
        """Whether the rule is about a request, as one for the resource in ``version``."""
        return (
            self._in_scope(subject, version)
            and _has(self._operations, subject.operation)
            and _has(self._groups, subject.group)
            and _has(self._versions, version)
            and any(
                resource in (ALL, subject.resource) and subresource in (ALL, subject.subresource)
                for resource, subresource in self._resources
            )
        )

    def _in_scope(self, subject: Subject, version: str) -> bool:
        if self._scope == ALL:
            return True
        # A request for a namespace has one, but namespaces are in none.
        inside = subject.namespaced and (subject.group, version, subject.resource) != _NAMESPACES
        return self._scope == ("Namespaced" if inside else "Cluster")


def matching_version(rules: Sequence[RuleWithOperations], subject: Subject, *, equivalent: bool) -> str | None:
    """The version in which a configuration is to be shown the object of a request; None: it is not about the request.

    Args:
        rules: Its rules.
        subject: What the request acts on.
        equivalent: Whether its ``matchPolicy`` is Equivalent: then rules for other versions match, too, earlier ones first.
    """
    if any(rule.matches(subject, subject.version) for rule in rules):
        return subject.version
    if equivalent:
        for rule in rules:
            for version in subject.equivalents:
                if version != subject.version and rule.matches(subject, version):
                    return version
    return None


def is_exempt(group: str, kind: str) -> bool:
    """Whether a kind is one of those that configure admission."""
    return group == "admissionregistration.k8s.io" and kind in EXEMPT


def _words(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list | tuple) else ()


def _has(words: Sequence[str], word: str) -> bool:
    return ALL in words or word in words
