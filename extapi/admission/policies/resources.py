"""Which writes a policy or a binding is about (``MatchResources``). Pure.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/matching``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from extapi.admission.matching.rules import RuleWithOperations, Subject
from extapi.admission.matching.selectors import Selector

_ALL: Final = RuleWithOperations(
    {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*", "*/*"]}
)
POLICIES: Final = frozenset(
    f"{kind}admission{what}" for kind in ("mutating", "validating") for what in ("policies", "policybindings")
)
"""The resources that say what policies there are: none is about them, or a mistake in one could not be repaired."""
_REVIEWS: Final = frozenset(
    {
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)
"""Questions that a cluster cannot do without."""


def is_exempt(group: str, resource: str) -> bool:
    """Whether no policy is about a resource.

    Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/generic/plugin.go``, ``k8s.io/kubernetes/pkg/kubeapiserver/admission/exclusion``.
    """
    if group == "admissionregistration.k8s.io":
        return resource in POLICIES
    return (group, resource) in _REVIEWS


class _NamedRule:
    """A rule that may be about objects with certain names only."""

    __slots__ = ("names", "rule")

    def __init__(self, rule: Mapping[str, Any]) -> None:
        self.rule = RuleWithOperations(rule)
        self.names = frozenset(rule.get("resourceNames") or ())

    def matches(self, subject: Subject, version: str, name: str) -> bool:
        return self.rule.matches(subject, version) and (not self.names or name in self.names)


class MatchResources:
    """What writes a policy or binding is about.

    Attributes:
        rules: The rules without the names of objects: what they do not match is not matched.
        equivalent: Whether other versions of a resource count as the resource (``matchPolicy``).
        namespace_selector: Selects namespaces.
        object_selector: Selects objects.
    """

    __slots__ = ("_excluded", "_rules", "equivalent", "namespace_selector", "object_selector", "rules")

    def __init__(self, resources: Mapping[str, Any] | None) -> None:
        found = resources or {}
        self._rules = tuple(map(_NamedRule, found.get("resourceRules") or ()))
        self._excluded = tuple(map(_NamedRule, found.get("excludeResourceRules") or ()))
        self.rules = tuple(each.rule for each in self._rules) or (_ALL,)
        self.equivalent = found.get("matchPolicy", "Equivalent") == "Equivalent"
        self.namespace_selector = Selector(found.get("namespaceSelector"))
        self.object_selector = Selector(found.get("objectSelector"))

    def version(self, subject: Subject, name: str) -> str | None:
        """The version in which the object of a request is looked at; None: the rules are not about the request.

        Args:
            subject: What the request acts on.
            name: The name of the object; empty if it has none yet.
        """
        if self._excluded and self._matching(self._excluded, subject, name) is not None:
            return None
        return self._matching(self._rules, subject, name) if self._rules else subject.version

    def _matching(self, rules: Sequence[_NamedRule], subject: Subject, name: str) -> str | None:
        if any(rule.matches(subject, subject.version, name) for rule in rules):
            return subject.version
        if self.equivalent:
            for rule in rules:
                for version in subject.equivalents:
                    if version != subject.version and rule.matches(subject, version, name):
                        return version
        return None
