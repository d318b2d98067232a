from __future__ import annotations

import pytest

from extapi.doctor.facts import Reading
from extapi.doctor.finding import Severity
from extapi.doctor.registration import registration
from tests.unit.doctor.healthy import (
    NAME,
    SUBJECT,
    api_service,
    discovery,
    forbidden,
    found,
    one,
    reading,
    registered,
)

V3, V2 = "openapi.v3", "openapi.v2"
AWAY = {"status": "False", "reason": "FailedDiscoveryCheck", "message": "EOF"}


def test_v3() -> None:
    assert one(V3, documents={}).severity is Severity.WARNING
    assert one(V3, documents={NAME: reading(status=500)}).severity is Severity.WARNING
    assert one(V3, documents={NAME: reading(status=0, over=True)}).severity is Severity.UNKNOWN
    assert one(V3, documents={NAME: reading({"components": {}})}).severity is Severity.WARNING
    assert one(V3, openapi_v3=forbidden()).severity is Severity.UNKNOWN


@pytest.mark.parametrize("documents", [{}, {NAME: reading(status=503, text="service unavailable")}])
def test_v3_by_way_of_another_version_of_the_server(documents: dict[str, Reading]) -> None:
    """kube-aggregator takes the documents of a server through one of its APIServices, seen with a wrong caBundle of v2."""
    other = api_service(condition=AWAY)
    other["metadata"]["name"], other["spec"]["version"] = "v2.shop.example.com", "v2"
    both = [registration(api_service()), registration(other)]
    discovered = {NAME: reading(discovery()), "v2.shop.example.com": reading(status=503)}
    changed = {"documents": documents, "registrations": both, "discovery": discovered}
    (healthy,) = [each for each in found(V3, **changed) if each.subjects == (SUBJECT,)]
    assert healthy.do.startswith("see apiservice.available of v2.shop.example.com: ")
    changed["registrations"] = [registration(api_service())]
    assert "apiservice.available" not in one(V3, **changed).do


def test_v2() -> None:
    assert (
        one(V2, openapi_v2=reading({"paths": {"/apis/shop.example.com/v1beta1/wares": {}}})).severity
        is Severity.WARNING
    )
    assert one(V2, openapi_v2=forbidden()).severity is Severity.UNKNOWN
    assert one(V2, openapi_v2=Reading("get on it", status=200, data=b"<html>")).severity is Severity.UNKNOWN
    large = Reading("get on it", status=200, data=b"{", cut=True)
    assert one(V2, openapi_v2=large).wrong == "the answer to get on it has more than 1 bytes"


def test_a_server_that_is_away() -> None:
    away = {"discovery": {NAME: reading(status=503)}}
    assert "see discovery.answer" in one(V3, **away).wrong
    assert "see apiservice.available" in one(V2, **away, **registered(condition=AWAY)).wrong


def test_a_version_without_resources_needs_none() -> None:
    assert not found(V3, discovery={NAME: reading(discovery(resources=[]))}, documents={})
