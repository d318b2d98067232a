"""The rights that a server needs in its cluster, as an RBAC rule: authors declare them in ``Api(needs=[...])``.

Source: ``rbac.authorization.k8s.io/v1`` PolicyRule, without nonResourceURLs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from extapi.api.declaration import DeclarationError


@dataclass(frozen=True, kw_only=True)
class PolicyRule:
    """The right to use all ``verbs`` on all ``resources``, in every namespace of the cluster.

    Raises:
        DeclarationError: A value cannot be right, such as a string in place of a list.
    """

    api_groups: Sequence[str]
    """API groups; the core group is the empty string."""
    resources: Sequence[str]
    """Plural names; subresources as ``pods/status``."""
    verbs: Sequence[str]
    """Of get, list, watch, create, update, patch, delete and deletecollection. An informer needs list and watch."""
    resource_names: Sequence[str] = ()
    """If given, only the objects with these names. This cannot restrict create, list and watch."""

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise DeclarationError.of(problems)
        for name in ("api_groups", "resources", "verbs", "resource_names"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @classmethod
    def for_events(cls) -> Self:
        """The rule that ``context.recorder`` needs: events of either group."""
        return cls(api_groups=["", "events.k8s.io"], resources=["events"], verbs=["create", "patch"])

    def to_dict(self) -> dict[str, Any]:
        """The rule as an element of a ClusterRole's ``rules``."""
        rule: dict[str, Any] = {"apiGroups": self.api_groups, "resources": self.resources}
        if self.resource_names:
            rule["resourceNames"] = self.resource_names
        return {**rule, "verbs": self.verbs}

    def _problems(self) -> Iterator[str]:
        for name in ("api_groups", "resources", "verbs", "resource_names"):
            given: Any = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Iterable):
                yield f"PolicyRule: {name} must be a list of strings, such as [{given!r}]"
                continue
            texts = list(given)
            if not texts and name != "resource_names":
                yield f"PolicyRule: {name} is empty: the rule would allow nothing"
            for text in texts:
                if not isinstance(text, str) or (not text and name != "api_groups"):
                    yield f"PolicyRule: {name} has {text!r}, which is not a name"
                elif name != "resource_names" and text != text.lower():
                    yield f"PolicyRule: {name} has {text!r}; names of groups, resources and verbs are in lower case"
                elif name == "api_groups" and "/" in text:
                    yield f"PolicyRule: api_groups has {text!r}; write the group without a version"
