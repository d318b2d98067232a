"""What is available already, and what ``extapi dev`` says of the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.dev.availability import Availability, shortened
from extapi.dev.registration import GroupVersions
from tests.unit.dev.servers import Recorder, recorder

GROUP = "restaurant.example.com"
VERSIONS = [f"v1beta{number}" for number in range(1, 5)]
APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Recorder]:
    with recorder(tmp_path) as running:
        running.objects["/openapi/v3"] = {"paths": {f"apis/{GROUP}/{version}": {} for version in VERSIONS}}
        for version in VERSIONS:
            set_available(running, version)
            running.objects[f"/apis/{GROUP}/{version}"] = {"resources": []}
        set_discovery(running)
        yield running


def set_available(server: Recorder, version: str, status: str = "True", message: str = "all checks passed") -> None:
    conditions = [{"type": "Available", "status": status, "message": message}]
    obj: dict[str, Any] = {"metadata": {"name": f"{version}.{GROUP}"}, "status": {"conditions": conditions}}
    server.objects[f"{APISERVICES}/{version}.{GROUP}"] = obj


def set_discovery(server: Recorder, stale: str = "") -> None:
    versions = [{"version": each, "freshness": "Stale" if each == stale else "Current"} for each in VERSIONS]
    listed = {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": GROUP}, "versions": versions}]}
    server.objects["/apis"] = listed


def availability(server: Recorder, count: int = 2) -> Availability:
    return Availability(server.client(), [GroupVersions(GROUP, VERSIONS[:count])])


def test_an_api_is_available_when_each_version_is_answers_and_is_published(server: Recorder) -> None:
    asked = availability(server)
    set_available(server, "v1beta2", "False", "no answer")
    assert asked.missing() == f"v1beta2.{GROUP}: no answer"
    del server.objects["/openapi/v3"]["paths"][f"apis/{GROUP}/v1beta2"]
    set_available(server, "v1beta2")
    assert asked.missing() == f"v1beta2.{GROUP}: its schemas have not been published yet"
    server.objects["/openapi/v3"]["paths"][f"apis/{GROUP}/v1beta2"] = {}
    assert asked.missing() is None


def test_what_discovery_calls_stale_is_not_available_whatever_was_seen_before(server: Recorder) -> None:
    """A late probe makes it so: client-go leaves stale versions out, and kubectl finds "no matches for kind"."""
    asked = availability(server)
    del server.objects["/openapi/v3"]["paths"][f"apis/{GROUP}/v1beta2"]
    assert asked.missing() == f"v1beta2.{GROUP}: its schemas have not been published yet"
    server.objects["/openapi/v3"]["paths"][f"apis/{GROUP}/v1beta2"] = {}
    set_discovery(server, stale="v1beta1")
    assert asked.missing() == f"v1beta1.{GROUP}: discovery does not show what is served yet"
    server.objects["/apis"]["items"][0]["versions"] = []
    server.requests.clear()
    assert asked.missing() == f"v1beta1.{GROUP}, v1beta2.{GROUP}: discovery does not show what is served yet"
    assert server.requests == [("GET", "/apis")]  # hundreds of versions are work for the control plane
    set_discovery(server)
    assert asked.missing() is None


def test_a_condition_of_an_earlier_run_is_not_believed(server: Recorder) -> None:
    server.objects[f"/apis/{GROUP}/v1beta1"] = (503, b"service unavailable")
    assert availability(server).missing() == f"v1beta1.{GROUP}: 503: service unavailable"


def test_a_version_without_a_condition_is_not_asked(server: Recorder) -> None:
    server.objects[f"{APISERVICES}/v1beta1.{GROUP}"]["status"] = {}
    assert availability(server, 1).missing() == f"v1beta1.{GROUP}: it has not been checked yet"
    assert ("GET", f"/apis/{GROUP}/v1beta1") not in server.requests


def test_what_has_answered_is_not_asked_again_and_counts(server: Recorder) -> None:
    asked = availability(server, 3)
    del server.objects["/openapi/v3"]["paths"][f"apis/{GROUP}/v1beta2"]
    set_available(server, "v1beta3", "False", "no answer")
    counts = [asked.found]
    for _ in range(2):
        asked.missing()
        counts.append(asked.found)
    set_available(server, "v1beta3")
    asked.missing()
    assert [*counts, asked.found] == [0, 3, 3, 5]
    gets = [path for method, path in server.requests if path.startswith(f"/apis/{GROUP}/")]
    assert gets == [f"/apis/{GROUP}/{version}" for version in VERSIONS[:3]]


def test_everything_that_is_missing_is_told(server: Recorder) -> None:
    asked = availability(server, 4)
    for version in VERSIONS[1:]:
        set_available(server, version, "False", "no answer")
    others = f"v1beta3.{GROUP}, v1beta4.{GROUP}"
    assert asked.missing() == f"v1beta2.{GROUP}: no answer; also missing: {others}"
    server.objects["/openapi/v3"] = (500, b"broken")
    assert asked.missing() == f"v1beta2.{GROUP}: 500: broken; also missing: {others}"


def test_many_names_are_counted() -> None:
    names = [f"v{number}" for number in range(330)]
    assert shortened(names) == "v0, v1, v2, v3, v4 and 325 more"
    assert shortened(names[:6]) == "v0, v1, v2, v3, v4, v5"
