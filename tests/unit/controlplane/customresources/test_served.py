"""The kinds of definitions as clients see them: what goes on, what ends, and what comes back after a restart."""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from extapi.crd.kinds import MOST_VERSIONS
from extapi.storage.memory import MemoryBackend
from extapi.testing.memory import START
from tests.unit.controlplane.customresources.plane import CRONTABS, MERGE, SCHEMA, definition, plane, version

NAME = "crontabs.stable.example.com"


def test_watches_go_on_while_other_definitions_come_and_go() -> None:
    with plane() as cluster:
        cluster.define(definition())
        watch = cluster.server.watch(CRONTABS)
        cluster.define(definition("timers"))
        cluster.change("timers.stable.example.com", {"spec": {"names": {"shortNames": ["tm"]}}})
        cluster.change(NAME, {"metadata": {"labels": {"a": "b"}}})
        assert cluster.create(CRONTABS, "Crontab", "one") == 201
        cluster.server.advance(1)
        assert not watch.ended
        assert [(kind, obj["metadata"]["name"]) for kind, obj in watch.events] == [("ADDED", "one")]


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"names": {"shortNames": ["ct"]}}},
        {"spec": {"versions": [version("v1", additionalPrinterColumns=[])]}},
        {"spec": {"versions": [version("v1"), version("v2", storage=False)]}},
    ],
    ids=["names", "nothing", "versions"],
)
def test_watches_end_when_the_definition_says_something_else(
    patch: dict[str, object], request: pytest.FixtureRequest
) -> None:
    with plane() as cluster:
        cluster.define(definition())
        watch = cluster.server.watch(CRONTABS)
        cluster.change(NAME, patch)
        assert watch.ended is (request.node.callspec.id != "nothing")


def test_the_kinds_are_there_before_the_server_is_ready_again() -> None:
    clock = Clock()
    clock.advance(START)
    backend = MemoryBackend(clock)
    with plane(backend, clock) as cluster:
        assert cluster.served.check() is None
        cluster.define(definition("crontabs", version("v1", schema=SCHEMA)))
        assert cluster.create(CRONTABS, "Crontab", "one") == 201
        assert cluster.create(CRONTABS, "Crontab", "two") == 201
        entries = cluster.server.run(backend.page(b"", at=None, after=b"", limit=0)).entries
    kept = MemoryBackend(clock)  # as the first one was: stopping closed it
    for each in entries:
        cluster.server.run(kept.commit(each.key, each.value, expected=0))
    with plane(kept, clock) as restarted:
        assert {each["metadata"]["name"] for each in restarted.server.request("GET", CRONTABS).json()["items"]} == {
            "one",
            "two",
        }


def test_discovery_of_a_kind_that_is_emptied_lists_fewer_verbs_and_nothing_can_be_created() -> None:
    with plane() as cluster:
        cluster.define(definition())
        cluster.create(CRONTABS, "Crontab", "held", finalizers=["example.com/mine"])
        watch = cluster.server.watch(CRONTABS, {"resourceVersion": "0"})
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
        assert cluster.server.request("DELETE", path).json()["status"]["conditions"][-1] | {
            "lastTransitionTime": ""
        } == {
            "type": "Terminating",
            "status": "True",
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            "lastTransitionTime": "",
        }
        cluster.server.advance(1)
        entry = cluster.server.request("GET", "/apis/stable.example.com/v1").json()["resources"][0]
        assert entry["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]
        body = {"apiVersion": "stable.example.com/v1", "kind": "Crontab", "metadata": {"name": "new"}}
        refused = cluster.server.request("POST", CRONTABS, body=body)
        assert (refused.status, refused.json()["message"]) == (
            403,
            'crontabs.stable.example.com "new" is forbidden: create not allowed while custom resource definition is terminating',
        )
        released = cluster.server.request(
            "PATCH", f"{CRONTABS}/held", headers=MERGE, body={"metadata": {"finalizers": []}}
        )
        assert released.status == 200
        cluster.server.advance(0.1)
        assert watch.events[-1][0] == "DELETED", "a watch sees how the kind is emptied"
        cluster.server.advance(10)
        assert cluster.server.request("GET", path).status == 404
        assert cluster.server.request("GET", CRONTABS).status == 404
        assert watch.ended


def test_a_version_in_which_objects_are_stored_is_served_until_they_are_rewritten() -> None:
    old = "/apis/stable.example.com/v1beta1/namespaces/default/crontabs"
    with plane() as cluster:
        cluster.define(definition("crontabs", version("v1beta1")))
        assert cluster.create(old, "Crontab", "one") == 201
        cluster.change(NAME, {"spec": {"versions": [version("v1beta1", storage=False), version("v1")]}})
        cluster.change(NAME, {"status": {"storedVersions": ["v1"]}}, "/status")
        cluster.change(NAME, {"spec": {"versions": [version("v1")]}})
        assert cluster.server.request("GET", f"{old}/one").status == 200
        rewritten = cluster.server.request("GET", f"{CRONTABS}/one").json()
        rewritten["metadata"]["labels"] = {"a": "b"}
        assert cluster.server.request("PUT", f"{CRONTABS}/one", body=rewritten).status == 200
        cluster.server.advance(31)
        assert cluster.server.request("GET", f"{old}/one").status == 404
        assert cluster.server.request("GET", f"{CRONTABS}/one").status == 200


def test_names_that_others_have_come_when_they_are_free() -> None:
    """``naming_controller.go``: a definition that is established is served under its accepted names."""

    def short_names() -> list[str]:
        found = cluster.server.request("GET", "/apis/stable.example.com/v1").json()["resources"]
        return next(each.get("shortNames", []) for each in found if each["name"] == "crontabs")

    with plane() as cluster:
        cluster.define(definition())
        cluster.define(definition("timers", shortNames=["tm"]))
        cluster.change(NAME, {"spec": {"names": {"shortNames": ["tm"]}}})
        assert cluster.conditions(NAME)["NamesAccepted"][0] == "False"
        assert cluster.create(CRONTABS, "Crontab", "one") == 201
        assert short_names() == []
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/timers.stable.example.com"
        assert cluster.server.request("DELETE", path).status == 200
        cluster.server.advance(10)
        assert cluster.conditions(NAME)["NamesAccepted"][0] == "True"
        assert short_names() == ["tm"]


def test_a_definition_of_which_no_kind_can_be_made_is_served_as_it_was() -> None:
    many = [version(f"v{n}", storage=n == 1) for n in range(1, MOST_VERSIONS + 2)]
    with plane() as cluster:
        cluster.define(definition())
        watch = cluster.server.watch(CRONTABS)
        cluster.change(NAME, {"spec": {"versions": many}})
        assert cluster.create(CRONTABS, "Crontab", "one") == 201
        assert not watch.ended
        cluster.change(NAME, {"spec": {"versions": many[:2]}})
        assert cluster.create(CRONTABS.replace("/v1/", "/v2/"), "Crontab", "two") == 201
