"""Policies whose expressions do not fit the types that they are about, for type checking."""

from __future__ import annotations

from typing import Any

GROUP = "types.policies.test"
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"ovens.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "ovens", "singular": "oven", "kind": "Oven"},
        "versions": [
            {
                "name": version,
                "served": True,
                "storage": version == "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["heat"],
                                "properties": {
                                    "heat": {"type": heat},
                                    "since": {"type": "string", "format": "date-time"},
                                    "open": {"x-kubernetes-int-or-string": True},
                                    "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "trays": {
                                        "type": "array",
                                        "items": {"type": "object", "properties": {"size": {"type": "number"}}},
                                    },
                                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                                    "namespace": {"type": "boolean"},
                                },
                            }
                        },
                    }
                },
            }
            for version, heat in (("v1", "integer"), ("v1beta1", "string"))
        ],
    },
}
CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
OVENS = {"apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["ovens"]}
BOTH = {**OVENS, "apiVersions": ["v1", "v1beta1"]}
EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "fields": ("object.spec.nothing == 1", "object.nothing", "oldObject.spec.heat == 'a'", "object.spec.heat == 1", "has(object.spec.nothing)"),
    "types": ("object.spec.heat", "object.spec.trays[0].size == 'a'", "object.spec.labels.a == 1", "object.spec.labels['a'] == 'b'", "object.spec.trays.all(t, t.size > 1.0 && t.nothing)"),
    "metadata": ("object.metadata.name == 1", "object.metadata.labels['a'] == 'b'", "object.metadata.nothing", "object.kind == 'Oven'", "object.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')", "object.metadata.creationTimestamp == 'a'"),
    "formats": ("object.spec.since == 'a'", "object.spec.open == 1", "object.spec.open == 'a'", "object.spec.anything.x", "object.spec.anything == 1", "object.spec.__namespace__", "object.spec.namespace == 1"),
    "objects": ("object == oldObject", "object.spec == 1", "object.spec == oldObject.spec", "object == null", "object.spec.trays == [1]", "type(object.spec.heat) == string"),
    "checks": ("authorizer.requestResource.check('get').allowed()", "authorizer.path('/').check('get').allowed()"),
}  # fmt: skip


def policy(name: str, *rules: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A policy that is bound nowhere."""
    constraints = {"resourceRules": [{"operations": ["CREATE"], **each} for each in rules]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": f"{name}.{GROUP}"},
        "spec": {"matchConstraints": constraints, **spec},
    }


def _checked(*expressions: str) -> list[dict[str, str]]:
    """Validations: as long as nothing is known of types, they compile."""
    return [{"expression": each} for each in expressions]


POLICIES: tuple[dict[str, Any], ...] = (
    *(
        policy(name, OVENS, validations=[{"expression": f"dyn({each}) == true"} for each in texts])
        for name, texts in EXPRESSIONS.items()
    ),
    policy("versions", BOTH, validations=_checked("object.spec.heat == 1", "object.spec.heat == 'a'", "object.spec.nothing == 1")),
    policy("kinds", CONFIG_MAPS, BOTH, validations=_checked("object.spec.heat == 1", "object.data.a == 'b'", "object.metadata.name == 'a'")),
    policy("wildcards", {**OVENS, "apiVersions": ["*"]}, validations=_checked("object.nothing == 1")),
    policy("subresources", {**OVENS, "resources": ["ovens/status"]}, validations=_checked("object.nothing == 1")),
    policy("unknown", {**OVENS, "resources": ["fridges"]}, {**OVENS, "apiVersions": ["v2"]}, validations=_checked("object.nothing == 1")),
    policy("singular", {**OVENS, "resources": ["oven"]}, {**CONFIG_MAPS, "resources": ["ConfigMaps"]}, validations=_checked("object.nothing == 1")),
    policy("other-groups", {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["leases", "events", "ovens"]}, validations=_checked("object.spec.leaseDurationSeconds == 'a'", "object.nothing == 1")),
    policy("messages", OVENS, validations=[{"expression": "true", "messageExpression": "'a' + object.spec.nothing"}, {"expression": "object.a == 1", "messageExpression": "'a' + object.spec.heat"}, {"expression": "true", "messageExpression": "string(object.spec.heat)"}]),
    policy("variables", OVENS, variables=[{"name": "h", "expression": "object.spec.heat"}, {"name": "n", "expression": "object.spec.nothing"}, {"name": "t", "expression": "object.spec.trays"}, {"name": "o", "expression": "object"}, {"name": "s", "expression": "object.spec"}], validations=_checked("variables.h == 'a'", "variables.n == 'a'", "variables.t[0].size == 'a'", "variables.o.nothing == 1", "variables.s.nothing == 1", "variables.h == 1")),
    policy("params", OVENS, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, validations=_checked("params.data.a == 1", "params.nothing == 1", "params.data.a == object.spec.heat", "params.data == oldObject.spec.labels")),
    policy("same-params", CONFIG_MAPS, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, validations=_checked("params.data == object.data", "params == object", "params.metadata == object.metadata")),
    policy("unknown-params", OVENS, paramKind={"apiVersion": "v9", "kind": "Nothing"}, validations=_checked("params.a == 1", "object.nothing == 1")),
    policy("annotations", OVENS, auditAnnotations=[{"key": "a", "valueExpression": "string(object.nothing)"}], matchConditions=[{"name": "a", "expression": "object.nothing == 1"}]),
    policy("own-kinds", {"apiGroups": ["rbac.authorization.k8s.io"], "apiVersions": ["v1"], "resources": ["roles", "rolebindings", "clusterroles"]}, validations=_checked("object.rules.all(r, r.verbs == 'a')", "object.roleRef.name == 1")),
    policy("core-kinds", {**CONFIG_MAPS, "resources": ["services", "namespaces", "serviceaccounts"]}, validations=_checked("object.spec.ports[0].targetPort == 1", "object.spec.clusterIP == 1", "object.data.a == 1", "object.status.phase == 1")),
    policy("itself", {"apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["v1"], "resources": ["validatingadmissionpolicies", "mutatingwebhookconfigurations"]}, validations=_checked("object.spec.validations[0].expression == 1", "object.webhooks[0].rules[0].scope == 1", "object.status.typeChecking.expressionWarnings[0].nothing == 1")),
)  # fmt: skip
