"""The service accounts behind a Service, and the rights that such an account needs. Pure.

Source of the rights: "Set up an extension API server" in the Kubernetes documentation; namespaces for NamespaceLifecycle, and configurations
of webhooks for the plugins that ask these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from extapi.api.policyrule import PolicyRule
from extapi.doctor.facts import Account, Obj, Right, ServiceFacts, member, text

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
MOST = 4
"""Accounts per Service that are looked at; one is usual."""

TOKEN_REVIEWS = (Right("create", "authentication.k8s.io", "tokenreviews"),)
ACCESS_REVIEWS = (Right("create", "authorization.k8s.io", "subjectaccessreviews"),)
CONFIG_MAP = tuple(
    Right(verb, "", "configmaps", "kube-system", "extension-apiserver-authentication")
    for verb in ("get", "list", "watch")
)
NAMESPACES = tuple(Right(verb, "", "namespaces") for verb in ("get", "list", "watch"))
WEBHOOKS = tuple(
    Right(verb, "admissionregistration.k8s.io", resource)
    for resource in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    for verb in ("list", "watch")
)
POLICIES = tuple(
    Right(verb, "admissionregistration.k8s.io", resource)
    for resource in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    )
    for verb in ("list", "watch")
)
RIGHTS = (*TOKEN_REVIEWS, *ACCESS_REVIEWS, *CONFIG_MAP, *NAMESPACES, *WEBHOOKS, *POLICIES)
"""The rights that every server needs."""


def needed_rights(rules: Sequence[PolicyRule]) -> tuple[Right, ...]:
    """The rights that ``Api(needs=[...])`` asks for, one by one."""
    found = [
        Right(verb, group, resource, name=name)
        for rule in rules
        for group in rule.api_groups
        for resource in rule.resources
        for verb in rule.verbs
        for name in rule.resource_names or ("",)
    ]
    return tuple(dict.fromkeys(found))


def accounts_of(namespace: str, facts: ServiceFacts) -> list[Account]:
    """The accounts of the pods behind a Service, or of the Deployments that would create them."""
    names = [text(each, "spec", "serviceAccountName") for each in facts.pods.items()] if facts.pods else []
    if not names and facts.deployments:
        names = [text(each, "spec", "template", "spec", "serviceAccountName") for each in deployments_behind(facts)]
    # kube-apiserver writes "default" into pods, not into the templates of Deployments.
    return [Account(namespace, name or "default") for name in dict.fromkeys(names)][:MOST]


def deployments_behind(facts: ServiceFacts) -> Iterator[Obj]:
    """The Deployments whose pods a Service would select."""
    wanted = selector_of(facts.service.obj())
    for each in facts.deployments.items() if facts.deployments else ():
        labels = member(each, "spec", "template", "metadata", "labels")
        if isinstance(labels, dict) and wanted.items() <= labels.items():
            yield each


def selector_of(service: Obj) -> dict[str, str]:
    """The labels that a Service selects pods by; empty: none."""
    found = member(service, "spec", "selector")
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def review_of(account: Account, right: Right) -> dict[str, Any]:
    """The SubjectAccessReview that asks whether an account has a right.

    Groups: as kube-apiserver gives them to service accounts (k8s.io/apiserver/pkg/authentication/serviceaccount).
    """
    attributes = {name: getattr(right, name) for name in ("verb", "group", "namespace", "name")}
    attributes["resource"], _, attributes["subresource"] = right.resource.partition("/")
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{account.namespace}", "system:authenticated"]
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": account.user,
            "groups": groups,
            "resourceAttributes": {name: value for name, value in attributes.items() if value},
        },
    }
