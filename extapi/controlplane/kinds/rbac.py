"""Roles and their bindings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from extapi import CLUSTER, Atomic, Column, Description, FieldError, Object, Strategy, Struct
from extapi.api.labelselectors import selector_problems
from extapi.api.names import dns1123_subdomain, path_segment
from extapi.api.types import Obj
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.messages import MESSAGES
from extapi.controlplane.kinds.parts import AGE, CREATED_AT, SelectorRequirement, Text, kind_of, part_of, spelled

GROUP = "rbac.authorization.k8s.io"

Words = Annotated[list[str], Atomic()]


class PolicyRule(Struct, rename=spelled):
    """Verbs and resources that a role allows. * stands for all."""

    verbs: Annotated[Words, Description("Verbs; * stands for all.")] = []
    api_groups: Annotated[Words, Description('API groups; "" is the core group, * stands for all.')] = []
    resources: Annotated[Words, Description("Resources; * stands for all.")] = []
    resource_names: Annotated[list[str], Atomic(), Description("Only these objects; empty: all.")] = []
    non_resource_urls: Annotated[
        list[str], Atomic(), Description("Paths that are not resources; a * at the end stands for any rest.")
    ] = []


class Subject(Struct):
    """A user, a group or a service account."""

    kind: Annotated[str, Description("User, Group or ServiceAccount.")] = ""
    api_group: Annotated[Text, Description("rbac.authorization.k8s.io; for service accounts empty.")] = None
    name: Annotated[str, Description("The name of the user, group or service account.")] = ""
    namespace: Annotated[Text, Description("The namespace of a service account.")] = None


class RoleRef(Struct):
    """The role that a binding grants."""

    api_group: Annotated[str, Description("rbac.authorization.k8s.io.")] = ""
    kind: Annotated[str, Description("Role or ClusterRole.")] = ""
    name: Annotated[str, Description("The name of the role.")] = ""


class ClusterRoleSelector(Struct):
    """Selects cluster roles by their labels; all of its rules have to hold."""

    match_labels: Annotated[dict[str, str], Description("Labels that have just these values.")] = {}
    match_expressions: Annotated[list[SelectorRequirement], Atomic(), Description("Further rules.")] = []


class AggregationRule(Struct):
    """The cluster roles whose rules a cluster role combines."""

    cluster_role_selectors: Annotated[
        list[Annotated[ClusterRoleSelector, Atomic()]], Atomic(), Description("Each selects some of them.")
    ] = []


class Role(Object):
    """Rights in one namespace."""

    rules: Annotated[list[PolicyRule], Atomic(), Description("What is allowed.")] = []


class ClusterRole(Object):
    """Rights in the whole cluster, or in the namespaces in which it is bound."""

    rules: Annotated[list[PolicyRule], Atomic(), Description("What is allowed.")] = []
    aggregation_rule: Annotated[AggregationRule | None, Description("The rules are those of other cluster roles.")] = (
        None
    )


class RoleBinding(Object):
    """Grants a role in one namespace."""

    subjects: Annotated[
        list[Annotated[Subject, Atomic()]],
        Atomic(),
        Description("The users, groups and service accounts that get the rights."),
    ] = []
    role_ref: Annotated[RoleRef, Atomic(), Description("The role; cannot be changed.")] = RoleRef()


class ClusterRoleBinding(Object):
    """Grants a cluster role in the whole cluster."""

    subjects: Annotated[
        list[Annotated[Subject, Atomic()]],
        Atomic(),
        Description("The users, groups and service accounts that get the rights."),
    ] = []
    role_ref: Annotated[RoleRef, Atomic(), Description("The cluster role; cannot be changed.")] = RoleRef()


def _broken_rules(rules: list[PolicyRule], *, namespaced: bool) -> Iterator[FieldError]:
    """Errors of rules. Source: ``kubernetes/pkg/apis/rbac/validation`` ValidatePolicyRule."""
    for index, rule in enumerate(rules):
        path = f"rules[{index}]"
        if not rule.verbs:
            yield FieldError.required(f"{path}.verbs", "verbs must contain at least one value")
        if rule.non_resource_urls:
            urls = f"{path}.nonResourceURLs"
            if namespaced:
                why = "namespaced rules cannot apply to non-resource URLs"
                yield FieldError.invalid(urls, rule.non_resource_urls, why)
            if rule.api_groups or rule.resources or rule.resource_names:
                why = "rules cannot apply to both regular resources and non-resource URLs"
                yield FieldError.invalid(urls, rule.non_resource_urls, why)
            continue
        if not rule.api_groups:
            yield FieldError.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
        if not rule.resources:
            yield FieldError.required(f"{path}.resources", "resource rules must supply at least one resource")


class RoleStrategy(Strategy):
    """Rules are complete. Source: ``kubernetes/pkg/apis/rbac/validation`` ValidateRole and ValidateClusterRole."""

    def validate(self, obj: Role | ClusterRole, old: Role | ClusterRole | None) -> Iterable[FieldError]:
        """Check the rules, and the aggregation of a cluster role."""
        del old
        yield from _broken_rules(obj.rules, namespaced=isinstance(obj, Role))
        if isinstance(obj, Role) or obj.aggregation_rule is None:
            return
        path = "aggregationRule.clusterRoleSelectors"
        if not obj.aggregation_rule.cluster_role_selectors:
            yield FieldError.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
        for index, selector in enumerate(obj.aggregation_rule.cluster_role_selectors):
            problems = list(selector_problems(msgspec.to_builtins(selector), f"{path}[{index}]"))
            yield from problems
            if problems:
                yield FieldError.invalid(f"{path}[{index}]", None, "invalid label selector.")


def _broken_subject(subject: Subject, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    """Errors of a subject. Source: ``kubernetes/pkg/apis/rbac/validation`` ValidateRoleBindingSubject."""
    if not subject.name:
        yield FieldError.required(f"{path}.name")
    group = subject.api_group or ""
    match subject.kind:
        case "ServiceAccount":
            for problem in dns1123_subdomain(subject.name) if subject.name else ():
                yield FieldError.invalid(f"{path}.name", subject.name, problem)
            if group:
                yield FieldError.not_supported(f"{path}.apiGroup", group, [""])
            if not namespaced and not subject.namespace:
                yield FieldError.required(f"{path}.namespace")
        case "User" | "Group":
            if group != GROUP:
                yield FieldError.not_supported(f"{path}.apiGroup", group, [GROUP])
        case kind:
            yield FieldError.not_supported(f"{path}.kind", kind, ["ServiceAccount", "User", "Group"])


class BindingStrategy(Strategy):
    """A binding keeps its role, and its subjects are valid.

    Source: ``kubernetes/pkg/apis/rbac/validation`` ValidateRoleBinding and ValidateClusterRoleBinding.
    """

    def validate(
        self, obj: RoleBinding | ClusterRoleBinding, old: RoleBinding | ClusterRoleBinding | None
    ) -> Iterable[FieldError]:
        """Check role and subjects."""
        namespaced = isinstance(obj, RoleBinding)
        role = obj.role_ref
        kinds = ["Role", "ClusterRole"] if namespaced else ["ClusterRole"]
        if role.api_group != GROUP:
            yield FieldError.not_supported("roleRef.apiGroup", role.api_group, [GROUP])
        if role.kind not in kinds:
            yield FieldError.not_supported("roleRef.kind", role.kind, kinds)
        if not role.name:
            yield FieldError.required("roleRef.name")
        for problem in path_segment(role.name):
            yield FieldError.invalid("roleRef.name", role.name, problem)
        for index, subject in enumerate(obj.subjects):
            yield from _broken_subject(subject, f"subjects[{index}]", namespaced=namespaced)
        if old is not None and old.role_ref != role:
            shown = {"APIGroup": role.api_group, "Kind": role.kind, "Name": role.name}  # the names of Go's fields
            yield FieldError.invalid("roleRef", shown, "cannot change roleRef")


def _subjects(kind: str) -> Any:
    """The cell that names the subjects of a kind; service accounts with their namespace."""

    def cell(obj: dict[str, Any]) -> str:
        found = [each for each in obj.get("subjects", ()) if each["kind"] == kind]
        accounts = kind == "ServiceAccount"
        names = (f"{each.get('namespace', '')}/{each['name']}" if accounts else each["name"] for each in found)
        return ", ".join(names)

    return cell


def _complete(obj: Obj) -> None:
    """Fill in API groups (``SetDefaults_Subject``, ``SetDefaults_RoleBinding``)."""
    role = part_of(obj, "roleRef")
    if role and not role.get("apiGroup"):
        role["apiGroup"] = GROUP
    subjects = obj.get("subjects")
    for subject in subjects if isinstance(subjects, list) else ():
        if isinstance(subject, dict) and subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


_SHARED: dict[str, Any] = {"status": False, "behaviour": built_in(MESSAGES, names=path_segment)}
_BINDING: dict[str, Any] = {
    "status": False,
    "behaviour": built_in(
        MESSAGES, names=path_segment, complete=_complete, zero={"roleRef": {"apiGroup": "", "kind": "", "name": ""}}
    ),
    "columns": [
        Column("Role", cell=lambda obj: f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}"),
        AGE,
        *(Column(f"{kind}s", cell=_subjects(kind), priority=1) for kind in ("User", "Group", "ServiceAccount")),
    ],
    "strategy": BindingStrategy(),
}
_ROLE: dict[str, Any] = {**_SHARED, "columns": [CREATED_AT], "strategy": RoleStrategy()}
ROLE = kind_of(Role, **_ROLE)
CLUSTER_ROLE = kind_of(ClusterRole, scope=CLUSTER, **_ROLE)
ROLE_BINDING = kind_of(RoleBinding, **_BINDING)
CLUSTER_ROLE_BINDING = kind_of(ClusterRoleBinding, scope=CLUSTER, **_BINDING)
