"""The scale subresource (behaviour E74, J27, J29), and versions with and without status.

``tests/differential/scaling.py`` sends many more requests, and compares the answers with kube-apiserver's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import pytest

from extapi import (
    CLUSTER,
    Api,
    FieldError,
    Group,
    Kind,
    Minimum,
    Object,
    Operation,
    Review,
    Scale,
    Strategy,
    Struct,
    Version,
)
from extapi.api.behaviour import CUSTOM_RESOURCE
from extapi.testing import InMemoryServer, ServerResponse, serve
from tests.unit.verbs.sample import failure

GROUP = "farm.example.com"
FLOCKS = f"/apis/{GROUP}/v1/namespaces/default/flocks"
OLDER = f"/apis/{GROUP}/v1beta1/namespaces/default/flocks"
BARE = f"/apis/{GROUP}/v1alpha1/namespaces/default/flocks"
MERGE = {"Content-Type": "application/merge-patch+json"}
PENS = f"/apis/{GROUP}/{{}}/pens"


class FlockSpec(Struct):
    sheep: Annotated[int | None, Minimum(0)] = None
    fed: int = 0


class FlockStatus(Struct):
    sheep: int = 0
    selector: str | None = None


class Flock(Object):
    spec: FlockSpec = FlockSpec()
    status: FlockStatus = FlockStatus()


class OldCount(Struct):
    head: int | None = None


class OldSpec(Struct):
    count: OldCount = OldCount()
    fed: int = 0


class OldFlock(Object):
    spec: OldSpec = OldSpec()
    status: FlockStatus = FlockStatus()


def to_hub(old: OldFlock) -> Flock:
    return Flock(spec=FlockSpec(sheep=old.spec.count.head, fed=old.spec.fed), status=old.status)


def from_hub(flock: Flock) -> OldFlock:
    return OldFlock(spec=OldSpec(count=OldCount(head=flock.spec.sheep), fed=flock.spec.fed), status=flock.status)


class Feeding(Strategy):
    """What is wanted is fed, and a flock of 13 is bad luck."""

    def prepare(self, obj: Flock, old: Flock | None) -> None:
        del old
        obj.spec.fed = obj.spec.sheep or 0

    def validate(self, obj: Flock, old: Flock | None) -> list[FieldError]:
        del old
        return [FieldError.invalid("spec.sheep", 13, "is bad luck")] if obj.spec.sheep == 13 else []


class Gate:
    """Keeps what it is asked; may change the number, and refuses 99."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.instead: int | None = None

    async def mutate(self, review: Review) -> None:
        if review.subresource == "scale" and self.instead is not None:
            review.object.spec.replicas = self.instead
            review.object.metadata.labels["dropped"] = "yes"

    async def validate(self, review: Review) -> None:
        if review.subresource != "scale":
            return
        new, old = review.object, review.old_object
        of = (review.group, review.resource, review.name, review.namespace, review.kind.name, review.operation)
        self.seen.append((*of, review.dry_run, old.spec.replicas, new.spec.replicas, new.status.replicas))
        if new.spec.replicas == 99:
            review.refuse("too many")


class Pen(Object):
    spec: FlockStatus = FlockStatus()
    status: FlockStatus = FlockStatus()


SCALE = Scale(
    spec_replicas_path=".spec.sheep", status_replicas_path=".status.sheep", label_selector_path=".status.selector"
)
FLOCK = Kind(
    "Flock",
    storage="v1",
    hub=Flock,
    versions={
        "v1": Version(Flock),
        "v1beta1": Version(
            OldFlock,
            to_hub=to_hub,
            from_hub=from_hub,
            status=False,
            scale=Scale(spec_replicas_path=".spec.count.head", status_replicas_path=".status.sheep"),
        ),
        "v1alpha1": Version(OldFlock, to_hub=to_hub, from_hub=from_hub, scale=False),
    },
    scale=SCALE,
    strategy=Feeding(),
)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def server(gate: Gate) -> Iterator[InMemoryServer]:
    with serve(Api(Group(GROUP, FLOCK), admission=[gate])) as server:
        flock = {"apiVersion": f"{GROUP}/v1", "kind": "Flock", "metadata": {"name": "f"}, "spec": {"sheep": 2}}
        assert server.request("POST", FLOCKS, body=flock).status == 201
        set_status(server, sheep=1, selector="app=f")
        yield server


def set_status(server: InMemoryServer, **status: Any) -> None:
    assert server.request("PATCH", f"{FLOCKS}/f/status", {}, MERGE, {"status": status}).status == 200


def whole(server: InMemoryServer) -> dict[str, Any]:
    found: dict[str, Any] = server.request("GET", f"{FLOCKS}/f").json()
    return found


def scaled(
    server: InMemoryServer, replicas: Any, path: str = FLOCKS, query: Any = (), **metadata: Any
) -> ServerResponse:
    body = {"metadata": {"name": "f", **metadata}, "spec": {"replicas": replicas}}
    return server.request("PUT", f"{path}/f/scale", query, body=body)


def test_it_is_read(server: InMemoryServer) -> None:
    answer, flock = server.request("GET", f"{FLOCKS}/f/scale"), whole(server)
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    assert answer.json() == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: flock["metadata"][name] for name in names},
        "spec": {"replicas": 2},
        "status": {"replicas": 1, "selector": "app=f"},
    }
    assert answer.body.startswith(b'{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"f",')


def test_it_is_read_as_a_table(server: InMemoryServer) -> None:
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    table = server.request("GET", f"{FLOCKS}/f/scale", {}, accept).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"] == ["f", 2, 1, "0s"]


def test_a_write_is_one_of_the_object(server: InMemoryServer) -> None:
    before = whole(server)
    answer = scaled(server, 5)
    after = whole(server)
    assert (answer.status, answer.json()["spec"]) == (200, {"replicas": 5})
    assert answer.json()["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    assert after["spec"] == {"sheep": 5, "fed": 5}  # the strategy has prepared it
    assert after["status"] == before["status"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])


def test_nothing_else_of_a_scale_is_written(server: InMemoryServer) -> None:
    before = whole(server)
    body = {"metadata": {"name": "f", "labels": {"a": "b"}, "finalizers": ["a/b"]}, "status": {"replicas": 9}}
    answer = server.request("PUT", f"{FLOCKS}/f/scale", body={**body, "spec": {"replicas": 3}})
    assert answer.json()["status"] == {"replicas": 1, "selector": "app=f"}
    after = whole(server)
    assert after["spec"]["sheep"] == 3
    assert after["status"] == before["status"]
    assert after["metadata"].keys() == before["metadata"].keys()


@pytest.mark.parametrize(
    ("media", "patch"),
    [
        ("application/merge-patch+json", {"spec": {"replicas": 4}}),
        ("application/json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 4}]),
    ],
)
def test_it_is_patched(server: InMemoryServer, media: str, patch: Any) -> None:
    answer = server.request("PATCH", f"{FLOCKS}/f/scale", {}, {"Content-Type": media}, patch)
    assert (answer.status, answer.json()["spec"]) == (200, {"replicas": 4})
    assert whole(server)["spec"]["sheep"] == 4


def test_other_patches_are_refused(server: InMemoryServer) -> None:
    media = {"Content-Type": "application/strategic-merge-patch+json"}
    assert server.request("PATCH", f"{FLOCKS}/f/scale", {}, media, {"spec": {"replicas": 4}}).status == 415


def test_a_revision_is_a_precondition(server: InMemoryServer) -> None:
    revision = whole(server)["metadata"]["resourceVersion"]
    assert scaled(server, 3, resourceVersion=revision).status == 200
    assert failure(scaled(server, 4, resourceVersion=revision))["reason"] == "Conflict"
    assert scaled(server, 4).status == 200
    assert "Precondition failed: UID in precondition: x" in failure(scaled(server, 5, uid="x"))["message"]
    assert whole(server)["spec"]["sheep"] == 4


def test_a_dry_run_stores_nothing(server: InMemoryServer, gate: Gate) -> None:
    before = whole(server)
    assert scaled(server, 5, query={"dryRun": "All"}).json()["spec"] == {"replicas": 5}
    assert whole(server) == before
    assert [seen[6] for seen in gate.seen] == [True]


def test_rules_are_those_of_the_object(server: InMemoryServer) -> None:
    answer = scaled(server, -1)
    message = failure(answer)["message"]
    assert (answer.status, failure(answer)["details"]["kind"]) == (422, "Flock")
    assert ".spec.sheep: Invalid value: -1: should be a non-negative integer" in message
    assert "spec.sheep: Invalid value: -1: spec.sheep in body should be greater than or equal to 0" in message
    unlucky = failure(scaled(server, 13))
    assert unlucky["message"] == f'Flock.{GROUP} "f" is invalid: spec.sheep: Invalid value: 13: is bad luck'
    assert whole(server)["spec"]["sheep"] == 2


def test_the_object_obeys_the_scale_as_well(server: InMemoryServer) -> None:
    for path, change in (
        (f"{FLOCKS}/f", {"spec": {"sheep": 2**31}}),
        (f"{FLOCKS}/f/status", {"status": {"sheep": -1}}),
    ):
        refused = server.request("PATCH", path, {}, MERGE, change)
        (cause,) = failure(refused)["details"]["causes"]
        assert cause["field"] in {".spec.sheep", ".status.sheep"}


def test_plugins_are_asked_about_the_scale(server: InMemoryServer, gate: Gate) -> None:
    assert scaled(server, 3).status == 200
    assert gate.seen == [(GROUP, "flocks", "f", "default", "Scale", Operation.UPDATE, False, 2, 3, 1)]
    refused = scaled(server, 99)
    assert (refused.status, failure(refused)["message"]) == (403, f'flocks.{GROUP} "f" is forbidden: too many')
    gate.instead = 7
    assert scaled(server, 4).json()["spec"] == {"replicas": 7}
    assert whole(server)["spec"]["sheep"] == 7
    assert "labels" not in whole(server)["metadata"]


def test_a_missing_number_is_told(server: InMemoryServer) -> None:
    server.request("PATCH", f"{FLOCKS}/f", {}, MERGE, {"spec": {"sheep": None}})
    unset = server.request("GET", f"{FLOCKS}/f/scale")
    assert (unset.status, failure(unset)["message"]) == (
        500,
        'Internal error occurred: the spec replicas field ".spec.sheep" does not exist',
    )
    empty = server.request("PATCH", f"{FLOCKS}/f/scale", {}, MERGE, {})
    assert (empty.status, failure(empty)["message"]) == (400, 'the spec replicas field ".spec.sheep" cannot be empty')
    assert scaled(server, 1).json()["spec"] == {"replicas": 1}


def test_a_number_that_is_left_out_is_zero(server: InMemoryServer) -> None:
    answer = server.request("PUT", f"{FLOCKS}/f/scale", body={"metadata": {"name": "f"}})
    assert (answer.status, answer.json()["spec"]) == (200, {})
    assert whole(server)["spec"]["sheep"] == 0


def test_an_object_that_is_missing_is_404(server: InMemoryServer) -> None:
    answer = server.request("GET", f"{FLOCKS}/none/scale")
    assert (answer.status, failure(answer)["message"]) == (404, f'flocks.{GROUP} "none" not found')
    missing = {"metadata": {"name": "none"}, "spec": {"replicas": 1}}
    assert server.request("PUT", f"{FLOCKS}/none/scale", body=missing).status == 404


def test_what_cannot_be_decoded_has_the_one_text_of_kube_apiserver(server: InMemoryServer) -> None:
    for body in ({"spec": 1}, {"metadata": {"name": "f"}, "spec": {"replicas": "x"}}, "garbage", {"kind": "Flock"}):
        answer = failure(server.request("PUT", f"{FLOCKS}/f/scale", body=body))
        assert answer["message"] == 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'


def test_a_patch_that_breaks_types_is_told_so(server: InMemoryServer) -> None:
    answer = server.request("PATCH", f"{FLOCKS}/f/scale", {}, MERGE, {"spec": {"replicas": "x"}})
    assert answer.status == 422
    why = "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"
    assert failure(answer)["message"].endswith(why)


def test_each_version_has_its_own(server: InMemoryServer) -> None:
    older = server.request("GET", f"{OLDER}/f/scale").json()
    assert (older["spec"], older["status"]) == ({"replicas": 2}, {"replicas": 1})
    assert scaled(server, 6, OLDER).json()["spec"] == {"replicas": 6}
    assert whole(server)["spec"]["sheep"] == 6
    assert server.request("GET", f"{BARE}/f").json()["spec"]["count"] == {"head": 6}
    assert failure(server.request("GET", f"{BARE}/f/scale"))["message"] == f'flocks.{GROUP} "f" not found'
    assert server.request("DELETE", f"{FLOCKS}/f/scale").status == 405


def test_a_version_without_status_writes_it_with_the_rest(server: InMemoryServer) -> None:
    generation = whole(server)["metadata"]["generation"]
    assert server.request("GET", f"{OLDER}/f/status").status == 404
    answer = server.request("PATCH", f"{OLDER}/f", {}, MERGE, {"status": {"sheep": 8}})
    assert answer.json()["status"]["sheep"] == 8
    after = whole(server)
    assert (after["status"]["sheep"], after["metadata"]["generation"]) == (8, generation + 1)
    server.request("PATCH", f"{FLOCKS}/f", {}, MERGE, {"status": {"sheep": 9}})
    # To the older version the status is a field like others: its manager has lost it, as with kube-apiserver.
    assert {**whole(server), "metadata": None} == {**after, "metadata": None}
    created = {"kind": "Flock", "metadata": {"name": "g"}, "status": {"sheep": 3}}
    for path, version, left in ((OLDER, "v1beta1", 3), (FLOCKS, "v1", None)):
        body = {**created, "apiVersion": f"{GROUP}/{version}"}
        assert server.request("POST", path, body=body).status == 201
        found = server.request("GET", f"{FLOCKS}/g").json()
        assert found.get("status", {}).get("sheep") == left
        server.request("DELETE", f"{FLOCKS}/g")


def test_somebody_who_was_faster_is_no_conflict_without_a_revision() -> None:
    """The plugin is that somebody; the number is set in what they have left."""

    class Faster:
        server: InMemoryServer
        done = False

        async def validate(self, review: Review) -> None:
            if review.subresource == "scale" and not self.done:
                self.done = True
                label = {"metadata": {"labels": {"a": "b"}}}
                await self.server.client.call("PATCH", f"{FLOCKS}/f", obj=label, content_type=MERGE["Content-Type"])

    faster = Faster()
    with serve(Api(Group(GROUP, FLOCK), admission=[faster])) as server:
        faster.server = server
        flock = {"apiVersion": f"{GROUP}/v1", "kind": "Flock", "metadata": {"name": "f"}, "spec": {"sheep": 2}}
        server.request("POST", FLOCKS, body=flock)
        assert scaled(server, 3).status == 200
        assert whole(server)["metadata"]["labels"] == {"a": "b"}
        assert whole(server)["spec"]["sheep"] == 3
        faster.done = False
        revision = whole(server)["metadata"]["resourceVersion"]
        server.request("PATCH", f"{FLOCKS}/f", {}, MERGE, {"metadata": {"labels": None}})
        assert scaled(server, 4, resourceVersion=revision).status == 409


def test_a_number_that_was_wrong_before_is_refused_but_where_status_is_written() -> None:
    """A kind of the cluster; without a scale, one of its versions lets a number below 0 in."""
    versions = {"v1": Version(Pen), "v1beta1": Version(Pen, scale=False)}
    pen = Kind("Pen", scope=CLUSTER, storage="v1", versions=versions, scale=SCALE)
    with serve(Api(Group(GROUP, pen))) as server:
        made = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Pen", "metadata": {"name": "p"}, "spec": {"sheep": -1}}
        assert server.request("POST", PENS.format("v1beta1"), body=made).status == 201
        one = f"{PENS.format('v1')}/p"
        assert server.request("GET", f"{one}/scale").json()["spec"] == {"replicas": -1}
        label = {"metadata": {"labels": {"a": "b"}}}
        refused = server.request("PATCH", one, {}, MERGE, label)
        assert [cause["field"] for cause in failure(refused)["details"]["causes"]] == [".spec.sheep"]
        assert server.request("PATCH", f"{one}/status", {}, MERGE, {"status": {"sheep": 1}}).status == 200
        refused = server.request("PATCH", f"{one}/status", {}, MERGE, {"status": {"sheep": -1}})
        assert [cause["field"] for cause in failure(refused)["details"]["causes"]] == [".status.sheep"]
        assert server.request("PATCH", f"{one}/scale", {}, MERGE, {"spec": {"replicas": 4}}).status == 200
        assert "namespace" not in server.request("GET", f"{one}/scale").json()["metadata"]


def test_what_the_number_is_in_has_its_defaults() -> None:
    """It may be new; a default that validation refuses is filled in all the same, as kube-apiserver does once it reads the object."""
    spec: dict[str, Any] = {
        "type": "object",
        "properties": {
            "replicas": {"type": "integer"},
            "pens": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "default": ["a", "a"]},
        },
    }  # fmt: skip
    schema = {"type": "object", "properties": {"spec": spec}}
    counted = Scale(spec_replicas_path=".spec.replicas", status_replicas_path=".status.replicas")
    behaviour = replace(CUSTOM_RESOURCE, defined=True)
    kind = Kind(
        "Flock", versions={"v1": Version(schema)}, storage="v1", scale=counted, status=True, behaviour=behaviour
    )
    with serve(Api(Group(GROUP, kind))) as server:
        flock = {"apiVersion": f"{GROUP}/v1", "kind": "Flock", "metadata": {"name": "f"}}
        assert server.request("POST", FLOCKS, body=flock).status == 201
        assert scaled(server, 3).status == 200
        assert whole(server)["spec"] == {"replicas": 3, "pens": ["a", "a"]}


def test_it_is_applied(server: InMemoryServer) -> None:
    """Whoever applies the number manages it, under the object's name for it; kube-apiserver fails here."""
    form = {"Content-Type": "application/apply-patch+yaml"}
    wanted = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "f"},
        "spec": {"replicas": 7},
    }
    answer = server.request("PATCH", f"{FLOCKS}/f/scale", {"fieldManager": "hpa", "force": "true"}, form, wanted)
    assert (answer.status, answer.json()["spec"]) == (200, {"replicas": 7})
    after = whole(server)
    assert after["spec"]["sheep"] == 7
    (entry,) = [each for each in after["metadata"]["managedFields"] if each["manager"] == "hpa"]
    assert (entry["operation"], entry["subresource"]) == ("Apply", "scale")
    assert entry["fieldsV1"] == {"f:spec": {"f:sheep": {}}}
