"""``webhook.deadlock``: a webhook without which its own server, or the control plane, cannot come back. Pure.

With ``failurePolicy: Fail``, what a webhook matches cannot be written while its server is down. If that is what the server needs to
start, nobody can start it: its pods, the Leases by which it and the control plane work, the EndpointSlices that lead to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from extapi.admission.matching.rules import Subject
from extapi.doctor.accounts import deployments_behind
from extapi.doctor.facts import Facts, member
from extapi.doctor.finding import Finding, error, ok, warning
from extapi.doctor.hooks import RegisteredHook
from extapi.errors import ApiError

CHECK = "webhook.deadlock"
SYSTEM = "kube-system"
_NAME = "kubernetes.io/metadata.name"
_PODS = Subject("CREATE", "", "v1", "pods", "", namespaced=True)
_NEEDED = (
    _PODS,
    Subject("UPDATE", "", "v1", "pods", "status", namespaced=True),
    Subject("CREATE", "apps", "v1", "replicasets", "", namespaced=True),
    Subject("UPDATE", "discovery.k8s.io", "v1", "endpointslices", "", namespaced=True),
    Subject("UPDATE", "coordination.k8s.io", "v1", "leases", "", namespaced=True),
)


def deadlocks(facts: Facts) -> Iterator[Finding]:
    """Judge each webhook of admission whose failure fails writes."""
    for each in facts.hooks.hooks:
        if not each.name or not each.fails:
            continue
        own = each.service.namespace if each.service is not None else ""
        found = [*_own(each, own, facts), *([] if own == SYSTEM else _system(each, own, facts))]
        yield from found or [ok(CHECK, each.subject, "it matches nothing that its server needs")]


def _own(each: RegisteredHook, namespace: str, facts: Facts) -> Iterator[Finding]:
    needed = _matched(each, namespace, facts) if namespace else []
    if not needed:
        return
    saw = f"failurePolicy Fail, and its rules match {', '.join(map(_told, needed))} in its own namespace {namespace}"
    wrong = "while its server is down, kube-apiserver refuses what the server needs to come back"
    yield _finding(each, saw, wrong, [namespace])


def _system(each: RegisteredHook, own: str, facts: Facts) -> Iterator[Finding]:
    needed = _matched(each, SYSTEM, facts)
    if not needed:
        return
    values = [*([own] if own else []), SYSTEM]
    yield warning(
        CHECK,
        each.subject,
        saw=f"failurePolicy Fail, and its rules match {', '.join(map(_told, needed))} in {SYSTEM}",
        wrong="while its server is down, the cluster's own components there cannot start, and lose their Leases",
        do=_exclude(each, values),
    )


def _finding(each: RegisteredHook, saw: str, wrong: str, values: list[str]) -> Finding:
    if each.conditions:
        wrong += ", unless its matchConditions leave that out"
        return warning(CHECK, each.subject, saw=saw, wrong=wrong, do=_exclude(each, values))
    return error(CHECK, each.subject, saw=saw, wrong=wrong, do=_exclude(each, values))


def _exclude(each: RegisteredHook, values: list[str]) -> str:
    expression = f"{{key: {_NAME}, operator: NotIn, values: [{', '.join(values)}]}}"
    return f"leave the namespace out: {each.path}.namespaceSelector of {each.owner}, matchExpressions: [{expression}]"


def _matched(each: RegisteredHook, namespace: str, facts: Facts) -> list[Subject]:
    """What of the needed writes in a namespace the webhook is asked about."""
    reading = facts.hooks.namespaces.get(namespace)
    labels: Any = member(reading.obj(), "metadata", "labels") if reading is not None and reading.found else None
    if not _selected(each.namespaces, {_NAME: namespace} | (labels if isinstance(labels, dict) else {})):
        return []
    pods = _pod_labels(each, facts)
    return [
        subject
        for subject in _NEEDED
        if any(rule.matches(subject, subject.version) for rule in each.rules)
        # Of other objects no labels are known here.
        and (each.objects.empty or (subject.resource == "pods" and any(_selected(each.objects, one) for one in pods)))
    ]


def _pod_labels(each: RegisteredHook, facts: Facts) -> list[Mapping[str, str]]:
    """The labels of the pods behind the webhook's Service, or of those that its Deployments would create."""
    found = facts.services.get((each.service.namespace, each.service.name)) if each.service is not None else None
    if found is None:
        return []
    pods = found.pods.items() if found.pods is not None else []
    labels = [member(pod, "metadata", "labels") for pod in pods]
    labels += [member(one, "spec", "template", "metadata", "labels") for one in deployments_behind(found)]
    return [each for each in labels if isinstance(each, dict)]


def _selected(selector: Any, labels: Mapping[str, str]) -> bool:
    try:
        return bool(selector.matches(labels))
    except ApiError:
        return True  # kube-apiserver refuses every request then


def _told(subject: Subject) -> str:
    resource = f"{subject.resource}/{subject.subresource}" if subject.subresource else subject.resource
    return f"{subject.operation} {resource}"
