"""Pairs of policies and requests: what kube-apiserver says about a custom resource, we have to say about the same kind.

All policies are registered at once: each is about the objects that have its name as a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.kubernetes.cafe import OURS, PLURAL, THEIRS
from tests.kubernetes.cafe_steps import MERGE, Step, cafe, path

Obj = dict[str, Any]

LABEL: Final = "policy"
ACCOUNT: Final = {"apiVersion": "v1", "kind": "ServiceAccount"}
"""A kind that no other test has as params. Once the last policy with params of a built-in kind has gone, kube-apiserver knows
only what objects of that kind there were, for as long as it runs: it stops their informer, which nothing can start again
(``informerFactory.Start(instanceContext.Done())`` in policy_source.go)."""
LIMIT_GROUP: Final = "limits.policies.test"
LIMIT: Final = {"apiVersion": f"{LIMIT_GROUP}/v1", "kind": "Limit"}
NOWHERE: Final = {"apiVersion": "nowhere.policies.test/v1", "kind": "Nothing"}


@dataclass(frozen=True)
class Case:
    """A policy, its bindings, and requests about objects that it is about."""

    spec: Obj
    bindings: Sequence[Obj] = ({},)
    """The specs of the bindings; they deny if they do not say otherwise."""
    steps: Sequence[Step] = ()
    rule: Obj = field(default_factory=dict)
    """Replaces members of the policy's only rule."""
    constraints: Obj = field(default_factory=dict)
    """Further members of ``matchConstraints``."""

    def policy(self, name: str) -> Obj:
        """The policy as it is registered."""
        rule = {
            "operations": ["*"],
            "apiGroups": [OURS, THEIRS],
            "apiVersions": ["*"],
            "resources": [PLURAL],
            **self.rule,
        }
        constraints = {"resourceRules": [rule], "objectSelector": {"matchLabels": {LABEL: name}}, **self.constraints}
        return _registered("ValidatingAdmissionPolicy", name, {"matchConstraints": constraints, **self.spec})

    def bound(self, name: str) -> list[Obj]:
        """Its bindings as they are registered."""
        made = []
        for place, spec in enumerate(self.bindings):
            full = {"policyName": name, "validationActions": ["Deny"], **spec}
            made.append(_registered("ValidatingAdmissionPolicyBinding", f"{name}-{place}", full))
        return made


def _registered(kind: str, name: str, spec: Obj) -> Obj:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {LABEL: "registered"}},
        "spec": spec,
    }


def posted(name: str, version: str = "v1", query: str = "", **spec: Any) -> Step:
    """A request that makes an object which the policy of that name is about."""
    return Step("POST", path(version, query), cafe(version, labels={LABEL: name}, **spec))


def merged(rest: str = "", version: str = "v1", **members: Any) -> Step:
    """A request that changes it."""
    return Step("PATCH", path(version, f"/{{name}}{rest}"), members, MERGE)


def rule(expression: str, **members: Any) -> Obj:
    """A validation."""
    return {"expression": expression, **members}


def simple(expression: str, **members: Any) -> Obj:
    """The spec of a policy with one validation; ``members`` are those of the policy."""
    return {"validations": [rule(expression)], **members}


def variables(*pairs: tuple[str, str]) -> list[Obj]:
    """Variables of a policy."""
    return [{"name": name, "expression": text} for name, text in pairs]


def conditions(*expressions: str) -> list[Obj]:
    """Match conditions of a policy."""
    return [{"name": f"c{place}", "expression": text} for place, text in enumerate(expressions)]


_BIG: Final = f"'{'z' * 500}'.replace('z', '{'y' * 2000}')"
_COSTLY: Final = f"!{_BIG}.contains('x')"
"""A cost of some 100,000, in a moment."""
_NINE: Final = "[1, 2, 3, 4, 5, 6, 7, 8, 9]"
DEAR: Final = f"{_NINE}.all(a, {_NINE}.all(b, {_COSTLY}))"
"""More than one expression may cost."""
LARGE: Final = f"[1, 2, 3, 4, 5, 6, 7, 8].all(a, {_COSTLY})"
"""A cost of some 800,000."""
CHECK: Final = "authorizer.group('').resource('pods').namespace('default').check('get').allowed()"

EXPRESSIONS: Final = {
    "true": "true",
    "false": "false",
    "object": "object.spec.tables <= 3",
    "old": "oldObject == null",
    "old-member": "oldObject.spec.tables == 3",
    "request": "request.operation == 'CREATE' && request.resource.resource == 'cafes' && !request.dryRun",
    "request-not": "request.operation == 'UPDATE'",
    "user": "request.userInfo.username == 'policy-admin' && 'system:masters' in request.userInfo.groups",
    "names": "request.name == object.metadata.name && request.namespace == 'default'",
    "kinds": "request.kind.kind == 'Cafe' && request.requestKind.version == 'v1'",
    "options": "request.options.kind == 'CreateOptions'",
    "subresource": "has(request.subResource)",
    "missing": "object.spec.missing == 1",
    "missing-or": "object.spec.missing == 1 || true",
    "has": "has(object.spec.missing)",
    "index": "object.spec.notes[7] == 'a'",
    "division": "1 / (object.spec.tables - object.spec.tables) == 1",
    "type": "object.spec.tables == 'x'",
    "overload": "object.spec.notes + 1 == 3",
    "uid": "size(object.metadata.uid) > 30",
    "namespace": "namespaceObject.metadata.name == 'default'",
    "namespace-label": "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'default'",
    "namespace-label-missing": "namespaceObject.metadata.labels['missing'] == 'default'",
    "namespace-phase": "namespaceObject.status.phase == 'Active'",
    "namespace-finalizers": "namespaceObject.spec.finalizers == ['kubernetes']",
    "namespace-conditions": "has(namespaceObject.status.conditions)",
    "namespace-uid": "namespaceObject.metadata.UID != ''",
    "namespace-time": "namespaceObject.metadata.creationTimestamp < timestamp('2100-01-01T00:00:00Z')",
    "namespace-annotations": "has(namespaceObject.metadata.annotations)",
    "authorizer": CHECK,
    "authorizer-resource": "authorizer.requestResource.check('delete').allowed()",
    "authorizer-account": "authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').check('get').allowed()",
    "authorizer-reason": "authorizer.serviceAccount('default', 'nobody').path('/x').check('get').reason() == ''",
    "authorizer-many": "[1, 2, 3].all(i, authorizer.path('/a').check('get').allowed())",
    "cost-of-call": DEAR,
    "string-function": "object.metadata.name.startsWith('x')",
    "optional": "object.?spec.?missing.orValue(3) == object.spec.tables",
    "quantity": "quantity('2Gi').isGreaterThan(quantity('3Gi'))",
    "lines": "\n  object.spec.tables == 1\n",
    "null": "object.spec.notes == null",
    "list": "object.spec.notes.all(n, n.size() > 3)",
    "map": "object.metadata.labels.all(k, k == 'policy')",
}
VARIABLES: Final[dict[str, tuple[str, tuple[tuple[str, str], ...]]]] = {
    "plain": ("variables.tables == 4", (("tables", "object.spec.tables"),)),
    "chain": ("variables.second > 10", (("first", "object.spec.tables * 2"), ("second", "variables.first + 1"))),
    "list": ("variables.words.exists(w, w == 'a')", (("words", "['b', 'c']"),)),
    "map": ("variables.found['k'] == 2", (("found", "{'k': 1}"),)),
    "struct-has": ("has(variables.found)", (("found", "object.spec.tables"),)),
    "has-error": ("has(variables.found)", (("found", "object.spec.missing"),)),
    "error": ("variables.found == 1", (("found", "object.spec.missing"),)),
    "error-or": ("variables.found == 1 || true", (("found", "object.spec.missing"),)),
    "error-unused": ("object.spec.tables > 100", (("found", "object.spec.missing"),)),
    "null": ("variables.found == null && object.spec.tables == 1", (("found", "null"),)),
    "duration": ("variables.long > duration('2h')", (("long", "duration('1h')"),)),
    "optional": ("variables.maybe.orValue(1) == 1", (("maybe", "object.?spec.?tables"),)),
    "type": ("type(variables.found) == string", (("found", "object.spec.tables"),)),
    "authorizer": ("variables.may", (("may", "!" + CHECK),)),
    "cost": ("variables.dear", (("dear", DEAR),)),
    "twice": ("variables.large && variables.large && false", (("large", LARGE),)),
    "namespace": ("variables.where == 'elsewhere'", (("where", "namespaceObject.metadata.name"),)),
    "comprehension": ("[1, 2].all(i, variables.tables > i * 3)", (("tables", "object.spec.tables"),)),
}
MESSAGES: Final[dict[str, Obj]] = {
    "message": {"message": "  too many tables "},
    "expression": {"messageExpression": "'tables: ' + string(object.spec.tables)"},
    "both": {"message": "static", "messageExpression": "'made'"},
    "blank": {"message": "static", "messageExpression": "'   '"},
    "lines": {"message": "static", "messageExpression": "'one' + string(object.spec.tables) + '\\ntwo'"},
    "trimmed": {"messageExpression": "'\\n made \\t'"},
    "long": {
        "message": "static",
        "messageExpression": "[0, 1, 2, 3].map(i, 'x'.replace('x', 'yyyyyyyyyy')).join('" + "z" * 2000 + "')",
    },
    "failing-typed": {"message": "static", "messageExpression": "string(object.spec.missing)"},
    "failing-alone": {"messageExpression": "string(object.spec.missing)"},
    "variable": {"messageExpression": "'has ' + variables.text"},
    "authorizer": {"message": "static", "messageExpression": "string(variables.may)"},
    "dear": {"message": "static", "messageExpression": f"string({DEAR})"},
    "reason-forbidden": {"reason": "Forbidden"},
    "reason-too-large": {"reason": "RequestEntityTooLarge"},
    "reason-invalid": {"reason": "Invalid"},
}
CONDITIONS: Final[dict[str, tuple[str, ...]]] = {
    "true": ("true",),
    "false": ("false",),
    "object": ("object.spec.tables == 4",),
    "error": ("object.spec.missing == 1",),
    "errors": ("object.spec.missing == 1", "object.spec.other == 1"),
    "error-and-false": ("object.spec.missing == 1", "false"),
    "namespace": ("namespaceObject.metadata.name == 'default'",),
    "authorizer": (CHECK,),
    "dear": (DEAR,),
    "budget": (LARGE, LARGE, LARGE, LARGE),
    "kind": ("request.kind.version == 'v1' && request.resource.version == 'v1'",),
}
