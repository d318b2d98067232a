"""Discovery and OpenAPI of what manifests define, as kube-apiserver publishes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.crds.every import OURS, THEIRS, served_versions
from tests.differential.test_documents import AGGREGATED, differences, neutral, part
from tests.kubernetes.calling import Caller
from tests.waiting import until

pytestmark = pytest.mark.needs("crd")

GROUPS = {"extension": OURS, "builtin": THEIRS}
"""Our sides, and the group that each serves."""
VERSIONS = served_versions()
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
DELIBERATE = (
    # kube-apiserver calls its documents `Kubernetes CRD Swagger`, which ours are not.
    "info",
    # The groups of Kubernetes that are not served here have no DeleteOptions.
    f"components.schemas.{META}DeleteOptions.x-kubernetes-group-version-kind",
    f"definitions.{META}DeleteOptions.x-kubernetes-group-version-kind",
    # How to log in is said in the documents of the built-in groups alone.
    "components.securitySchemes",
    "security",
)
"""Paths in documents at which they may differ."""

Callers = dict[str, Caller]


def judged(ours: Any, theirs: Any) -> list[Any]:
    """All differences but the deliberate ones."""
    return [
        found
        for found in differences(ours, theirs)
        if not any(found[0] == path or found[0].startswith(f"{path}.") for path in DELIBERATE)
    ]


@pytest.mark.parametrize("side", GROUPS)
@pytest.mark.parametrize("version", VERSIONS)
def test_openapi_v3_is_that_of_a_custom_resource(callers: Callers, side: str, version: str) -> None:
    ours, theirs = (
        neutral(callers[name]("GET", f"/openapi/v3/apis/{group}/{version}").json, group)
        for name, group in ((side, GROUPS[side]), ("kube", THEIRS))
    )
    assert judged(ours, theirs) == []


@pytest.mark.parametrize("side", GROUPS)
def test_openapi_v2_is_that_of_custom_resources(callers: Callers, side: str) -> None:
    def published() -> Any:
        found = callers["kube"]("GET", "/openapi/v2").json
        return found if f"/apis/{THEIRS}/v1/keywords" in found["paths"] else None

    asked = "direct" if side == "extension" else side
    own = neutral(callers[asked]("GET", "/openapi/v2").json, GROUPS[side])
    for kind in ("paths", "definitions", "parameters"):
        own[kind] = {name: one for name, one in own[kind].items() if side == "extension" or _is_ours(name)}
    assert judged(own, part(neutral(until(published, 60), THEIRS), own)) == []


def _is_ours(name: str) -> bool:
    return name.startswith(("/apis/GROUP/", "PUORG."))


@pytest.mark.parametrize("side", GROUPS)
@pytest.mark.parametrize("version", ["", *(f"/{version}" for version in VERSIONS)])
def test_discovery_is_that_of_custom_resources(callers: Callers, side: str, version: str) -> None:
    documents = []
    for name, group in ((side, GROUPS[side]), ("kube", THEIRS)):
        document = callers[name]("GET", f"/apis/{group}{version}").json
        document.get("resources", []).sort(key=lambda resource: resource["name"])
        for resource in document.get("resources", ()):
            resource.pop("storageVersionHash", None)  # a hash of the group's name, among others
        documents.append(neutral(document, group))
    assert documents[0] == documents[1]


@pytest.mark.parametrize("side", GROUPS)
def test_aggregated_discovery_is_that_of_custom_resources(callers: Callers, side: str) -> None:
    documents = []
    for name, group in ((side, GROUPS[side]), ("kube", THEIRS)):
        items = callers[name]("GET", "/apis", headers=[("Accept", AGGREGATED)]).json["items"]
        (found,) = (item for item in items if item["metadata"]["name"] == group)
        for version in found["versions"]:
            version["resources"].sort(key=lambda resource: resource["resource"])
        found["metadata"].pop("creationTimestamp", None)
        documents.append(neutral(found, group))
    assert documents[0] == documents[1]
