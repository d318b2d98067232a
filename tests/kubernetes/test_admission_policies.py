"""A cluster's ValidatingAdmissionPolicies: the same ones, kept by kube-apiserver for a custom resource, and by us for the same kind.

Each conversation is held with both. Statuses, texts, reasons and warnings have to be the same.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from tests.kubernetes import second
from tests.kubernetes.cafe import OURS, PLURAL, THEIRS, definitions
from tests.kubernetes.cafe_steps import APPLY, MERGE, Step, cafe, filled, neutral, path
from tests.kubernetes.calling import Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.policies import (
    CHECK,
    CONDITIONS,
    CONFIG_MAP,
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
from tests.waiting import until

pytestmark = pytest.mark.needs("crd")

REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = (f"{REGISTRATION}/validatingadmission{each}" for each in ("policies", "policybindings"))
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
MARKER: Final = "zz-marker"
NEVER: Final = "object.metadata.name == ''"

Obj = dict[str, Any]
_numbers = itertools.count(1)


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
for _name, _constraints in {
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
}.items():
    case(f"match-{_name}", _SAYS, _WARNS, steps=whole(f"match-{_name}"), constraints=_constraints)
    if "matchPolicy" not in _constraints:
        _of = f"match-binding-{_name}"
        case(_of, _SAYS, {**_WARNS, "matchResources": _constraints}, steps=whole(_of))
_NARROW = {"resourceRules": [{"operations": ["UPDATE"], "apiGroups": ["*"], "apiVersions": ["v2"], "resources": ["*"]}]}
case("match-binding-rules", _SAYS, {**_WARNS, "matchResources": _NARROW}, steps=whole("match-binding-rules"))

LIMITED: Final = "object.spec.tables <= int(params.data.most)"
_PARAMS: Final[Obj] = {
    "paramKind": CONFIG_MAP,
    "validations": [
        rule(LIMITED, messageExpression="params.kind + ' ' + params.metadata.name + ' ' + params.data.most")
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
case("params-without-reference", {"paramKind": CONFIG_MAP, "validations": [rule("params != null")]})
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
        "variables": variables(("most", "int(params.data.most)")),
        "validations": [rule("object.spec.tables <= variables.most")],
    },
    {"paramRef": {"name": "policy-three", "parameterNotFoundAction": "Deny"}},
)


def config_map(name: str, most: str, namespace: str = "default", **labels: str) -> Obj:
    """Params."""
    return {
        **CONFIG_MAP,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "data": {"most": most},
    }


PARAMS: Final = [
    config_map("policy-three", "3", **{"policy-params": "yes", "which": "three"}),
    config_map("policy-nine", "9", **{"policy-params": "yes", "which": "nine"}),
    config_map("policy-three", "2", "kube-system"),
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
READER: Final = "policy-params-reader"


@dataclass
class Both:
    """Both sides."""

    admin: Caller
    control_plane: ControlPlane

    def __post_init__(self) -> None:
        self._connection = self.admin.connect()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def send(self, method: str, path: str, body: bytes | None = None, content_type: str = "application/json") -> Answer:
        """Send a request over the connection that all of them share."""
        self._connection.request(method, path, body, {"Content-Type": content_type} if body is not None else {})
        answer = self._connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())

    def register(self, name: str, registered: Case) -> None:
        """Register a policy and its bindings."""
        for where, made in [
            (POLICIES, registered.policy(name)),
            *((BINDINGS, each) for each in registered.bound(name)),
        ]:
            answer = self.send("POST", where, json.dumps(made).encode())
            assert answer.status == 201, answer.message

    def remove(self, name: str, registered: Case) -> None:
        """Delete them."""
        for place in range(len(registered.bindings)):
            self.send("DELETE", f"{BINDINGS}/{name}-{place}")
        self.send("DELETE", f"{POLICIES}/{name}")

    def remove_all(self) -> None:
        """Delete all that tests have registered."""
        for each in (BINDINGS, POLICIES):
            self.send("DELETE", f"{each}?labelSelector={LABEL}")

    def marked(self) -> None:
        """Return once both sides know all that has been registered so far."""
        marker = f"{MARKER}-{next(_numbers)}"
        registered = Case(simple("false"))
        self.register(marker, registered)
        try:
            for group in (OURS, THEIRS):
                until(partial(self._denied, group, marker))
        finally:
            self.remove(marker, registered)

    def _denied(self, group: str, marker: str) -> bool:
        return self.ask(group, posted(marker, query="?dryRun=All"), "marked").status == 422

    def ask(self, group: str, step: Step, name: str) -> Answer:
        """Send one request."""
        fill = partial(filled, group=group, name=name)
        body = None if step.body is None else fill(json.dumps(step.body)).encode()
        return self.send(step.method, fill(step.path), body, step.content_type)

    def play(self, steps: list[Step], group: str, name: str) -> list[Any]:
        """Send requests; what was answered."""
        answers = []
        for step in steps:
            answer = self.ask(group, step, name)
            said = [answer.json, answer.headers.get("Warning")]
            answers.append((answer.status, *neutral(said, group, name)))
        self.send("DELETE", filled(path(rest=f"/{name}"), group=group, name=name))
        return answers


@pytest.fixture(scope="module")
def both(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    directory = tmp_path_factory.mktemp("policies")
    client, keys = control_plane.client, control_plane.certificates
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for made in (*definitions(), LIMITS):
        client.apply(f"{definition}/{made['metadata']['name']}", made)
    signed = user_certificate(authority(keys, "cluster-ca"), "policy-admin", "system:masters")
    admin = Caller(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))
    allow_params(control_plane)
    for each in PARAMS:
        metadata = each["metadata"]
        client.apply(f"/api/v1/namespaces/{metadata['namespace']}/configmaps/{metadata['name']}", each)
    with second.running(control_plane, "tests.kubernetes.cafe:api", directory, "memory:"):
        until(lambda: client.problem(f"/apis/{LIMIT_GROUP}/v1/limits") is None)
        for version in ("v1", "v2"):
            until(lambda version=version: client.problem(f"/apis/{THEIRS}/{version}/{PLURAL}") is None)  # type: ignore[misc]
        limit = {**LIMIT, "metadata": {"name": "two"}, "most": 2}
        client.apply(f"/apis/{LIMIT_GROUP}/v1/limits/two", limit)
        sides = Both(admin, control_plane)
        try:
            for name, registered in CASES.items():
                sides.register(name, registered)
            steady = cafe(tables=4)
            steady["metadata"]["name"] = "steady"
            for group in (OURS, THEIRS):
                assert sides.ask(group, Step("POST", path(), steady), "steady").status == 201
            sides.marked()
            yield sides
        finally:
            sides.remove_all()
            sides.close()
            client.delete(filled(STEADY, group=THEIRS, name=""))
            for each in PARAMS:
                metadata = each["metadata"]
                client.delete(f"/api/v1/namespaces/{metadata['namespace']}/configmaps/{metadata['name']}")
            client.delete(f"{definition}/{LIMITS['metadata']['name']}")
            client.delete(f"{RBAC}/clusterrolebindings/{READER}")
            client.delete(f"{RBAC}/clusterroles/{READER}")


def allow_params(control_plane: ControlPlane) -> None:
    """Let the server read params, as an administrator has to."""
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}
        for group, resource in (("", "configmaps"), (LIMIT_GROUP, "limits"))
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": READER}}
    control_plane.client.apply(f"{RBAC}/clusterroles/{READER}", {**role, "rules": rules})
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": READER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER},
        "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:serviceaccounts"}],
    }
    control_plane.client.apply(f"{RBAC}/clusterrolebindings/{READER}", binding)


@pytest.fixture
def same(both: Both) -> Callable[[list[Step]], list[Any]]:
    """Hold a conversation on both sides; fails if they differ. Returns what was answered."""

    def held(steps: list[Step]) -> list[Any]:
        name = f"p{next(_numbers)}x"
        theirs, ours = both.play(steps, THEIRS, name), both.play(steps, OURS, name)
        for step, their, our in zip(steps, theirs, ours, strict=True):
            assert our == their, f"{step}\nours:   {our}\ntheirs: {their}"
        return ours

    return held


@pytest.mark.parametrize("name", CASES)
def test_each_policy(name: str, same: Callable[[list[Step]], list[Any]]) -> None:
    same(list(CASES[name].steps))
