from __future__ import annotations

from typing import Any

from extapi.api.policyrule import PolicyRule
from extapi.doctor.accounts import MOST, RIGHTS, accounts_of, needed_rights, review_of
from extapi.doctor.facts import Account, ServiceFacts
from tests.unit.doctor.healthy import pods, reading, service


def behind(pods_: dict[str, Any], deployments: dict[str, Any] | None = None) -> list[str]:
    made = None if deployments is None else reading(deployments)
    facts = ServiceFacts(reading(service()), None, reading(pods_), made)
    return [each.user for each in accounts_of("shop", facts)]


def deployment(account: str | None, **labels: str) -> dict[str, Any]:
    spec = {} if account is None else {"serviceAccountName": account}
    return {"spec": {"template": {"metadata": {"labels": labels}, "spec": spec}}}


def test_that_of_the_pods_or_of_the_deployment_that_makes_them() -> None:
    assert behind(pods()) == ["system:serviceaccount:shop:server"]
    nothing: dict[str, Any] = {"items": []}
    found = [deployment("other", app="other"), deployment("server", app="shop", more="x")]
    assert behind(nothing, {"items": found}) == ["system:serviceaccount:shop:server"]
    assert behind(nothing, {"items": [deployment(None, app="shop")]}) == ["system:serviceaccount:shop:default"]
    assert behind(nothing, nothing) == []


def test_each_once_and_not_too_many() -> None:
    twice = {"items": pods()["items"] * 2}
    assert len(behind(twice)) == 1
    many = {"items": [{"spec": {"serviceAccountName": f"a{number}"}} for number in range(50)]}
    assert len(behind(many)) == MOST


def test_a_review_is_asked_as_kube_apiserver_knows_the_account() -> None:
    asked = review_of(Account("shop", "server"), RIGHTS[2])["spec"]
    assert asked == {
        "user": "system:serviceaccount:shop:server",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
        "resourceAttributes": {
            "verb": "get",
            "resource": "configmaps",
            "namespace": "kube-system",
            "name": "extension-apiserver-authentication",
        },
    }


def test_a_review_of_a_subresource_names_both() -> None:
    (right,) = needed_rights(
        [PolicyRule(api_groups=["apps"], resources=["deployments/status"], verbs=["patch"], resource_names=["a"])]
    )
    assert review_of(Account("shop", "server"), right)["spec"]["resourceAttributes"] == {
        "verb": "patch",
        "group": "apps",
        "resource": "deployments",
        "subresource": "status",
        "name": "a",
    }
