"""Expressions of match conditions and admission policies: other variables, in the same language.

The judge compiles and evaluates them as kube-apiserver's admission does (``k8s.io/apiserver/pkg/admission/plugin/cel``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from extapi.admission.expressions.environment import REQUEST as DECLARED
from extapi.schema.cel.declared import declare
from extapi.schema.cel.environment import Variable, base_environment
from extapi.schema.cel.library.authorization import AuthorizerValue, DecisionValue, ResourceCheck
from extapi.schema.cel.types import AUTHORIZER, DYN, RESOURCE_CHECK
from extapi.schema.structural import from_openapi
from tests.differential.cel import engine
from tests.differential.cel.comparison import Comparison
from tests.differential.cel.judge import Answer, Judge

_STRING: Final = {"type": "string"}
_STRINGS: Final = {"type": "array", "items": _STRING}
_DYN: Final = {"x-kubernetes-int-or-string": True}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_NAMESPACE: Final = _object(
    metadata=_object(
        name=_STRING,
        labels={"type": "object", "additionalProperties": _STRING},
        annotations={"type": "object", "additionalProperties": _STRING},
    ),
    spec=_object(finalizers=_STRINGS),
    status=_object(phase=_STRING),
)

OBJECT: Final = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}, "generation": 3},
    "spec": {
        "replicas": 5,
        "template": {
            "spec": {
                "containers": [{"name": "a", "image": "example.com/a:1", "resources": {"limits": {"memory": "1Gi"}}}]
            }
        },
    },
}
OLD: Final = {**OBJECT, "spec": {"replicas": 3}}
PARAMS: Final = {"apiVersion": "example.com/v1", "kind": "Limit", "metadata": {"name": "l"}, "maxReplicas": 4}
REQUEST: Final = {
    "uid": "u",
    "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    "requestKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "requestResource": {"group": "apps", "version": "v1", "resource": "deployments"},
    "name": "web",
    "namespace": "default",
    "operation": "UPDATE",
    "userInfo": {
        "username": "jane",
        "uid": "7",
        "groups": ["system:authenticated", "admins"],
        "extra": {"scope": ["a", "b"]},
    },
    "dryRun": False,
}
NAMESPACE: Final = {
    "metadata": {"name": "default", "labels": {"env": "prod"}},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}

EXPRESSIONS: Final = (
    "object.spec.replicas <= params.maxReplicas",
    "object.spec.replicas > oldObject.spec.replicas",
    "has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'web'",
    "object.metadata.labels.?team.orValue('none')",
    "object.?spec.?paused.orValue(false)",
    "object.spec.template.spec.containers.all(c, c.image.startsWith('example.com/'))",
    "object.spec.template.spec.containers.map(c, c.name)",
    "object.spec.template.spec.containers.filter(c, quantity(c.resources.limits.memory).isGreaterThan(quantity('512Mi'))).size()",
    "object.spec.template.spec.containers.all(c, has(c.securityContext) && c.securityContext.runAsNonRoot)",
    "object.spec.missing == 1",
    "object.spec.missing == 1 || true",
    "object == oldObject",
    "object.metadata == oldObject.metadata",
    "oldObject == null",
    "oldObject != null && object.metadata.generation - oldObject.metadata.generation == 0",
    "object.spec.replicas + 'a' == 'b'",
    "object.spec.replicas / 0 == 1",
    "type(object) == map && type(object.spec.replicas) == int",
    "string(object.spec.replicas) + ' replicas'",
    "request.operation == 'UPDATE'",
    "request.operation in ['CREATE', 'UPDATE'] && request.resource.resource == 'deployments'",
    "request.userInfo.username == 'jane' && 'admins' in request.userInfo.groups",
    "request.userInfo.groups.exists(g, g.startsWith('system:'))",
    "request.userInfo.extra['scope'].size() == 2",
    "request.kind.group + '/' + request.kind.version",
    "has(request.dryRun) && !request.dryRun",
    "has(request.subResource) ? request.subResource : 'none'",
    "request.unknown == 'a'",
    "request.kind.kind == 1",
    "request.userInfo.groups[5]",
    "namespaceObject.metadata.name == 'default'",
    "namespaceObject.metadata.labels['env'] == 'prod'",
    "namespaceObject.metadata.labels.env != 'prod' ? 'no' : 'yes'",
    "namespaceObject.status.phase",
    "namespaceObject.metadata.ownerReferences",
    "params.maxReplicas * 2",
    "params == null || params.maxReplicas > 0",
    "params.missing.value",
    "authorizer.group('apps').resource('deployments').namespace('default').name('web').check('get').allowed()",
    "authorizer.group('').resource('pods').subresource('log').check('delete').reason()",
    "authorizer.path('/healthz').check('get').allowed()",
    "authorizer.path(' ').check('get').allowed()",
    "authorizer.serviceAccount('default', 'sa').group('').resource('secrets').check('get').allowed()",
    "authorizer.serviceAccount('A', 'sa').group('').resource('secrets').check('get').allowed()",
    "authorizer.requestResource.check('get').allowed()",
    "authorizer.requestResource.check('update').errored()",
    "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a').labelSelector('a=b').check('list').allowed()",
    "authorizer.group('').resource('')",
    "authorizer.group(1)",
    "authorizer == authorizer",
    "[1, 2].all(i, authorizer.path('/a').check('get').allowed())",
    "[1, 2, 3, 4].all(i, authorizer.path('/a').check('get').allowed())",
    "object.metadata.name.matches('^[a-z]+$') && !format.dns1123Label().validate(object.metadata.name).hasValue()",
    "self.x",
    "object.",
    "undefined",
)  # fmt: skip


MUTATIONS: Final = (
    "Object{}",
    "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}.spec.replicas",
    "Object{}.x",
    "Object{}.a.b",
    "Object{spec: Object.spec{b: 1}}.spec.c",
    "has(Object{a: 1}.a)",
    "has(Object{a: 1}.b)",
    "has(Object{a: Object.a{b: 1}}.a.c)",
    "Object{a: 1} == Object{a: 1}",
    "Object{a: 1} == Object{a: 1.0}",
    "Object{a: [1]} == Object{a: [1]}",
    "Object{a: {'b': 1}} == Object{a: {'b': 1}}",
    "Object{a: object.metadata} == Object{a: object.metadata}",
    "Object{a: 1} in [Object{a: 1}]",
    "Object.spec{} == Object{}",
    "[Object.a{}, Object.b{}]",
    "[Object{a: 1}].all(o, o.a == 1)",
    "[1].map(x, Object{a: x})[0].a",
    "(true ? Object{a: 1} : Object{}).a",
    "true ? Object{} : Object.spec{}",
    "dyn(Object{a: 1}).a",
    "Object{?a: optional.none()}",
    "Object{a: 1}.?a.hasValue()",
    "optional.of(Object{a: 1}).?a.hasValue()",
    "optional.ofNonZeroValue(Object{}).hasValue()",
    "Object",
    "Object.spec",
    "Objects{}",
    "string(Object{})",
    "size(Object{})",
    "JSONPatch{op: 'add', path: '/spec', value: 3}",
    "JSONPatch{op: 1}",
    "JSONPatch{op: null}",
    "JSONPatch{foo: 1}",
    "JSONPatch{foo: dyn(1)}",
    "JSONPatch{op: object.spec.replicas}",
    "JSONPatch{path: object.spec}",
    "JSONPatch{op: 'x'}.op",
    "JSONPatch{op: 'x'}.value",
    "JSONPatch{}.from",
    "has(JSONPatch{op: 'x'}.from)",
    "has(JSONPatch{value: null}.value)",
    "JSONPatch{op: 'a', value: [1]} == JSONPatch{op: 'a', value: [1.0]}",
    "JSONPatch{op: 'add'} == Object{}",
    "jsonpatch.escapeKey('a~/b')",
    "jsonpatch.escapeKey(object.metadata.name)",
    "jsonpatch.escapeKey(1)",
    "jsonpatch.escapeKey(dyn(1))",
)
"""What expressions of a MutatingAdmissionPolicy make."""
_MADE: Final = frozenset({"JSONPatch", "Object"})


class _Permits:
    """Allows the verb get, as the judge does."""

    def service_account(self, namespace: str, name: str) -> _Permits:
        return self

    def check_path(self, path: str, verb: str) -> DecisionValue:
        return DecisionValue(allowed=verb == "get", reason=f"verb {verb}" if verb == "get" else "not the verb get")

    def check_resource(self, check: ResourceCheck, verb: str) -> DecisionValue:
        return self.check_path("", verb)


def _ours(text: str, *, makes_patches: bool) -> Answer:
    request, namespace = (declare(from_openapi(each)) for each in (DECLARED, _NAMESPACE))
    assert request is not None
    assert namespace is not None
    permits = _Permits()
    bound = {
        Variable("object", DYN): OBJECT,
        Variable("oldObject", DYN): OLD,
        Variable("namespaceObject", namespace.type, namespace): NAMESPACE,
        Variable("request", request.type, request): REQUEST,
        Variable("params", DYN): PARAMS,
        Variable("authorizer", AUTHORIZER): AuthorizerValue(permits),
        Variable("authorizer.requestResource", RESOURCE_CHECK): ResourceCheck(
            permits, "apps", "deployments", "", "default", "web"
        ),
    }
    environment = base_environment().with_variables(tuple(bound))
    if makes_patches:
        environment = environment.with_patches()
    answer, compiled = engine.compiled(text, environment)
    if compiled is None:
        error = answer["error"]
        return {**answer, "error": error if error.startswith("program ") else f"compilation failed: {error}"}
    found = compiled.evaluate(tuple(bound.values()))
    answer["cost"] = found.cost
    if found.error is None:
        answer["value"] = engine.shown(found.value)
    else:
        answer["evaluationError"] = str(found.error)
    return answer


def _requests() -> Iterator[dict[str, Any]]:
    for text in (*EXPRESSIONS, *MUTATIONS):
        yield {
            "op": "policy",
            "text": text,
            "policy": {
                "object": OBJECT,
                "old": OLD,
                "params": PARAMS,
                "hasParams": True,
                "request": REQUEST,
                "namespace": NAMESPACE,
                "authorizer": True,
                "patch": text in MUTATIONS,
            },
        }


def compared(judge: Judge) -> Comparison:
    """All of them."""
    comparison = Comparison("policies")
    for text, theirs in zip((*EXPRESSIONS, *MUTATIONS), judge.ask(_requests()), strict=True):
        if "failure" in theirs:
            raise RuntimeError(f"{text}: {theirs}")
        try:
            ours = _ours(text, makes_patches=text in MUTATIONS)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a difference
            ours = {"error": f"crash {type(error).__name__}: {error}", "cost": 0}
        if not comparison.note("error text", text, text, theirs.get("error"), ours.get("error")) or "error" in theirs:
            continue
        comparison.note("type", text, text, theirs["type"], ours["type"])
        failed = theirs.get("evaluationError", "").removeprefix(f"expression '{text}' resulted in error: ")
        comparison.note("evaluation error", text, text, failed, ours.get("evaluationError", ""))
        theirs["value"] = engine.like(theirs.get("value"))
        if theirs["value"] and theirs["value"][0] in _MADE:  # the judge does not see what is in them
            theirs["value"], ours["value"] = theirs["value"][0], (ours.get("value") or [""])[0]
        comparison.note("value", text, text, theirs["value"], ours.get("value"))
        if "evaluationError" not in theirs:
            comparison.note("cost", text, text, theirs["cost"], ours["cost"])
    return comparison
