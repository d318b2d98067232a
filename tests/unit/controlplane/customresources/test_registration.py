"""The APIServices of definitions; as kubernetes/pkg/controlplane/controller/crdregistration and its autoregistration."""

from __future__ import annotations

from typing import Any

from extapi.crd.kinds import MOST_VERSIONS
from tests.unit.controlplane.customresources.plane import (
    DEFINITIONS,
    MERGE,
    SERVICES,
    Plane,
    definition,
    plane,
    version,
)

LABEL = "kube-aggregator.kubernetes.io/automanaged"


def service(cluster: Plane, name: str) -> dict[str, Any] | None:
    answer = cluster.server.request("GET", f"{SERVICES}/{name}")
    return None if answer.status == 404 else answer.json()


def test_each_served_version_has_one_until_the_last_definition_is_gone() -> None:
    with plane() as cluster:
        cluster.define(definition("crontabs", version("v1"), version("v2", storage=False, served=False)))
        cluster.define(definition("timers"))
        found = service(cluster, "v1.stable.example.com")
        assert found is not None
        assert found["metadata"]["labels"] == {LABEL: "true"}
        assert found["spec"] == {
            "group": "stable.example.com",
            "version": "v1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 100,
        }
        assert service(cluster, "v2.stable.example.com") is None
        cluster.change(
            "crontabs.stable.example.com", {"spec": {"versions": [version("v1"), version("v2", storage=False)]}}
        )
        assert service(cluster, "v2.stable.example.com") is not None
        cluster.server.request("DELETE", f"{DEFINITIONS}/crontabs.stable.example.com")
        cluster.server.advance(1)
        assert service(cluster, "v2.stable.example.com") is None
        assert service(cluster, "v1.stable.example.com") is not None
        cluster.server.request("DELETE", f"{DEFINITIONS}/timers.stable.example.com")
        cluster.server.advance(1)
        assert service(cluster, "v1.stable.example.com") is None


def test_one_that_is_changed_or_deleted_is_restored() -> None:
    with plane() as cluster:
        cluster.define(definition())
        path = f"{SERVICES}/v1.stable.example.com"
        cluster.server.request("PATCH", path, headers=MERGE, body={"spec": {"groupPriorityMinimum": 5}})
        cluster.server.advance(1)
        changed = service(cluster, "v1.stable.example.com")
        assert changed is not None
        assert changed["spec"]["groupPriorityMinimum"] == 1000
        cluster.server.request("DELETE", path)
        cluster.server.advance(1)
        assert service(cluster, "v1.stable.example.com") is not None


def test_one_that_somebody_else_has_made_stays_as_it_is() -> None:
    with plane() as cluster:
        spec = {
            "group": "stable.example.com",
            "version": "v1",
            "groupPriorityMinimum": 7,
            "versionPriority": 7,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "mine", "port": 443},
        }
        metadata = {"name": "v1.stable.example.com"}
        body = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}
        assert cluster.server.request("POST", SERVICES, body=body).status == 201
        cluster.define(definition())
        found = service(cluster, "v1.stable.example.com")
        assert found is not None
        assert found["spec"] == spec
        cluster.server.request("DELETE", f"{DEFINITIONS}/crontabs.stable.example.com")
        cluster.server.advance(1)
        assert service(cluster, "v1.stable.example.com") is not None


def test_a_definition_with_too_many_versions_to_be_served_has_none() -> None:
    """10,000 APIServices would take the aggregator minutes, and lead nowhere: the kind is not served."""
    with plane() as cluster:
        many = [version(f"v{n}", storage=n == 0) for n in range(MOST_VERSIONS + 1)]
        made = cluster.define(definition("crontabs", *many))
        assert cluster.conditions(made["metadata"]["name"])["NamesAccepted"][0] == "True"
        assert service(cluster, "v0.stable.example.com") is None
        cluster.change("crontabs.stable.example.com", {"spec": {"versions": many[:-1]}})
        assert service(cluster, "v0.stable.example.com") is not None
        cluster.change("crontabs.stable.example.com", {"spec": {"versions": many}})
        assert service(cluster, "v0.stable.example.com") is None
