"""The rules of roles: what a rule allows, and whether rules cover others.

Pure: knows neither bindings nor requests.

Source: ``k8s.io/component-helpers/auth/rbac/validation``; in Kubernetes, ``pkg/apis/rbac/v1`` (what a rule matches) and
``pkg/registry/rbac/validation`` (how missing rules are printed).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from extapi.authorization.authorizer import Attributes
from extapi.errors import go_quote

Strings = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One PolicyRule of a role. Empty ``resource_names`` stand for all names."""

    verbs: Strings = ()
    api_groups: Strings = ()
    resources: Strings = ()
    resource_names: Strings = ()
    non_resource_urls: Strings = ()

    def allows(self, attributes: Attributes) -> bool:
        """Whether the rule allows a request with these attributes."""
        if not ("*" in self.verbs or attributes.verb in self.verbs):
            return False
        if not attributes.is_resource:
            return any(_path_covers(own, attributes.path) for own in self.non_resource_urls)
        resource, subresource = attributes.resource, attributes.subresource
        resources = {"*", f"{resource}/{subresource}", f"*/{subresource}"} if subresource else {"*", resource}
        return (
            ("*" in self.api_groups or attributes.group in self.api_groups)
            and not resources.isdisjoint(self.resources)
            and (not self.resource_names or attributes.name in self.resource_names)
        )

    def covers(self, other: AccessRule) -> bool:
        """Whether this rule alone allows everything that ``other`` allows."""
        return (
            ("*" in self.verbs or set(self.verbs).issuperset(other.verbs))
            and ("*" in self.api_groups or set(self.api_groups).issuperset(other.api_groups))
            and all(not _covering(resource).isdisjoint(self.resources) for resource in other.resources)
            and (not self.resource_names or set() < set(other.resource_names) <= set(self.resource_names))
            and all(any(_path_covers(own, path) for own in self.non_resource_urls) for path in other.non_resource_urls)
        )

    def parts(self) -> Iterator[AccessRule]:
        """The same as rules with one verb, group, resource and name each, or one verb and path."""
        names: list[Strings] = [(name,) for name in self.resource_names] or [()]
        for group, resource, verb, name in product(self.api_groups, self.resources, self.verbs, names):
            yield AccessRule((verb,), (group,), (resource,), name)
        for path, verb in product(self.non_resource_urls, self.verbs):
            yield AccessRule((verb,), non_resource_urls=(path,))

    def size(self) -> int:
        """The number of :meth:`parts`."""
        resources = len(self.api_groups) * len(self.resources) * max(1, len(self.resource_names))
        return len(self.verbs) * (resources + len(self.non_resource_urls))

    def words(self) -> int:
        """The number of words, which is the cost of a comparison."""
        lists = (self.verbs, self.api_groups, self.resources, self.resource_names, self.non_resource_urls)
        return sum(map(len, lists))

    def __str__(self) -> str:
        """As error messages print it: ``{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}``."""
        members = (
            ("APIGroups", self.api_groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.non_resource_urls),
            ("ResourceNames", self.resource_names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{name}:{quoted(values)}" for name, values in members if values) + "}"


FULL_AUTHORITY = (AccessRule(("*",), ("*",), ("*",)), AccessRule(("*",), non_resource_urls=("*",)))
"""The rules of a user who may do everything."""


PARTS, COMPARISONS = 10_000, 3_000_000
"""The limits of :func:`missing`: parts, and pairs of words to compare. It stays below a second.

The bootstrap roles have some hundreds of each.
"""


def rules_of(role: Mapping[str, Any]) -> tuple[AccessRule, ...]:
    """The rules of a Role or ClusterRole, given as JSON."""
    names = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return tuple(AccessRule(*(tuple(rule.get(name) or ()) for name in names)) for rule in role.get("rules") or ())


def missing(owned: Sequence[AccessRule], wanted: Iterable[AccessRule]) -> list[AccessRule]:
    """The parts of ``wanted`` that no rule of ``owned`` covers.

    Raises:
        OverflowError: There is more to compare than the limits allow.
    """
    too_much = OverflowError("the rules allow more than can be compared with what the user may do")
    wanted, words = list(wanted), sum(rule.words() for rule in owned)
    if sum(rule.words() for rule in wanted) * words > COMPARISONS:
        raise too_much
    whole = [rule for rule in wanted if not any(own.covers(rule) for own in owned)]
    parts = sum(rule.size() for rule in whole)
    if parts > PARTS or parts * words > COMPARISONS:
        raise too_much
    return [part for rule in whole for part in rule.parts() if not any(own.covers(part) for own in owned)]


def printed(parts: Iterable[AccessRule]) -> str:
    """Missing parts as text: one line per resource with its verbs, sorted."""
    together: dict[AccessRule, Strings] = {}
    for part in parts:
        # Paths stay separate; parts that differ only in the verb become one line.
        key = part if part.non_resource_urls else replace(part, verbs=())
        together[key] = part.verbs if part.non_resource_urls else (*together.get(key, ()), *part.verbs)
    return "\n".join(sorted({str(replace(key, verbs=verbs)) for key, verbs in together.items()}))


def quoted(texts: Iterable[str]) -> str:
    """Strings as Go's ``%q`` prints a slice of them: ``["a" "b"]``."""
    return f"[{' '.join(go_quote(text) for text in texts)}]"


def _covering(resource: str) -> set[str]:
    """The resources in a rule that include this one: ``*/log`` includes ``pods/log``."""
    _, slash, subresource = resource.partition("/")
    return {"*", resource, f"*/{subresource}"} if slash else {"*", resource}


def _path_covers(own: str, path: str) -> bool:
    return own == path or (own.endswith("*") and path.startswith(own.rstrip("*")))
