"""Versions of one form with other defaults: whose are filled in when. What 1.36.3 does for the same two versions.

``tests/differential/versions.py`` asks kube-apiserver; this is the short form, and what a custom resource cannot do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi import Api, Group, Kind, Object, Review, Strategy, Struct, Version
from extapi.testing import InMemoryServer, serve
from tests.differential.twin import knob

GROUP = "knobs.example.com"
NEW = f"/apis/{GROUP}/v1/namespaces/default/knobs"
OLD = f"/apis/{GROUP}/v1beta1/namespaces/default/knobs"
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    versions = {"v1": Version(knob({"low": 1, "step": 10})), "v1beta1": Version(knob({"high": 2, "step": 20}))}
    with serve(Api(Group(GROUP, Kind("Knob", storage="v1", versions=versions)))) as server:
        yield server


def made(server: InMemoryServer, path: str, **more: Any) -> dict[str, Any]:
    version = path.split("/")[3]
    body = {"apiVersion": f"{GROUP}/{version}", "kind": "Knob", "metadata": {"name": "k"}, **more}
    answer = server.request("POST", path, body=body)
    assert answer.status == 201, answer
    found: dict[str, Any] = answer.json()
    return found


def test_a_read_shows_the_defaults_of_the_stored_version(server: InMemoryServer) -> None:
    assert made(server, NEW)["spec"] == {"low": 1, "step": 10}
    read = server.request("GET", f"{OLD}/k").json()
    assert read["apiVersion"] == f"{GROUP}/v1beta1"
    assert read["spec"] == {"low": 1, "step": 10}


def test_a_write_gets_those_of_its_own_version_and_is_then_read(server: InMemoryServer) -> None:
    assert made(server, OLD)["spec"] == {"high": 2, "low": 1, "step": 20}
    for path in (NEW, OLD):
        assert server.request("GET", f"{path}/k").json()["spec"] == {"high": 2, "low": 1, "step": 20}


def test_a_write_through_the_other_version_counts_its_defaults_as_a_change(server: InMemoryServer) -> None:
    made(server, NEW)
    label = {"metadata": {"labels": {"a": "b"}}}
    assert server.request("PATCH", f"{NEW}/k", headers=MERGE, body=label).json()["metadata"]["generation"] == 1
    changed = server.request("PATCH", f"{OLD}/k", headers=MERGE, body={}).json()
    assert changed["metadata"]["generation"] == 2
    assert changed["spec"] == {"high": 2, "low": 1, "step": 10}


def test_a_write_of_the_status_changes_no_spec(server: InMemoryServer) -> None:
    made(server, NEW)
    patch = {"status": {"seen": 1}, "metadata": {"labels": {"a": "b"}}}
    changed = server.request("PATCH", f"{OLD}/k/status", headers=MERGE, body=patch).json()
    assert changed["spec"] == {"low": 1, "step": 10}
    assert changed["status"] == {"seen": 1}
    assert changed["metadata"]["generation"] == 1


class Range(Struct):
    low: int = 1
    high: int | None = None
    step: int = 10


class NewKnob(Object):
    spec: Range = Range()


class OldRange(Struct):
    low: int = 3
    high: int = 2
    step: int = 20


class OldKnob(Object):
    spec: OldRange = OldRange()


class Stepping(Strategy):
    """Sets a value that is the default of the stored version, and another in the version of the request."""

    def prepare(self, obj: NewKnob, old: NewKnob | None) -> None:
        obj.spec.step = 10


class Raising:
    async def mutate(self, review: Review) -> None:
        review.object.spec.low = 1


def test_what_authors_code_sets_stays_though_it_is_a_default_of_the_stored_version() -> None:
    """The form that an author sees leaves out what is as by default in the stored version: it must not get other defaults."""
    kind = Kind(
        "Knob",
        storage="v1",
        strategy=Stepping(),
        versions={"v1": Version(NewKnob), "v1beta1": Version(OldKnob)},
    )
    with serve(Api(Group(GROUP, kind), admission=[Raising()])) as server:
        assert made(server, OLD)["spec"] == {"low": 1, "high": 2, "step": 10}
        assert server.request("GET", f"{NEW}/k").json()["spec"] == {"low": 1, "high": 2, "step": 10}
