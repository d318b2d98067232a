from __future__ import annotations

from typing import Any

import pytest

from extapi.doctor.facts import Reading, ServiceFacts
from extapi.doctor.finding import Severity
from tests.unit.doctor.healthy import PLACE, forbidden, found, one, pods, reading, service, slices

EXISTS, PORT, SELECTOR, ENDPOINTS = "service.exists", "service.port", "service.selector", "service.endpoints"


def behind(
    spec: dict[str, Any] | None = None,
    *,
    slices_: Reading | None = None,
    pods_: Reading | None = None,
    deployments: Reading | None = None,
) -> dict[str, Any]:
    return {
        "services": {
            PLACE: ServiceFacts(
                reading(service(**(spec or {}))),
                slices_ if slices_ is not None else reading(slices()),
                pods_ if pods_ is not None else reading(pods()),
                deployments,
            )
        }
    }


def ports(**changed: Any) -> dict[str, Any]:
    return {"ports": [{"name": "https", "port": 443, "targetPort": "https", "protocol": "TCP", **changed}]}


def test_a_service_that_is_not_there() -> None:
    missing = {"services": {PLACE: ServiceFacts(reading(status=404, text='services "server" not found'))}}
    assert one(EXISTS, **missing).severity is Severity.ERROR
    assert not found(ENDPOINTS, **missing)
    broken = {"services": {PLACE: ServiceFacts(reading(status=500, text="etcd"))}}
    assert one(EXISTS, **broken).severity is Severity.UNKNOWN
    hidden = {"services": {PLACE: ServiceFacts(forbidden())}}
    assert one(EXISTS, **hidden).wrong == 'needs get on this: User "x" cannot get this'


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"port": 6443}, "the Service has 6443 (https)"),
        ({"protocol": "UDP"}, "of protocol UDP"),
        ({"targetPort": "api"}, "targetPort is 'api'; the pods' containers have https"),
    ],
)
def test_ports(changed: dict[str, Any], words: str) -> None:
    errors = [each for each in found(PORT, **behind(ports(**changed))) if each.severity is Severity.ERROR]
    assert [words in each.saw for each in errors] == [True]


def test_a_port_by_number_may_be_undeclared() -> None:
    assert one(PORT, **behind(ports(targetPort=9443))).severity is Severity.OK


def test_a_port_of_a_sidecar() -> None:
    init = {"name": "proxy", "ports": [{"name": "api", "containerPort": 8443}]}
    pod = {"spec": {"containers": [{"name": "server"}], "initContainers": [{**init, "restartPolicy": "Always"}]}}
    assert one(PORT, **behind(ports(targetPort="api"), pods_=reading({"items": [pod]}))).severity is Severity.OK
    pod["spec"]["initContainers"] = [init]
    errors = found(PORT, **behind(ports(targetPort="api"), pods_=reading({"items": [pod]})))
    assert [each.severity for each in errors] == [Severity.ERROR, Severity.OK]


def test_an_external_name_has_neither_port_nor_pods() -> None:
    changed = behind({"type": "ExternalName", "externalName": "api.example.com", "ports": None, "selector": None})
    assert one(PORT, **changed).saw == "kube-apiserver connects to api.example.com:443, without endpoints"
    assert not found(ENDPOINTS, **changed)


def test_nothing_that_it_selects() -> None:
    finding = one(SELECTOR, **behind(pods_=reading({"items": []})))
    assert finding.severity is Severity.ERROR
    assert "kubectl get pods -n shop --show-labels" in finding.do
    template = {"metadata": {"labels": {"app": "shop", "more": "x"}}}
    deployment = {"metadata": {"name": "server"}, "spec": {"template": template}}
    made = behind(pods_=reading({"items": []}), deployments=reading({"items": [deployment, {}]}))
    assert "Deployment server would make some" in one(SELECTOR, **made).saw
    assert one(SELECTOR, **behind(pods_=forbidden())).severity is Severity.UNKNOWN
    assert one(SELECTOR, **behind({"selector": None})).severity is Severity.OK


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        (slices(), Severity.OK),
        (slices(ready=None), Severity.OK),  # as kube-aggregator has it
        (slices(ready=False), Severity.ERROR),
        (slices(name="http"), Severity.ERROR),
        ({"items": []}, Severity.ERROR),
    ],
)
def test_endpoints(given: dict[str, Any], severity: Severity) -> None:
    assert one(ENDPOINTS, **behind(slices_=reading(given))).severity is severity


def test_endpoints_of_ipv6_are_told_as_in_urls() -> None:
    assert one(ENDPOINTS, **behind(slices_=reading(slices(address="fd00::3")))).saw.endswith("ready: [fd00::3]:8443")


def test_endpoints_that_cannot_be_judged() -> None:
    assert one(ENDPOINTS, **behind(slices_=forbidden())).severity is Severity.UNKNOWN
    assert one(ENDPOINTS, **behind(ports(port=6443))).severity is Severity.UNKNOWN
    lacking = reading(status=404, text="the server could not find the requested resource")
    assert "does not know what it takes" in one(ENDPOINTS, **behind(slices_=lacking)).wrong
