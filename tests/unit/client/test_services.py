"""Where a Service is reached. The texts are those of ``apiserver/pkg/util/proxy/proxy.go``."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.api.types import Obj
from extapi.client.services import by_dns, by_objects
from extapi.errors import ApiError


def service(**spec: Any) -> Obj:
    ports = [{"port": 443}, {"port": 8443}]
    return {"metadata": {"name": "hook"}, "spec": {"clusterIP": "10.0.0.7", "ports": ports, **spec}}


def test_dns_knows_the_name() -> None:
    assert by_dns("system", "hook", 443) == ("hook.system.svc", 443)


@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort", "LoadBalancer", None])
def test_a_service_has_an_address(kind: str | None) -> None:
    asked = []

    def get(namespace: str, name: str) -> Obj:
        asked.append((namespace, name))
        return service(type=kind)

    assert by_objects(get)("system", "hook", 8443) == ("10.0.0.7", 8443)
    assert asked == [("system", "hook")]


def test_a_name_elsewhere_has_every_port() -> None:
    found = service(type="ExternalName", externalName="hooks.example.com", clusterIP="", ports=None)
    assert by_objects(lambda *_: found)("system", "hook", 9) == ("hooks.example.com", 9)


@pytest.mark.parametrize(
    ("found", "code", "why"),
    [
        (None, 404, 'service "hook" not found'),
        (service(), 503, 'no service port 9 found for service "hook"'),
        (service(clusterIP="None"), 500, 'cannot route to service with ClusterIP "None"'),
        (service(type="Other"), 500, 'unsupported service type "Other"'),
        (service(clusterIP="", ports=[{"port": 9}]), 503, 'service "hook" has no cluster IP'),
    ],
)
def test_a_service_without_a_way(found: Obj | None, code: int, why: str) -> None:
    with pytest.raises(ApiError) as raised:
        by_objects(lambda *_: found)("system", "hook", 9)
    assert (raised.value.code, raised.value.message) == (code, why)
