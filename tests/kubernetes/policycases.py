"""The cases of :mod:`tests.kubernetes.test_admission_policies`: policies with their bindings and requests."""

from __future__ import annotations

from typing import Any, Final

from tests.kubernetes.cafe import PLURAL
from tests.kubernetes.cafe_steps import APPLY, MERGE, Step, cafe, path
from tests.kubernetes.policies import (
    ACCOUNT,
    CHECK,
    CONDITIONS,
    DEAR,
    EXPRESSIONS,
    LABEL,
    LARGE,
    LIMIT,
    LIMIT_GROUP,
    MESSAGES,
    NOWHERE,
    VARIABLES,
    Case,
    conditions,
    merged,
    posted,
    rule,
    simple,
    variables,
)

Obj = dict[str, Any]

STEADY: Final = path(rest="/steady")
"""An object that no policy is about until a change, which is a dry run, gives it a label."""


def life(name: str) -> list[Step]:
    """An object that is made, and another one that changes."""
    change = {"metadata": {"labels": {LABEL: name}}, "spec": {"tables": 5}}
    return [posted(name, tables=4, notes=["a"]), Step("PATCH", f"{STEADY}?dryRun=All", change, MERGE)]


CASES: dict[str, Case] = {}
_WARNS: Final[Obj] = {"validationActions": ["Warn"]}


def case(name: str, spec: Obj, *bindings: Obj, steps: list[Step] | None = None, **members: Any) -> None:
    """Add a case."""
    CASES[name] = Case(spec, bindings or ({},), life(name) if steps is None else steps, **members)


_ALL = [rule(each) for each in EXPRESSIONS.values()]
for _place in range(0, len(_ALL), 6):
    case(f"expressions-{_place}", {"validations": _ALL[_place : _place + 6]}, _WARNS)
for _name in ("missing", "cost-of-call", "type", "overload", "false"):
    case(f"ignored-{_name}", simple(EXPRESSIONS[_name], failurePolicy="Ignore"))
for _name, (_text, _pairs) in VARIABLES.items():
    case(f"variable-{_name}", simple(_text, variables=variables(*_pairs)))
_AMONG = variables(("text", "string(object.spec.tables)"), ("may", CHECK))
for _name, _members in MESSAGES.items():
    case(f"message-{_name}", {"validations": [rule("false", **_members)], "variables": _AMONG})
case("message-dear-but-true", {"validations": [rule("true", messageExpression=f"string({LARGE})")] * 13})
for _name, _texts in CONDITIONS.items():
    for _policy in ("Fail", "Ignore"):
        case(
            f"conditions-{_policy.lower()}-{_name}",
            simple("false", failurePolicy=_policy, matchConditions=conditions(*_texts)),
        )
_THREE: Obj = {
    "validations": [
        rule("object.spec.tables > 100", message="first"),
        rule("object.spec.missing == 1"),
        rule("true"),
        rule("object.spec.tables < 1", messageExpression="'third of ' + request.name", reason="Forbidden"),
    ]
}
for _name, _actions in {
    "deny": ["Deny"],
    "warn": ["Warn"],
    "audit": ["Audit"],
    "warn-audit": ["Warn", "Audit"],
    "audit-deny": ["Audit", "Deny"],
}.items():
    case(f"actions-{_name}", _THREE, {"validationActions": _actions})
case("actions-ignored", {**_THREE, "failurePolicy": "Ignore"}, {"validationActions": ["Warn"]})
case("bindings", _THREE, {"validationActions": ["Warn"]}, {"validationActions": ["Audit"]}, {})
case("bindings-first-passes", _THREE, {"matchResources": {"objectSelector": {"matchLabels": {"no": "no"}}}}, {})
case("budget", {"validations": [rule(LARGE)] * 13})
case("budget-ignored", {"validations": [rule("false"), *[rule(LARGE)] * 13], "failurePolicy": "Ignore"})
case("budget-variables", {"validations": [rule("variables.large")] * 13, "variables": variables(("large", LARGE))})
_NOTED = {"validations": [rule("true")], "variables": variables(("may", CHECK))}
for _name, _text in {
    "text": "'tables: ' + string(object.spec.tables)",
    "null": "null",
    "error": "string(object.spec.missing)",
    "authorizer": "string(variables.may)",
    "dear": f"string({DEAR})",
}.items():
    case(f"noted-{_name}", {**_NOTED, "auditAnnotations": [{"key": "note", "valueExpression": _text}]})
case(
    "noted-ignored",
    {
        **_NOTED,
        "auditAnnotations": [{"key": "note", "valueExpression": "string(object.spec.missing)"}],
        "failurePolicy": "Ignore",
    },
)


def whole(name: str) -> list[Step]:
    """All that can be done to an object that has the label from the beginning."""
    return [
        posted(name, tables=3),
        merged(spec={"notes": ["a"]}),
        merged("/status", "v2", status={"open": True}),
        merged("/scale", spec={"replicas": 9}),
        Step("PATCH", path(rest="/{name}?fieldManager=me&force=true"), cafe(labels={LABEL: name}, tables=2), APPLY),
        posted(name, "v2", "?dryRun=All"),
        Step("DELETE", path(rest="/{name}")),
    ]


_SAYS: Final[Obj] = {
    "validations": [
        rule(
            "false",
            messageExpression="request.operation + ' ' + request.kind.version + ' ' + request.kind.kind + ' ' + request.resource.version"
            " + ' ' + request.requestKind.version + ' ' + request.requestResource.version + ' ' +"
            " (has(request.subResource) ? request.subResource : '-') + ' ' + request.name + ' ' +"
            " (object == null ? 'none' : object.apiVersion) + ' ' + (oldObject == null ? 'none' : oldObject.apiVersion)"
            " + ' ' + string(request.dryRun)",
        )
    ]
}
RULES: Final[dict[str, Obj]] = {
    "all": {},
    "any-group": {"apiGroups": ["*"]},
    "version": {"apiVersions": ["v1"]},
    "other-version": {"apiVersions": ["v2"]},
    "unknown-version": {"apiVersions": ["v7"]},
    "operations": {"operations": ["UPDATE", "DELETE"]},
    "connect": {"operations": ["CONNECT"]},
    "status": {"resources": [f"{PLURAL}/status"]},
    "scale": {"resources": [f"{PLURAL}/scale"]},
    "subresources": {"resources": [f"{PLURAL}/*"]},
    "both": {"resources": [PLURAL, f"{PLURAL}/*"]},
    "cluster": {"scope": "Cluster"},
    "other-name": {"resourceNames": ["someone"]},
}
for _name, _rule in RULES.items():
    for _policy in ("Exact", "Equivalent") if "version" in _name or _name == "both" else ("Equivalent",):
        _of = f"rules-{_policy.lower()}-{_name}"
        case(_of, _SAYS, _WARNS, steps=whole(_of), rule=_rule, constraints={"matchPolicy": _policy})
_CONSTRAINTS: Final[dict[str, Obj]] = {
    "excluded": {
        "excludeResourceRules": [
            {"operations": ["UPDATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
        ]
    },
    "excluded-version": {
        "excludeResourceRules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["v2"], "resources": ["*"]}]
    },
    "excluded-exactly": {
        "matchPolicy": "Exact",
        "excludeResourceRules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["v2"], "resources": ["*"]}],
    },
    "namespace": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
    "other-namespace": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}}},
}
for _name, _constraints in _CONSTRAINTS.items():
    case(f"match-{_name}", _SAYS, _WARNS, steps=whole(f"match-{_name}"), constraints=_constraints)
    if "matchPolicy" not in _constraints:
        _of = f"match-binding-{_name}"
        case(_of, _SAYS, {**_WARNS, "matchResources": _constraints}, steps=whole(_of))
_NARROW = {"resourceRules": [{"operations": ["UPDATE"], "apiGroups": ["*"], "apiVersions": ["v2"], "resources": ["*"]}]}
case("match-binding-rules", _SAYS, {**_WARNS, "matchResources": _NARROW}, steps=whole("match-binding-rules"))

LIMITED: Final = "object.spec.tables <= int(params.metadata.annotations.most)"
_PARAMS: Final[Obj] = {
    "paramKind": ACCOUNT,
    "validations": [
        rule(
            LIMITED,
            messageExpression="params.kind + ' ' + params.metadata.name + ' ' + params.metadata.annotations.most",
        )
    ],
}
REFERENCES: Final[dict[str, Obj]] = {
    "name": {"name": "policy-three"},
    "name-passes": {"name": "policy-nine"},
    "namespace": {"name": "policy-three", "namespace": "kube-system"},
    "missing": {"name": "policy-nobody"},
    "selector": {"selector": {"matchLabels": {"policy-params": "yes"}}},
    "selector-one": {"selector": {"matchLabels": {"policy-params": "yes", "which": "three"}}},
    "selector-none": {"selector": {"matchLabels": {"policy-params": "no"}}},
    "selector-expression": {"selector": {"matchExpressions": [{"key": "which", "operator": "In", "values": ["nine"]}]}},
}
for _name, _reference in REFERENCES.items():
    for _action in ("Deny", "Allow"):
        _ref = {"paramRef": {"parameterNotFoundAction": _action, **_reference}}
        case(f"params-{_action.lower()}-{_name}", _PARAMS, _ref)
case(
    "params-missing-ignored",
    {**_PARAMS, "failurePolicy": "Ignore"},
    {"paramRef": {"name": "policy-nobody", "parameterNotFoundAction": "Deny"}},
)
case("params-without-reference", {"paramKind": ACCOUNT, "validations": [rule("params != null")]})
case("params-not-used", {"validations": [rule("true")]}, {"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}})
_LIMITED = {"paramKind": LIMIT, "validations": [rule("object.spec.tables <= params.most")]}
case("params-cluster", _LIMITED, {"paramRef": {"name": "two", "parameterNotFoundAction": "Deny"}})
case(
    "params-cluster-in-namespace",
    _LIMITED,
    {"paramRef": {"name": "two", "namespace": "default", "parameterNotFoundAction": "Deny"}},
)
_UNKNOWN = {"paramKind": NOWHERE, "validations": [rule("false")]}
case("params-unknown", _UNKNOWN, {"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}})
case(
    "params-unknown-ignored",
    {**_UNKNOWN, "failurePolicy": "Ignore"},
    {"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}},
)
case(
    "params-unknown-elsewhere",
    _UNKNOWN,
    {"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}},
    rule={"resources": ["others"]},
)
case(
    "params-conditions",
    {**_PARAMS, "matchConditions": conditions("params.metadata.name == 'policy-three'")},
    {"paramRef": {"selector": {"matchLabels": {"policy-params": "yes"}}, "parameterNotFoundAction": "Deny"}},
)
case(
    "params-in-variables",
    {
        **_PARAMS,
        "variables": variables(("most", "int(params.metadata.annotations.most)")),
        "validations": [rule("object.spec.tables <= variables.most")],
    },
    {"paramRef": {"name": "policy-three", "parameterNotFoundAction": "Deny"}},
)


def account(name: str, most: str, namespace: str = "default", **labels: str) -> Obj:
    """Params."""
    return {
        **ACCOUNT,
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": {"most": most}},
    }


PARAMS: Final = [
    account("policy-three", "3", **{"policy-params": "yes", "which": "three"}),
    account("policy-nine", "9", **{"policy-params": "yes", "which": "nine"}),
    account("policy-three", "2", "kube-system"),
]
LIMITS: Final[Obj] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"limits.{LIMIT_GROUP}"},
    "spec": {
        "group": LIMIT_GROUP,
        "scope": "Cluster",
        "names": {"kind": "Limit", "plural": "limits"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"most": {"type": "integer"}}}},
            }
        ],
    },
}
