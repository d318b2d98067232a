"""Approval and authorities; texts are those of apiextensions-apiserver/pkg/controller apiapproval and establish."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from extapi.controlplane.customresources.review import approval_condition, established_condition
from tests.unit.controlplane.customresources.plane import definition

REQUIRED = 'protected groups must have approval annotation "api-approved.kubernetes.io"'
SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


@pytest.mark.parametrize(
    ("value", "status", "reason", "message"),
    [
        ("", "False", "MissingAnnotation", f"{REQUIRED}, {SEE}"),
        ("unapproved, experimental", "False", "UnapprovedAnnotation", 'not approved: "unapproved, experimental"'),
        ("https://github.com/k/pull/1", "True", "ApprovedAnnotation", "approved in https://github.com/k/pull/1"),
        *(
            (
                value,
                "False",
                "InvalidAnnotation",
                f'{REQUIRED} with either a URL or a reason starting with "unapproved", {SEE}',
            )
            for value in ("yes", "/path", "https:///path", "://host")
        ),
    ],
)
@pytest.mark.parametrize("group", ["k8s.io", "a.k8s.io", "kubernetes.io", "a.b.kubernetes.io"])
def test_a_group_of_kubernetes_needs_approval(group: str, value: str, status: str, reason: str, message: str) -> None:
    obj = definition(group=group)
    obj["metadata"]["annotations"] = {"api-approved.kubernetes.io": value}
    assert approval_condition(obj) == ("KubernetesAPIApprovalPolicyConformant", status, reason, message)


@pytest.mark.parametrize("group", ["example.com", "ak8s.io", "k8s.io.example.com"])
def test_another_group_needs_none(group: str) -> None:
    assert approval_condition(definition(group=group)) is None


def webhook(bundle: str | None) -> dict[str, Any]:
    obj = definition()
    config = {"url": "https://localhost/x"} | ({} if bundle is None else {"caBundle": bundle})
    obj["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": config}}
    return obj


@pytest.mark.parametrize("bundle", [base64.b64encode(b"no certificate").decode(), "====", "Cg=="])
def test_authorities_that_cannot_be_read_keep_it_from_being_established(bundle: str) -> None:
    text = "The conversion webhook CABundle is invalid"
    assert established_condition(webhook(bundle)) == ("Established", "False", "InvalidCABundle", text)


@pytest.mark.parametrize("bundle", [None, ""])
def test_without_authorities_it_is_established(bundle: str | None) -> None:
    text = "the initial names have been accepted"
    assert established_condition(webhook(bundle)) == ("Established", "True", "InitialNamesAccepted", text)
    assert established_condition(definition()) == ("Established", "True", "InitialNamesAccepted", text)
