"""What the kinds of admissionregistration.k8s.io share: rules, selectors, match conditions.

Types for clients, and what Go's ``SetDefaults`` functions complete. Knows no kind.

Source: ``k8s.io/api/admissionregistration/v1`` types.go, ``kubernetes/pkg/apis/admissionregistration/v1`` defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from extapi import Atomic, Description, ListMap, Struct
from extapi.api.markers import MergeKey
from extapi.api.types import Obj
from extapi.controlplane.kinds.parts import SelectorRequirement, Text, spelled

GROUP = "admissionregistration.k8s.io"
Words = Annotated[list[str], Atomic()]


class LabelSelector(Struct):
    """Selects objects by their labels; all of its rules have to hold. An empty one selects everything."""

    match_labels: Annotated[dict[str, str], Description("Labels that have just these values.")] = {}
    match_expressions: Annotated[list[SelectorRequirement], Atomic(), Description("Further rules.")] = []


class RuleWithOperations(Struct, rename=spelled):
    """Operations and resources. * stands for all."""

    operations: Annotated[Words, Description("CREATE, UPDATE, DELETE, CONNECT, or * for all.")] = []
    api_groups: Annotated[Words, Description('API groups; "" is the core group, * stands for all.')] = []
    api_versions: Annotated[Words, Description("Versions; * stands for all.")] = []
    resources: Annotated[
        Words, Description("Resources, such as pods, pods/log, */scale, pods/* or */*; * stands for all of them.")
    ] = []
    scope: Annotated[Text, Description("Cluster, Namespaced, or * for both, which is the default.")] = None


class MatchCondition(Struct):
    """A condition in CEL that has to be true of a request."""

    name: Annotated[str, Description("The name of the condition, for logs.")] = ""
    expression: Annotated[str, Description("The expression; it knows object, oldObject, request and authorizer.")] = ""


MatchConditions = Annotated[
    list[MatchCondition],
    ListMap("name"),
    MergeKey("name"),
    Description("At most 64 conditions, all of which have to be true."),
]


def dicts_of(obj: Obj, name: str) -> Iterator[Obj]:
    """The items of a list in an object that may break its schema; what is no object is left out."""
    found = obj.get(name)
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict):
            yield each


def complete(obj: Obj, defaults: dict[str, Any]) -> None:
    """Give an object, in place, what it does not have; ``defaults``: text, number, or a dict that stands for an empty one."""
    for name, value in defaults.items():
        if obj.get(name) is None:
            obj[name] = {} if isinstance(value, dict) else value


MATCHING: dict[str, Any] = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
"""The defaults of what says which requests are meant (``SetDefaults_MatchResources``)."""


def drop_empty(obj: Obj, *names: str) -> None:
    """Leave out, in place, lists without items, as Go's ``omitempty`` does."""
    for name in names:
        if obj.get(name) == []:
            del obj[name]


def complete_rules(obj: Obj, name: str) -> None:
    """Give the rules in a list their scope (``SetDefaults_Rule``)."""
    for rule in dicts_of(obj, name):
        complete(rule, {"scope": "*"})
        drop_empty(rule, "operations", "apiGroups", "apiVersions", "resources")
    drop_empty(obj, name)
