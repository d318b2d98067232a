"""Versions of one form with other defaults: whose are filled in when. What 1.36.3 does for the same two versions.

``tests/differential/versions.py`` asks kube-apiserver; this is the short form, and what a custom resource cannot do.
"""

from __future__ import annotations

import json
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


def _nested(levels: int) -> dict[str, Any]:
    """An object of so many levels, each a field with a manager."""
    inner: Any = {"a": 1}
    for _ in range(levels - 2):
        inner = {"a": inner}
    return {"apiVersion": "deep.example.com/v1", "kind": "Deep", "metadata": {"name": "d"}, "a": inner}


@pytest.mark.parametrize("media", ["application/json", "application/apply-patch+yaml", "application/merge-patch+json"])
def test_an_object_whose_managed_fields_would_be_too_deep_is_refused(media: str) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    kind = Kind("Deep", storage="v1", versions={"v1": Version(schema)})
    collection = "/apis/deep.example.com/v1/namespaces/a/deeps"
    with serve(Api(Group("deep.example.com", kind))) as server:

        def write(levels: int) -> int:
            body, headers = _nested(levels), {"Content-Type": media}
            if media == "application/json":
                return server.request("POST", collection, headers=headers, body=body).status
            if media == "application/merge-patch+json":
                server.request("POST", collection, body={**body, "a": 1})
            return server.request("PATCH", f"{collection}/d", {"fieldManager": "m"}, headers, body).status

        for levels in (201, 200, 196):
            assert write(levels) in ({400, 422} if levels > 200 else {400})
        assert write(195) in {200, 201}
        read = server.request("GET", f"{collection}/d")
        assert server.request("PUT", f"{collection}/d", body=json.loads(read.body)).status == 200


def test_who_manages_fields_of_another_version_takes_none_from_what_is_written() -> None:
    """As on 1.36.3: the version of the request judges its own field, which must be there, and the generation counts it."""

    def schema(*names: str) -> dict[str, Any]:
        spec = {"type": "object", "required": names[-1:], "properties": {name: {"type": "string"} for name in names}}
        return {"type": "object", "properties": {"spec": spec}}

    versions = {"v1": Version(schema("a")), "v1beta1": Version(schema("a", "b"))}
    with serve(Api(Group(GROUP, Kind("Knob", storage="v1", versions=versions)))) as server:
        made(server, NEW, spec={"a": "x"})
        changed = server.request("PATCH", f"{OLD}/k", headers=MERGE, body={"spec": {"b": "y"}})
    assert changed.status == 200, changed
    assert changed.json()["metadata"]["generation"] == 2
