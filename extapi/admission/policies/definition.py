"""A policy and its bindings, read once. What a kube-apiserver has accepted is valid; what is not, must not break a server.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/generic`` accessor.go, policy_source.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from extapi.admission.matching.rules import RuleWithOperations
from extapi.admission.policies.resources import MatchResources
from extapi.api.types import Obj

FREEZER: Final = "extapi-takeover"
"""What makes freezes (``extapi import --switch``): the label app.kubernetes.io/managed-by, and how their names begin."""

E = TypeVar("E")


class ParamKind(NamedTuple):
    """The kind of a policy's params."""

    api_version: str
    kind: str

    def __str__(self) -> str:
        """As Go prints it in errors."""
        return f"&ParamKind{{APIVersion:{self.api_version},Kind:{self.kind},}}"

    @property
    def group(self) -> str:
        """Its group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """Its version."""
        return self.api_version.rpartition("/")[2]


class PolicyDefinition(Generic[E]):
    """A policy.

    Attributes:
        source: The object that it was read from.
        name: Its name.
        spec: Its ``spec``.
        constraints: What it is about.
        param_kind: The kind of its params; None: it has none.
        failure_policy: ``Fail`` or ``Ignore``.
    """

    __slots__ = (
        "_compile",
        "_evaluator",
        "constraints",
        "failure_policy",
        "name",
        "param_kind",
        "source",
        "spec",
    )

    def __init__(self, policy: Obj, compile_: Callable[[str, Mapping[str, Any]], E]) -> None:
        self.source = policy
        self.name = str(policy["metadata"]["name"])
        self.spec: Mapping[str, Any] = policy.get("spec") or {}
        self.constraints = MatchResources(self.spec.get("matchConstraints"))
        kind = self.spec.get("paramKind")
        self.param_kind = kind and ParamKind(str(kind.get("apiVersion") or ""), str(kind.get("kind") or ""))
        self.failure_policy = str(self.spec.get("failurePolicy") or "Fail")
        self._compile = compile_
        self._evaluator: E | None = None

    @property
    def evaluator(self) -> E:
        """What evaluates its expressions. They are compiled when the first write matches."""
        if self._evaluator is None:
            self._evaluator = self._compile(self.name, self.spec)
        return self._evaluator


class Binding:
    """A binding.

    Attributes:
        source: The object that it was read from.
        name: Its name.
        policy: The name of its policy.
        spec: Its ``spec``.
        resources: What it is about; None: all that its policy is about.
        param_ref: Its ``paramRef``.
    """

    __slots__ = ("name", "param_ref", "policy", "resources", "source", "spec")

    def __init__(self, binding: Obj) -> None:
        self.source = binding
        self.name = str(binding["metadata"]["name"])
        self.spec: Mapping[str, Any] = binding.get("spec") or {}
        self.policy = str(self.spec.get("policyName") or "")
        resources = self.spec.get("matchResources")
        self.resources = None if resources is None else MatchResources(resources)
        self.param_ref: Mapping[str, Any] | None = self.spec.get("paramRef")


def is_freeze(policy: Obj) -> bool:
    """Whether a policy freezes the writes of a definition while its objects move here, where they may be written already."""
    metadata = policy["metadata"]
    labels = metadata.get("labels") or {}
    managed = labels.get("app.kubernetes.io/managed-by") == FREEZER
    return managed and str(metadata["name"]).startswith(f"{FREEZER}.")


class Hook(Generic[E]):
    """A policy with its bindings; without any it does nothing (:class:`extapi.admission.matching.index.Ruled`)."""

    __slots__ = ("bindings", "definition", "equivalent", "rules")

    def __init__(self, definition: PolicyDefinition[E], bindings: Sequence[Binding]) -> None:
        self.definition = definition
        self.bindings = tuple(bindings)
        self.rules: Sequence[RuleWithOperations] = definition.constraints.rules
        self.equivalent = definition.constraints.equivalent


def hooks(definitions: Iterable[PolicyDefinition[E]], bindings: Iterable[Binding]) -> list[Hook[E]]:
    """The policies that are bound, by name, each with its bindings by name. kube-apiserver has them in any order."""
    bound: dict[str, list[Binding]] = {}
    for binding in sorted(bindings, key=lambda each: each.name):
        bound.setdefault(binding.policy, []).append(binding)
    found = sorted((each for each in definitions if each.name in bound), key=lambda each: each.name)
    return [Hook(each, bound[each.name]) for each in found]
