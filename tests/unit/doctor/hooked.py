"""Webhooks of a healthy cluster, gathered; tests break a part of one.

The objects have the form in which kube-apiserver 1.36.3 returns them, as far as the checks look at it.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from extapi.doctor.checks import judge
from extapi.doctor.facts import HookCall, HookFacts, Reading
from extapi.doctor.finding import Finding
from extapi.doctor.hookreading import admission_of, conversion_of
from tests.unit.doctor.healthy import CA, GROUP, HEALTHY, reading

NAME = "wares.shop.example.com"
HOOK = f"webhook {NAME} of ValidatingWebhookConfiguration shop"
CONVERSION = f"conversion of CustomResourceDefinition {NAME}"


def config(**changed: Any) -> dict[str, Any]:
    """A ``clientConfig`` that leads to the server; None takes a member away."""
    service = {"namespace": "shop", "name": "server", "port": 443, "path": "/validate/v1/ware"}
    whole = {"service": service, "caBundle": base64.b64encode(CA.pem).decode(), **changed}
    return {key: value for key, value in whole.items() if value is not None}


def rule(*resources: str, group: str = GROUP) -> dict[str, Any]:
    """A rule for all writes of these resources."""
    return {"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"], "resources": list(resources), "scope": "*"}


def configuration(**changed: Any) -> dict[str, Any]:
    """A configuration with one webhook; ``changed``: of this one."""
    hook = {
        "name": NAME,
        "clientConfig": config(),
        "rules": [rule("wares")],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "namespaceSelector": {},
        "objectSelector": {},
        **changed,
    }
    return {"metadata": {"name": "shop"}, "webhooks": [hook]}


def definition(**changed: Any) -> dict[str, Any]:
    """A definition that is converted; ``changed``: its ``clientConfig``."""
    versions = [{"name": "v1alpha1", "served": True}, {"name": "v1", "served": True, "storage": True}]
    spec = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "wares", "kind": "Ware"},
        "versions": versions,
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": config(**changed)}},
    }
    return {"metadata": {"name": NAME}, "spec": spec}


def hook_facts(*configurations: dict[str, Any], **more: Any) -> HookFacts:
    """What was found out about the webhooks of configurations, or of the healthy ones."""
    given = configurations or (configuration(),)
    conversion = conversion_of(definition())
    assert conversion is not None
    hooks = [conversion, *(hook for each in given for hook in admission_of(each, "ValidatingWebhookConfiguration"))]
    namespaces = {name: reading({"metadata": {"labels": {"team": name}}}) for name in ("shop", "kube-system")}
    return HookFacts(**{"lists": [reading()], "hooks": hooks, "namespaces": namespaces, **more})


def found(check: str, subject: str, hooks: HookFacts, **changed: Any) -> list[Finding]:
    """What ``check`` says of a subject."""
    findings = judge(replace(HEALTHY, hooks=hooks, **changed))
    return [each for each in findings if each.check == check and subject in each.subjects]


def one(check: str, subject: str, hooks: HookFacts, **changed: Any) -> Finding:
    """The only such finding."""
    (finding,) = found(check, subject, hooks, **changed)
    return finding


def call(message: str = "", *, status: int = 0, seconds: float = 0.012, admits: bool = True) -> HookCall:
    """A write, or a list in another version, that was answered so."""
    code = status or (500 if message else 200)
    answer: Reading = reading(status=code, text=message, seconds=seconds)
    what = "patch wares" if admits else "list wares in v1alpha1"
    return HookCall(what, converts=not admits, admits=admits, reading=answer)
