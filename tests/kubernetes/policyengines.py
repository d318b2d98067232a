"""The webhooks of Gatekeeper and Kyverno as these register them, and answers as theirs.

From their facts: Gatekeeper 3's manifest, and what Kyverno 1's controller registers for a policy that names a kind, and for
one of every kind. Names, paths, rules, policies, selectors, side effects and times are theirs; the address is the test's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.webhooks.admission import adds, encoded, review
from tests.webhooks.answers import http
from tests.webhooks.server import Answer, Call

Obj = dict[str, Any]
IGNORED = "admission.gatekeeper.sh/ignore"
"""Gatekeeper looks at no namespace with this label."""
_SEEN = {"matchExpressions": [{"key": IGNORED, "operator": "DoesNotExist"}]}
_NOT_SYSTEM = {
    "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [name]}
        for name in ("kube-system", "kyverno")
    ]
}


def _rule(operations: str, groups: str, versions: str, resources: str, **more: Any) -> Obj:
    return {
        "operations": operations.split(),
        "apiGroups": groups.split(),
        "apiVersions": versions.split(),
        "resources": resources.split(),
        **more,
    }


def _gatekeeper(name: str, path: str, rule: Obj, **more: Any) -> Obj:
    return {
        "name": f"{name}.gatekeeper.sh",
        "path": path,
        "rules": [rule],
        "admissionReviewVersions": ["v1", "v1beta1"],
        "failurePolicy": "Ignore",
        "matchPolicy": "Exact",
        "sideEffects": "None",
        **more,
    }


_ANYTHING = _rule("CREATE UPDATE", "*", "*", "*")
GATEKEEPER_MUTATING = [_gatekeeper("mutation", "v1/mutate", _ANYTHING, timeoutSeconds=1, namespaceSelector=_SEEN)]
GATEKEEPER_VALIDATING = [
    _gatekeeper("validation", "v1/admit", _ANYTHING, timeoutSeconds=3, namespaceSelector=_SEEN),
    _gatekeeper(
        "check-ignore-label",
        "v1/admitlabel",
        {**_ANYTHING, "apiGroups": [""], "resources": ["namespaces"]},
        timeoutSeconds=3,
        failurePolicy="Fail",
    ),
]


def _kyverno(what: str, policy: str, rules: list[Obj], **more: Any) -> Obj:
    return {
        "name": f"{what}.kyverno.svc-{policy.lower()}",
        "path": f"{what}/{policy.lower()}",
        "rules": rules,
        "admissionReviewVersions": ["v1"],
        "failurePolicy": policy,
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": 10,
        "namespaceSelector": _NOT_SYSTEM,
        **more,
    }


def kyverno(groups: str, resources: str) -> tuple[list[Obj], list[Obj]]:
    """The mutating and the validating webhooks for policies that enforce: of v1 of a kind with its subresources, and of all.

    Those of every kind only look on, so that nothing else of the cluster is changed.
    """
    named = _rule("CREATE UPDATE", groups, "v1", resources, scope="Namespaced")
    deleted = {**named, "operations": ["CREATE", "UPDATE", "DELETE", "CONNECT"]}
    everything = _rule("CREATE UPDATE DELETE CONNECT", "*", "*", "*/*", scope="*")
    mutating = [_kyverno("mutate", "Fail", [named], matchPolicy="Equivalent", reinvocationPolicy="IfNeeded")]
    validating = [
        _kyverno("validate", "Fail", [deleted], matchPolicy="Equivalent"),
        _kyverno("validate", "Ignore", [everything], matchPolicy="Equivalent"),
    ]
    return mutating, validating


def _about(kind: str, answer: Answer) -> Answer:
    """Others than objects of the kind are allowed."""

    def said(call: Call) -> bytes | None:
        return answer(call) if call.review["request"]["kind"]["kind"] == kind else http(json.dumps(review(call)))

    return said


def _denied(code: int | None, message: str, **status: Any) -> Answer:
    """Objects that are labelled ``bad`` are refused; all others are allowed, with a warning."""

    def said(call: Call) -> bytes:
        labels = ((call.review["request"]["object"] or {}).get("metadata") or {}).get("labels") or {}
        if "bad" not in labels:
            return http(json.dumps(review(call, warnings=[f"[audit] {message}"])))
        found = {"metadata": {}, "message": message, **status, **({"code": code} if code else {})}
        return http(json.dumps(review(call, allowed=False, status=found)))

    return said


def _labelled(label: str) -> Answer:
    """The label is added, unless it is there."""

    def said(call: Call) -> bytes:
        obj = call.review["request"]["object"]
        if not obj or label in (labels := obj.get("metadata", {}).get("labels") or {}):
            return http(json.dumps(review(call)))
        patch = [adds("/metadata/labels", {**labels, label: "yes"})]
        return http(json.dumps(review(call, patch=encoded(patch), patchType="JSONPatch")))

    return said


ANSWERS: Mapping[str, Answer] = {
    "v1/mutate": _about("Cafe", _labelled("assigned")),
    "v1/admit": _about("Cafe", _denied(403, "[no-bad-cafes] the cafe is bad", reason="Forbidden")),
    "v1/admitlabel": _about("Namespace", lambda call: http(json.dumps(review(call)))),
    "mutate/fail": _about("Cafe", _labelled("mutated")),
    "validate/fail": _about(
        "Cafe",
        _denied(
            None,
            "\n\nresource Cafe/default was blocked due to the following policies \n\n"
            "no-bad-cafes:\n  check: 'validation error: the cafe is bad. rule check failed at path\n    /metadata/labels/'\n",
            status="Failure",
        ),
    ),
    "validate/ignore": lambda call: http(json.dumps(review(call))),
}
"""By path."""
