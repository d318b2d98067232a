"""Which rights to a Lease the flags of the pods ask for."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Api
from extapi.doctor.facts import Right, ServiceFacts
from extapi.doctor.leases import Candidates, candidates_of, lease_rights
from extapi.pizza import api as pizza
from tests.unit.doctor.healthy import reading, service

SHOP = Candidates("shop.example.com", elects=True)
ETCD = ["serve", "shop:api", "--storage=etcd:"]


def facts(*args: str, deployed: bool = False) -> ServiceFacts:
    container = {"name": "server", "args": list(args)}
    spec: dict[str, Any] = {"containers": [{"name": "proxy", "args": ["--leader-elect=true"]}, container]}
    if not deployed:
        return ServiceFacts(reading(service()), None, reading({"items": [{"spec": spec}]}))
    template = {"metadata": {"labels": {"app": "shop"}}, "spec": spec}
    return ServiceFacts(
        reading(service()), None, reading({"items": []}), reading({"items": [{"spec": {"template": template}}]})
    )


def rights(namespace: str, name: str) -> tuple[Right, ...]:
    return (
        Right("get", "coordination.k8s.io", "leases", namespace, name),
        Right("update", "coordination.k8s.io", "leases", namespace, name),
        Right("create", "coordination.k8s.io", "leases", namespace),
    )


@pytest.mark.parametrize("deployed", [False, True])
def test_servers_on_one_etcd_elect_by_the_lease_of_the_first_group(deployed: bool) -> None:
    found = lease_rights("shop", facts(*ETCD, deployed=deployed), SHOP)
    assert (found.rights, found.certain) == (rights("shop", "shop.example.com"), True)


def test_flags_name_another_lease() -> None:
    given = ["serve", "--leader-elect", "--leader-elect-resource-name=a", "--leader-elect-resource-namespace", "b"]
    found = lease_rights("shop", facts(*given), None)
    assert (found.rights, found.certain) == (rights("b", "a"), True)


@pytest.mark.parametrize(
    ("args", "api"),
    [
        (["serve", "shop:api"], SHOP),
        (["serve", "shop:api", "--storage=sqlite:////data/a.db"], SHOP),
        (ETCD, Candidates("shop.example.com", elects=False)),
        ([*ETCD, "--leader-elect=false"], SHOP),
        ([], SHOP),
    ],
)
def test_others_need_no_lease(args: list[str], api: Candidates) -> None:
    assert lease_rights("shop", facts(*args), api).rights == ()


def test_without_the_api_it_is_neither_certain_nor_known_which() -> None:
    found = lease_rights("shop", facts(*ETCD), None)
    assert (found.rights, found.certain) == (rights("shop", "")[2:], False)


def test_what_an_api_says() -> None:
    class Working:
        async def run(self, context: Any) -> None:
            """Never called."""

    class Everywhere(Working):
        each_process = True

    assert candidates_of(pizza) == Candidates("restaurant.programming-kubernetes.info", elects=True)  # the costs
    assert candidates_of(Api(controllers=[Everywhere()])) == Candidates("", elects=False)
    assert candidates_of(Api(controllers=[Everywhere(), Working()])) == Candidates("", elects=True)
