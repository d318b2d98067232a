"""What a definition remembers of stored versions after a migration (behaviour J3)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.pruning import prune, serving_definition, storage_version
from tests.kubernetes.moving import NAME
from tests.unit.takeover.tables import cluster, now, status, table
from tests.unit.takeover.world import LIVE

AT = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
ROUTE = "/apis/apiregistration.k8s.io/v1/apiservices/v1.moving.example.com"


def stored(*versions: str, storage: str = "v1") -> dict[str, Any]:
    made = copy.deepcopy(LIVE)
    made["status"]["storedVersions"] = list(versions)
    for each in made["spec"]["versions"]:
        each["storage"] = each["name"] == storage
    return made


def test_old_versions_are_taken_off() -> None:
    kube = table({AT: stored("v1beta1", "v1"), f"PUT {AT}/status": [status(409, "Conflict"), {}]})
    assert now(prune(cluster(kube), stored("v1beta1", "v1"))) == ["v1beta1"]
    sent = json.loads(kube.requests[-1].body or b"")
    assert sent["status"]["storedVersions"] == ["v1"]
    assert sent["metadata"]["resourceVersion"] == "7"
    assert sent["status"]["conditions"] == LIVE["status"]["conditions"]


def test_nothing_is_written_where_nothing_is_old() -> None:
    kube = table({AT: stored("v1")})
    assert now(prune(cluster(kube), stored("v1"))) == []
    assert [each.method for each in kube.requests] == ["GET"]


def test_another_storage_version_meanwhile_is_told() -> None:
    kube = table({AT: stored("v1beta1", "v1", storage="v1beta1")})
    with pytest.raises(TakeoverFailure, match="its storage version has changed during the migration"):
        now(prune(cluster(kube), stored("v1beta1", "v1")))
    assert [each.method for each in kube.requests] == ["GET"]


def test_a_refusal_is_told() -> None:
    kube = table({AT: stored("v1beta1", "v1"), f"PUT {AT}/status": status(403, "Forbidden", "no")})
    with pytest.raises(TakeoverFailure, match=r"status.storedVersions cannot be written: 403 no"):
        now(prune(cluster(kube), stored("v1beta1", "v1")))


def test_only_definitions_that_kube_apiserver_serves_are_pruned() -> None:
    def found(**objects: Any) -> Any:
        return now(serving_definition(cluster(objects), "moving.example.com", "v1", "crates"))

    assert found() is None
    assert found(**{AT: LIVE}) == LIVE
    assert found(**{AT: LIVE, ROUTE: {"spec": {}}}) == LIVE
    assert found(**{AT: LIVE, ROUTE: {"spec": {"service": {"name": "s"}}}}) is None
    assert storage_version(LIVE) == "v1"
