"""Messages: k8s.io/kubernetes/pkg/controller/namespace/deletion, as seen on 1.36.3."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from extapi.doctor.finding import Severity
from tests.unit.doctor.healthy import NOW, forbidden, one, reading, registered

CHECK = "namespaces.terminating"
AWAY = {"status": "False", "reason": "FailedDiscoveryCheck", "message": "EOF"}
FAILED = (
    "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
    "shop.example.com/v1: stale GroupVersion discovery: shop.example.com/v1"
)


def terminating(
    message: str, kind: str = "NamespaceDeletionDiscoveryFailure", *, status: str = "True", age: int = 300
) -> dict[str, Any]:
    since = (NOW - dt.timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": kind, "status": status, "message": message}
    namespace = {
        "metadata": {"name": "stuck", "deletionTimestamp": since},
        "status": {"phase": "Terminating", "conditions": [condition]},
    }
    return {"namespaces": reading({"items": [namespace, {"status": {"phase": "Active"}}]})}


def test_a_namespace_that_waits_for_a_server() -> None:
    finding = one(CHECK, **terminating(FAILED), **registered(condition=AWAY))
    assert finding.severity is Severity.ERROR
    assert finding.subjects == ("Namespace stuck",)
    assert finding.saw == f"Terminating for 5 minutes, NamespaceDeletionDiscoveryFailure: {FAILED}"
    assert finding.do.endswith("kubectl delete apiservice v1.shop.example.com")


@pytest.mark.parametrize(
    "message",
    [
        FAILED.replace("shop.example.com/v1", "shop.example.com/v2"),
        FAILED.replace("shop.example.com", "bookshop.example.com"),
        FAILED.replace("shop.example.com", "example.com"),
        "Some resources are remaining: wares.bookshop.example.com has 2 resource instances",
        "Some resources are remaining: books.old.shop.example.com has 2 resource instances",
        "All resources successfully discovered",
    ],
)
def test_a_namespace_that_waits_for_another(message: str) -> None:
    assert one(CHECK, **terminating(message), **registered(condition=AWAY)).severity is Severity.OK


def test_a_condition_that_is_false_says_nothing() -> None:
    assert one(CHECK, **terminating(FAILED, status="False"), **registered(condition=AWAY)).severity is Severity.OK


def test_what_is_left_although_the_server_is_there() -> None:
    left = "Some resources are remaining: wares.shop.example.com has 2 resource instances"
    finding = one(CHECK, **terminating(left, "NamespaceContentRemaining"))
    assert finding.severity is Severity.WARNING
    assert "metadata.finalizers" in finding.do
    # That takes a while.
    assert one(CHECK, **terminating(left, "NamespaceContentRemaining", age=20)).severity is Severity.OK


def test_namespaces_that_may_not_be_listed() -> None:
    assert one(CHECK, namespaces=forbidden()).severity is Severity.UNKNOWN
