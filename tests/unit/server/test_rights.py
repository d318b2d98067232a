"""What the cluster does not let the server do is told with the words of what to apply."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from structlog.testing import capture_logs

from extapi.client.kube import ResourceName
from extapi.errors import Forbidden
from extapi.server.rights import AuthorsClient, ClusterClient
from tests.unit.client.building import run
from tests.unit.client.kubernetes import Answer, Kubernetes, status

ACCOUNT = 'User "system:serviceaccount:restaurant:pizza" cannot do it'
TOKENS = ResourceName("authentication.k8s.io", "v1", "tokenreviews")
ACCESS = ResourceName("authorization.k8s.io", "v1", "subjectaccessreviews")
NAMESPACES = ResourceName("", "v1", "namespaces")
CONFIGMAPS = ResourceName("", "v1", "configmaps")


def client(*answers: Any) -> ClusterClient:
    left = list(answers)
    return ClusterClient(Kubernetes(lambda _: left.pop(0)), user_agent="test")


def refusal() -> Any:
    return status(403, "Forbidden", ACCOUNT)


def told(call: Any) -> list[str]:
    """The advice of each line."""
    with capture_logs() as lines, pytest.raises(Forbidden):
        run(call)
    assert all(line["log_level"] == "error" and ACCOUNT in line["reason"] for line in lines)
    return [line["usually_fixed_by"] for line in lines]


@pytest.mark.parametrize("resource", [TOKENS, ACCESS])
def test_reviews_need_the_delegator(resource: ResourceName) -> None:
    (advice,) = told(client(refusal()).create(resource, {}))
    assert advice == (
        "kubectl create clusterrolebinding extension-server:auth-delegator --clusterrole=system:auth-delegator"
        " --serviceaccount=restaurant:pizza"
    )


def test_namespaces_need_a_role() -> None:
    (advice,) = told(client(refusal()).list(NAMESPACES))
    assert "--verb=get,list,watch --resource=namespaces" in advice
    assert advice.endswith("--clusterrole=extension-server --serviceaccount=restaurant:pizza")
    (again,) = told(client(refusal()).get(NAMESPACES, "default"))
    (watch,) = told(client(refusal()).watch(NAMESPACES, query={"resourceVersion": "1"}))
    assert advice == again == watch


def test_the_configmap_needs_the_reader() -> None:
    (advice,) = told(client(refusal()).watch(CONFIGMAPS, namespace="kube-system"))
    assert "--role=extension-apiserver-authentication-reader" in advice
    assert "-n kube-system" in advice


def test_it_is_told_once_until_it_works_again() -> None:
    asked = client(refusal(), refusal(), Answer(200, {"items": []}), refusal())
    assert [len(told(asked.list(NAMESPACES))) for _ in range(2)] == [1, 0]
    run(asked.list(NAMESPACES))
    assert len(told(asked.list(NAMESPACES))) == 1


def test_each_right_is_told() -> None:
    asked = client(refusal(), refusal())
    assert len(told(asked.list(NAMESPACES)) + told(asked.create(TOKENS, {}))) == 2


def test_what_it_does_not_ask_itself_has_no_command() -> None:
    assert told(client(refusal()).list(ResourceName("", "v1", "pods"))) == []


# -- what an author's code asks

PODS = ResourceName("", "v1", "pods")
DEPLOYMENTS = ResourceName("apps", "v1", "deployments")
RBAC = 'User "system:serviceaccount:restaurant:pizza" cannot VERB resource "R" in API group "" at the cluster scope'


def authors(*answers: Any) -> AuthorsClient:
    left = list(answers)
    return AuthorsClient(Kubernetes(lambda _: left.pop(0)), user_agent="test")


def denied() -> Any:
    return status(403, "Forbidden", f"it is forbidden: {RBAC}")


@pytest.mark.parametrize(
    ("call", "group", "resource", "verbs"),
    [
        (lambda asked: asked.get(PODS, "a", namespace="b"), "", "pods", ["get"]),
        (lambda asked: asked.list(PODS), "", "pods", ["list", "watch"]),
        (lambda asked: asked.watch(PODS), "", "pods", ["list", "watch"]),
        (lambda asked: asked.create(DEPLOYMENTS, {}, namespace="b"), "apps", "deployments", ["create"]),
        (lambda asked: asked.update(DEPLOYMENTS, "a", {}), "apps", "deployments", ["update"]),
        (lambda asked: asked.patch(PODS, "a", {}, subresource="status"), "", "pods/status", ["patch"]),
        (lambda asked: asked.delete(PODS, "a", namespace="b"), "", "pods", ["delete"]),
        (lambda asked: asked.delete(PODS, namespace="b"), "", "pods", ["deletecollection"]),
    ],
)
def test_the_rule_that_is_missing_is_named(call: Any, group: str, resource: str, verbs: list[str]) -> None:
    with capture_logs() as lines, pytest.raises(Forbidden) as caught:
        run(call(authors(denied())))
    (line,) = lines
    rule = f'PolicyRule(api_groups=["{group}"], resources=["{resource}"], verbs={json.dumps(verbs)})'
    assert f"Declare it with Api(needs=[{rule}]), then apply what 'extapi manifests' renders" in line["fixed_by"]
    assert caught.value.__notes__ == [f"The server's account lacks a right in the cluster. {line['fixed_by']}"]
    (parsed,) = yaml.safe_load(line["rule"])
    assert parsed == {"apiGroups": [group], "resources": [resource], "verbs": verbs}
    assert str(caught.value) == f"it is forbidden: {RBAC}"  # a client that is shown it sees no more than this


def test_a_rule_is_told_once() -> None:
    asked = authors(denied(), denied(), denied())
    with capture_logs() as lines:
        for call in (asked.get(PODS, "a"), asked.get(PODS, "b"), asked.get(DEPLOYMENTS, "a")):
            with pytest.raises(Forbidden):
                run(call)
    assert len(lines) == 2


@pytest.mark.parametrize(
    "message",
    ['pods "a" is forbidden: exceeded quota: q', 'namespaces "a" is forbidden: this namespace may not be deleted'],
)
def test_what_admission_refuses_lacks_no_right(message: str) -> None:
    with capture_logs() as lines, pytest.raises(Forbidden) as caught:
        run(authors(status(403, "Forbidden", message)).create(PODS, {}, namespace="b"))
    assert lines == []
    assert not hasattr(caught.value, "__notes__")
