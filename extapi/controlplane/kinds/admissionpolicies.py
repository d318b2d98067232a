"""Admission policies and their bindings: types for clients, defaults, columns.

The rules of writing are in :mod:`extapi.controlplane.policies`; :mod:`extapi.admission.policies` keeps the policies.

Source: ``k8s.io/api/admissionregistration/v1`` types.go, ``kubernetes/pkg/apis/admissionregistration/v1`` defaults.go,
``kubernetes/pkg/printers/internalversion``.
"""

from __future__ import annotations

from typing import Annotated, Any

from extapi import Atomic, Column, Description, ListMap, ListSet, Object, Struct
from extapi.api.markers import MergeKey, Repeatable
from extapi.api.types import Obj
from extapi.controlplane.kinds.admissionparts import (
    MATCHING,
    LabelSelector,
    MatchConditions,
    RuleWithOperations,
    Words,
    complete,
    complete_rules,
    dicts_of,
    drop_empty,
)
from extapi.controlplane.kinds.parts import AGE, StatusCondition, Text, part_of, spelled

UNSET = "<unset>"


class ParamKind(Struct):
    """The kind of the parameters of a policy."""

    api_version: Annotated[Text, Description("The group and version, such as rules.example.com/v1.")] = None
    kind: Annotated[Text, Description("The kind.")] = None


class NamedRule(RuleWithOperations, rename=spelled):
    """Operations and resources, and perhaps only some of their objects."""

    resource_names: Annotated[Words, Description("Only objects of these names; empty: all.")] = []


class MatchResources(Struct):
    """Which requests are meant."""

    namespace_selector: Annotated[
        LabelSelector | None, Atomic(), Description("Selects the namespaces whose objects are meant.")
    ] = None
    object_selector: Annotated[
        LabelSelector | None, Atomic(), Description("Selects objects, before or after the write.")
    ] = None
    resource_rules: Annotated[
        list[Annotated[NamedRule, Atomic()]], Atomic(), Description("The requests that are meant: those of any rule.")
    ] = []
    exclude_resource_rules: Annotated[
        list[Annotated[NamedRule, Atomic()]], Atomic(), Description("Requests that are not meant after all.")
    ] = []
    match_policy: Annotated[
        Text,
        Description("Equivalent, the default: rules hold for other versions of a resource, too. Exact: they do not."),
    ] = None


class Variable(Struct):
    """An expression that other ones use as variables.NAME. It runs when it is first needed."""

    name: Annotated[str, Description("The name: an identifier of CEL.")] = ""
    expression: Annotated[str, Description("The expression; it knows the variables before it.")] = ""


class Validation(Struct):
    """An expression that has to be true."""

    expression: Annotated[
        str,
        Description(
            "The expression; it knows object, oldObject, request, params, namespaceObject, variables and authorizer."
        ),
    ] = ""
    message: Annotated[Text, Description("The text of a refusal; by default it quotes the expression.")] = None
    reason: Annotated[
        Text,
        Description("Forbidden, Invalid, which is the default, or RequestEntityTooLarge: the reason of a refusal."),
    ] = None
    message_expression: Annotated[Text, Description("An expression that makes the text of a refusal.")] = None


class AuditAnnotation(Struct):
    """An annotation of audit events."""

    key: Annotated[str, Description("The key; the name of the policy and a slash precede it.")] = ""
    value_expression: Annotated[str, Description("An expression that makes the value, or null for none.")] = ""


class ExpressionWarning(Struct):
    """What is wrong with an expression, by the schemas of the kinds that the policy is about."""

    field_ref: Annotated[str, Description("Where the expression is.")] = ""
    warning: Annotated[str, Description("What is wrong, by group, version and kind.")] = ""


class TypeChecking(Struct):
    """The result of type checking."""

    expression_warnings: Annotated[
        list[ExpressionWarning], Atomic(), Description("What is wrong with expressions.")
    ] = []


_FailurePolicy = Annotated[
    Text, Description("What becomes of a request if the policy fails: Fail, the default, refuses it; Ignore does not.")
]
_ParamKind = Annotated[ParamKind | None, Atomic(), Description("The kind of its parameters; without it, it has none.")]
_MatchConstraints = Annotated[MatchResources | None, Atomic(), Description("The requests that it is about.")]


class ValidatingAdmissionPolicySpec(Struct):
    """What is checked of which requests."""

    param_kind: _ParamKind = None
    match_constraints: _MatchConstraints = None
    validations: Annotated[list[Validation], Atomic(), Description("Expressions that have to be true.")] = []
    failure_policy: _FailurePolicy = None
    audit_annotations: Annotated[list[AuditAnnotation], Atomic(), Description("Annotations of audit events.")] = []
    match_conditions: MatchConditions = []
    variables: Annotated[
        list[Annotated[Variable, Atomic()]],
        ListMap("name"),
        MergeKey("name"),
        Description("Expressions that others use, each after those that it uses itself."),
    ] = []


class PolicyCondition(StatusCondition):
    """One aspect of the state of a policy."""

    observed_generation: Annotated[int | None, Description("The generation that the condition is about.")] = None


class ValidatingAdmissionPolicyStatus(Struct):
    """The state of a policy."""

    observed_generation: Annotated[int | None, Description("The generation whose types were checked.")] = None
    type_checking: Annotated[TypeChecking | None, Description("What is wrong with expressions.")] = None
    conditions: Annotated[
        list[PolicyCondition], ListMap("type"), Repeatable(), Description("Aspects of its state.")
    ] = []


class ValidatingAdmissionPolicy(Object):
    """Refuses writes that do not keep its rules. It takes effect where it is bound."""

    spec: ValidatingAdmissionPolicySpec = ValidatingAdmissionPolicySpec()
    status: ValidatingAdmissionPolicyStatus = ValidatingAdmissionPolicyStatus()


class ParamRef(Struct):
    """The parameters of a policy: one object, or those that a selector selects."""

    name: Annotated[Text, Description("The name of the object.")] = None
    namespace: Annotated[
        Text, Description("The namespace of the parameters; by default that of the request's object.")
    ] = None
    selector: Annotated[LabelSelector | None, Atomic(), Description("Selects several objects.")] = None
    parameter_not_found_action: Annotated[
        Text, Description("What becomes of a request if there are no parameters: Allow or Deny.")
    ] = None


_PolicyName = Annotated[Text, Description("The name of the policy.")]
_ParamRef = Annotated[ParamRef | None, Atomic(), Description("The parameters of the policy here.")]
_MatchResources = Annotated[
    MatchResources | None, Atomic(), Description("Of the requests that the policy is about, those that count here.")
]


class ValidatingAdmissionPolicyBindingSpec(Struct):
    """Where a policy takes effect, and how."""

    policy_name: _PolicyName = None
    param_ref: _ParamRef = None
    match_resources: _MatchResources = None
    validation_actions: Annotated[
        list[str],
        ListSet(),
        Repeatable(),
        Description("What becomes of a write that breaks rules: Deny or Warn, and Audit."),
    ] = []


class ValidatingAdmissionPolicyBinding(Object):
    """Makes a ValidatingAdmissionPolicy take effect."""

    spec: ValidatingAdmissionPolicyBindingSpec = ValidatingAdmissionPolicyBindingSpec()


class ApplyConfiguration(Struct):
    """A mutation that is merged as server-side apply merges."""

    expression: Annotated[Text, Description("The expression; it makes an Object.")] = None


class JSONPatch(Struct):
    """A mutation by a JSON patch."""

    expression: Annotated[Text, Description("The expression; it makes a list of JSONPatch.")] = None


class Mutation(Struct):
    """One change of the object."""

    patch_type: Annotated[str, Description("ApplyConfiguration or JSONPatch.")] = ""
    apply_configuration: Annotated[ApplyConfiguration | None, Description("What is merged.")] = None
    json_patch: Annotated[JSONPatch | None, Description("How it is patched.")] = None


class MutatingAdmissionPolicySpec(Struct):
    """What is changed in which requests."""

    param_kind: _ParamKind = None
    match_constraints: _MatchConstraints = None
    variables: Annotated[
        list[Annotated[Variable, Atomic()]],
        Atomic(),
        Description("Expressions that others use, each after those that it uses itself."),
    ] = []
    mutations: Annotated[list[Mutation], Atomic(), Description("The changes, one after the other.")] = []
    failure_policy: _FailurePolicy = None
    match_conditions: MatchConditions = []
    reinvocation_policy: Annotated[
        Text, Description("Whether it is applied again when something else has changed the object: Never or IfNeeded.")
    ] = None


class MutatingAdmissionPolicy(Object):
    """Changes objects that are written. It takes effect where it is bound."""

    spec: MutatingAdmissionPolicySpec = MutatingAdmissionPolicySpec()


class MutatingAdmissionPolicyBindingSpec(Struct):
    """Where a policy takes effect."""

    policy_name: _PolicyName = None
    param_ref: _ParamRef = None
    match_resources: _MatchResources = None


class MutatingAdmissionPolicyBinding(Object):
    """Makes a MutatingAdmissionPolicy take effect."""

    spec: MutatingAdmissionPolicyBindingSpec = MutatingAdmissionPolicyBindingSpec()


def complete_policy(obj: Obj) -> None:
    """Fill in what a client left out of a policy, in place (``SetDefaults_ValidatingAdmissionPolicySpec`` and others)."""
    spec = obj.get("spec")
    if isinstance(spec, dict):
        complete(spec, {"failurePolicy": "Fail"})
        _complete_matching(spec, "matchConstraints")
        drop_empty(spec, "matchConditions", "variables", "validations", "auditAnnotations", "mutations")
    elif spec is None:
        obj["spec"] = {"failurePolicy": "Fail"}


def complete_binding(obj: Obj) -> None:
    """Fill in what a client left out of a binding, in place (``SetDefaults_MatchResources``)."""
    spec = part_of(obj, "spec")
    _complete_matching(spec, "matchResources")
    drop_empty(spec, "validationActions")


def _complete_matching(spec: Obj, name: str) -> None:
    matching = spec.get(name)
    if isinstance(matching, dict):
        complete(matching, MATCHING)
        for rules in ("resourceRules", "excludeResourceRules"):
            for rule in dicts_of(matching, rules):
                drop_empty(rule, "resourceNames")
            complete_rules(matching, rules)


def _param_kind(obj: dict[str, Any]) -> str:
    """The cell ParamKind."""
    found = obj["spec"].get("paramKind")
    return UNSET if found is None else f"{found.get('apiVersion', '')}/{found.get('kind', '')}"


def _param_ref(obj: dict[str, Any]) -> str:
    """The cell ParamRef."""
    found = obj["spec"].get("paramRef") or {}
    if found.get("name"):
        return f"{found.get('namespace') or '*'}/{found['name']}"
    return UNSET if found.get("selector") is None else _selector(found["selector"])


def _selector(selector: dict[str, Any]) -> str:
    """A selector as Go's generated ``String`` method prints it."""
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.get("matchLabels", {}).items()))
    rules = "".join(
        f"LabelSelectorRequirement{{Key:{each['key']},Operator:{each['operator']},"
        f"Values:[{' '.join(each.get('values', ()))}],}},"
        for each in selector.get("matchExpressions", ())
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{rules}}},}}"
    )


def policy_columns(counted: str) -> list[Column]:
    """The columns of a policy; ``counted``: the list whose items are counted."""
    name = counted.capitalize()
    cell = lambda obj: len(obj["spec"].get(counted, ()))  # noqa: E731 - it is a value, which the column takes
    return [Column(name, type="integer", cell=cell), Column("ParamKind", cell=_param_kind), AGE]


BINDING_COLUMNS = [
    Column("PolicyName", cell=lambda obj: obj["spec"].get("policyName", "")),
    Column("ParamRef", cell=_param_ref),
    AGE,
]
