"""How an operator reaches the server behind a Service: a kubectl command if kubectl finds pods, otherwise words. Pure.

Source: k8s.io/kubectl/pkg/polymorphichelpers (``SelectorsForObject``): pods of a Service are those that its selector finds.
"""

from __future__ import annotations

from extapi.doctor.accounts import selector_of
from extapi.doctor.facts import Facts, text
from extapi.doctor.hooks import HookURL, RegisteredHook
from extapi.doctor.registration import RegisteredService, Registration


def logs(facts: Facts, reference: RegisteredService) -> str:
    """How to see the server's log."""
    elsewhere = _elsewhere(facts, reference)
    if elsewhere:
        return f"look at the log of the server {elsewhere}"
    return f"kubectl logs -n {reference.namespace} service/{reference.name}"


def port_field(facts: Facts, reference: RegisteredService) -> str:
    """The field that says which port of the server kube-apiserver connects to."""
    return "spec.service.port of the APIService" if _external(facts, reference) else "the Service's targetPort"


def connect(facts: Facts, each: Registration | RegisteredHook, reference: RegisteredService | HookURL) -> str:
    """How to let the doctor reach the server."""
    if isinstance(reference, HookURL):
        return f"run extapi doctor where {reference.subject} can be reached, as on a node of the control plane"
    found = facts.services.get((reference.namespace, reference.name))
    if found is not None and found.service.status == 404:
        return "see service.exists"
    elsewhere = _elsewhere(facts, reference)
    if elsewhere:
        return (
            f"run extapi doctor where the server {elsewhere} can be reached, or name an address that leads to it: "
            f"extapi doctor --group {each.group} --connect HOST:PORT"
        )
    return f"{_forward(reference)}, then extapi doctor --group {each.group} --connect 127.0.0.1:8443"


def connection(facts: Facts, reference: RegisteredService) -> str:
    """What ``--connect`` needs to reach the server."""
    elsewhere = _elsewhere(facts, reference)
    return f"let --connect lead to the server {elsewhere}" if elsewhere else f"{_forward(reference)} must be running"


def _forward(reference: RegisteredService) -> str:
    return f"kubectl port-forward -n {reference.namespace} service/{reference.name} 8443:{reference.port}"


def _elsewhere(facts: Facts, reference: RegisteredService) -> str:
    """The place of a server without pods that kubectl could find; empty if it finds some, or if that is unknown."""
    external = _external(facts, reference)
    if external:
        return f"at {external}:{reference.port}"
    found = facts.services.get((reference.namespace, reference.name))
    if found is None or not found.service.found or selector_of(found.service.obj()):
        return ""
    return (
        f"behind the EndpointSlices (kubectl get endpointslices -n {reference.namespace} "
        f"-l kubernetes.io/service-name={reference.name})"
    )


def _external(facts: Facts, reference: RegisteredService) -> str:
    """The name that an ExternalName Service points to; empty for other Services."""
    found = facts.services.get((reference.namespace, reference.name))
    service = found.service.obj() if found is not None and found.service.found else {}
    if text(service, "spec", "type") != "ExternalName":
        return ""
    return text(service, "spec", "externalName") or "(no externalName)"
