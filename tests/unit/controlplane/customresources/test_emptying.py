"""The end of a definition: its objects go first; conditions are those of apiextensions-apiserver/pkg/controller/finalizer."""

from __future__ import annotations

import pytest

from extapi import Operation, Review
from tests.unit.controlplane.customresources.plane import CRONTABS, DEFINITIONS, MERGE, definition, plane, version

NAME = "crontabs.stable.example.com"
PATH = f"{DEFINITIONS}/{NAME}"


def test_its_objects_go_in_every_namespace_and_then_itself() -> None:
    with plane() as cluster:
        cluster.define(definition())
        for namespace in ("default", "other"):
            cluster.create(CRONTABS.replace("default", namespace), "Crontab", "one")
        left = cluster.server.request("DELETE", PATH).json()
        assert left["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        assert left["metadata"]["generation"] == 1
        assert "deletionGracePeriodSeconds" not in left["metadata"]
        cluster.server.advance(2)
        assert cluster.server.request("GET", PATH).status == 404
        cluster.define(definition())
        assert cluster.server.request("GET", "/apis/stable.example.com/v1/crontabs").json()["items"] == []


def test_what_a_finalizer_keeps_is_waited_for_and_told() -> None:
    with plane() as cluster:
        cluster.define(definition())
        cluster.create(CRONTABS, "Crontab", "held", finalizers=["example.com/mine"])
        cluster.server.request("DELETE", PATH)
        cluster.server.advance(2)
        text = "CustomResource deletion is in progress"
        assert cluster.conditions(NAME)["Terminating"] == ("True", "InstanceDeletionInProgress", text)
        watch = cluster.server.watch(DEFINITIONS, {"resourceVersion": "0"})
        cluster.server.advance(61)
        told = [obj["status"]["conditions"][-1] for _, obj in watch.events]
        text = "could not confirm zero CustomResources remaining: context deadline exceeded"
        assert ("InstanceDeletionCheck", text) in {(each["reason"], each["message"]) for each in told}
        cluster.server.request("PATCH", f"{CRONTABS}/held", headers=MERGE, body={"metadata": {"finalizers": []}})
        cluster.server.advance(10)
        assert cluster.server.request("GET", PATH).status == 404


def test_one_that_was_never_established_goes_at_once() -> None:
    with plane() as cluster:
        cluster.define(definition(shortNames=["ct"]))
        cluster.define(definition("timers", shortNames=["ct"]))
        path = f"{DEFINITIONS}/timers.stable.example.com"
        watch = cluster.server.watch(DEFINITIONS, {"resourceVersion": "0"})
        cluster.server.request("DELETE", path)
        cluster.server.advance(1)
        assert cluster.server.request("GET", path).status == 404
        last = watch.events[-1]
        assert last[0] == "DELETED"
        assert last[1]["status"]["conditions"][-1]["reason"] == "InstanceDeletionInProgress"


def test_other_finalizers_keep_it_after_its_objects_are_gone() -> None:
    with plane() as cluster:
        obj = definition()
        obj["metadata"]["finalizers"] = ["example.com/mine"]
        cluster.define(obj)
        cluster.create(CRONTABS, "Crontab", "one")
        cluster.server.request("DELETE", PATH)
        cluster.server.advance(2)
        assert cluster.definition(NAME)["metadata"]["finalizers"] == ["example.com/mine"]
        assert cluster.conditions(NAME)["Terminating"] == (
            "False",
            "InstanceDeletionCompleted",
            "removed all instances",
        )
        cluster.server.request("PATCH", PATH, headers=MERGE, body={"metadata": {"finalizers": []}})
        cluster.server.advance(1)
        assert cluster.server.request("GET", PATH).status == 404


def test_objects_of_a_kind_without_a_served_version_go_too() -> None:
    with plane() as cluster:
        cluster.define(definition())
        cluster.create(CRONTABS, "Crontab", "one")
        cluster.create(CRONTABS, "Crontab", "held", finalizers=["example.com/mine"])
        cluster.change(NAME, {"spec": {"versions": [version("v1", served=False)]}})
        assert cluster.server.request("GET", CRONTABS).status == 404
        cluster.server.request("DELETE", PATH)
        cluster.server.advance(2)
        text = "CustomResource deletion is in progress"
        assert cluster.conditions(NAME)["Terminating"] == ("True", "InstanceDeletionInProgress", text)
        cluster.change(NAME, {"spec": {"versions": [version("v1")]}})
        (left,) = cluster.server.request("GET", CRONTABS).json()["items"]
        assert left["metadata"]["name"] == "held"
        assert "deletionTimestamp" in left["metadata"]
        cluster.server.request("PATCH", f"{CRONTABS}/held", headers=MERGE, body={"metadata": {"finalizers": []}})
        cluster.server.advance(70)
        assert cluster.server.request("GET", PATH).status == 404


def test_one_whose_objects_cannot_be_deleted_is_tried_again_with_patience() -> None:
    """``crd_finalizer.go``: what the finalizer itself has written would make it "hot-loop"."""

    class Keeping:
        refused = 0

        async def validate(self, review: Review) -> None:
            if review.operation == Operation.DELETE and review.resource == "crontabs" and self.refused < 100:
                self.refused += 1
                review.refuse("it is mine")

    keeping = Keeping()
    with plane(admission=[keeping]) as cluster:
        cluster.define(definition())
        assert cluster.create(CRONTABS, "Crontab", "one") == 201
        assert cluster.server.request("DELETE", f"{DEFINITIONS}/{NAME}").status == 200
        cluster.server.advance(5)
        status, reason, message = cluster.conditions(NAME)["Terminating"]
        assert (status, reason) == ("True", "InstanceDeletionFailed")
        assert "it is mine" in message
        # At once, and after 0.5, 1 and 2 seconds.
        assert keeping.refused == 4
        keeping.refused = 100
        cluster.server.advance(10)
        assert cluster.server.request("GET", f"{DEFINITIONS}/{NAME}").status == 404


def test_all_pages_of_the_store_are_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.controlplane.customresources.emptying.PAGE", 2)
    with plane() as cluster:
        cluster.define(definition())
        for number in range(5):
            assert cluster.create(CRONTABS, "Crontab", f"o{number}") == 201
        cluster.change(NAME, {"spec": {"versions": [version("v1", served=False)]}})
        cluster.server.request("DELETE", PATH)
        cluster.server.advance(5)
        assert cluster.server.request("GET", PATH).status == 404


def test_objects_go_in_a_version_that_is_served() -> None:
    with plane() as cluster:
        cluster.define(definition("crontabs", version("v1"), version("v0", served=False, storage=False)))
        assert cluster.create(CRONTABS, "Crontab", "one") == 201
        cluster.change(NAME, {"spec": {"versions": [version("v1", storage=False), version("v0", served=False)]}})
        cluster.server.request("DELETE", PATH)
        cluster.server.advance(5)
        assert cluster.server.request("GET", PATH).status == 404


def test_objects_of_the_control_plane_are_no_instances() -> None:
    """``crd_finalizer.go``: OverlappingBuiltInResource, whatever the other conditions say."""
    name = "apiservices.apiregistration.k8s.io"
    obj = definition("apiservices", group="apiregistration.k8s.io", kind="APIService", singular="apiservice")
    obj["metadata"] |= {"annotations": {"api-approved.kubernetes.io": "unapproved, a test"}, "finalizers": ["a.b/mine"]}
    with plane() as cluster:
        cluster.define(definition())
        cluster.define(obj)
        established = {"type": "Established", "status": "True", "reason": "r", "message": "m"}
        cluster.change(name, {"status": {"conditions": [established]}}, "/status")
        assert cluster.server.request("DELETE", f"{DEFINITIONS}/{name}").status == 200
        cluster.server.advance(5)
        assert cluster.conditions(name)["Terminating"] == (
            "False",
            "OverlappingBuiltInResource",
            "instances overlap with built-in resources in storage",
        )
        assert cluster.server.request("GET", "/apis/apiregistration.k8s.io/v1/apiservices").json()["items"]
