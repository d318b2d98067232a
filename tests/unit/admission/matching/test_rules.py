"""Rules on operations and resources.

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules`` rules_test.go has the same cases.
"""

from __future__ import annotations

from typing import Any

import pytest

from extapi.admission.matching.rules import RuleWithOperations, Subject, is_exempt, matching_version

PODS = Subject("CREATE", "", "v1", "pods", "", namespaced=True)


def rule(**members: Any) -> RuleWithOperations:
    all_ = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    return RuleWithOperations({**all_, **members})


@pytest.mark.parametrize(
    ("members", "matches"),
    [
        ({}, True),
        ({"operations": ["UPDATE"]}, False),
        ({"operations": ["UPDATE", "CREATE"]}, True),
        ({"operations": []}, False),
        ({"apiGroups": [""]}, True),
        ({"apiGroups": ["apps"]}, False),
        ({"apiVersions": ["v1"]}, True),
        ({"apiVersions": ["v2"]}, False),
        ({"resources": ["pods"]}, True),
        ({"resources": ["pods/status"]}, False),
        ({"resources": ["pods/*"]}, True),
        ({"resources": ["*/*"]}, True),
        ({"resources": ["*/status"]}, False),
        ({"resources": []}, False),
        ({"scope": "*"}, True),
        ({"scope": "Namespaced"}, True),
        ({"scope": "Cluster"}, False),
        ({"scope": "Other"}, False),
        ({"operations": None}, False),
        ({"resources": "pods"}, False),
        ({"resources": [1, "pods"]}, True),
    ],
)
def test_a_rule(members: dict[str, Any], matches: bool) -> None:
    assert rule(**members).matches(PODS, "v1") is matches


@pytest.mark.parametrize(
    ("resource", "matches"),
    [("pods", False), ("pods/status", True), ("*", False), ("*/status", True), ("*/*", True), ("pods/*", True)],
)
def test_a_subresource(resource: str, matches: bool) -> None:
    assert rule(resources=[resource]).matches(PODS._replace(subresource="status"), "v1") is matches


def test_namespaces_are_in_no_namespace() -> None:
    subject = PODS._replace(resource="namespaces")
    assert rule(scope="Cluster").matches(subject, "v1")
    assert not rule(scope="Namespaced").matches(subject, "v1")
    assert rule(scope="Namespaced").matches(subject._replace(group="apps"), "v1")
    assert rule(scope="Cluster").matches(PODS._replace(namespaced=False), "v1")


def test_other_versions_of_a_resource_count_if_they_are_equivalent() -> None:
    subject = PODS._replace(group="a.test", equivalents=("v1", "v2", "v3"))
    third, second = rule(apiVersions=["v3"]), rule(apiVersions=["v2"])
    assert matching_version([third, second], subject, equivalent=True) == "v3"
    assert matching_version([second, third], subject, equivalent=True) == "v2"
    assert matching_version([third, rule(apiVersions=["v1"])], subject, equivalent=True) == "v1"
    assert matching_version([second, third], subject, equivalent=False) is None
    assert matching_version([rule(apiVersions=["v7"])], subject, equivalent=True) is None


def test_the_kinds_that_configure_admission_are_exempt() -> None:
    assert is_exempt("admissionregistration.k8s.io", "MutatingWebhookConfiguration")
    assert is_exempt("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding")
    assert not is_exempt("admissionregistration.k8s.io", "Other")
    assert not is_exempt("a.test", "MutatingWebhookConfiguration")
