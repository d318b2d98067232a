"""What the cluster does not let the server do is told with the words of what to apply."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from extapi.client.kube import ResourceName
from extapi.errors import Forbidden
from extapi.server.rights import ClusterClient
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
    asked = client(refusal(), refusal(), Answer(200, {}), refusal())
    assert [len(told(asked.list(NAMESPACES))) for _ in range(2)] == [1, 0]
    run(asked.list(NAMESPACES))
    assert len(told(asked.list(NAMESPACES))) == 1


def test_each_right_is_told() -> None:
    asked = client(refusal(), refusal())
    assert len(told(asked.list(NAMESPACES)) + told(asked.create(TOKENS, {}))) == 2


def test_what_an_author_asks_is_his_own_business() -> None:
    assert told(client(refusal()).list(ResourceName("", "v1", "pods"))) == []
