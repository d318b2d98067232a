"""What becomes of definitions: names, conditions, kinds; as apiextensions-apiserver does it."""

from __future__ import annotations

from functools import partial

from twisted.internet.defer import Deferred, gatherResults

from extapi import Review
from extapi.client.kube import ResourceName
from extapi.controlplane.customresources.served import DEFINITIONS as DEFINITION
from tests.unit.controlplane.customresources.plane import CRONTABS, DEFINITIONS, definition, plane, version

NAME = "crontabs.stable.example.com"


def test_a_definition_is_established_and_its_kind_is_there() -> None:
    with plane() as cluster:
        found = cluster.define(definition(shortNames=["ct"], categories=["all"]))
        assert cluster.conditions(NAME) == {
            "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
            "Established": ("True", "InitialNamesAccepted", "the initial names have been accepted"),
        }
        names = {"plural": "crontabs", "singular": "crontab", "kind": "Crontab", "listKind": "CrontabList"}
        assert found["status"]["acceptedNames"] == {**names, "shortNames": ["ct"], "categories": ["all"]}
        assert found["status"]["storedVersions"] == ["v1"]
        assert found["metadata"]["generation"] == 1
        assert cluster.create(CRONTABS, "Crontab", "one") == 201
        listed = cluster.server.request("GET", "/apis/stable.example.com/v1").json()["resources"]
        assert [(each["name"], each["shortNames"], each["categories"]) for each in listed] == [
            ("crontabs", ["ct"], ["all"])
        ]


def test_many_at_once_are_all_served() -> None:
    with plane() as cluster:
        names = [f"kind{number}s" for number in range(20)]

        async def create_all() -> None:
            create = partial(cluster.server.client.create, ResourceName(*DEFINITION))
            await gatherResults([Deferred.fromCoroutine(create(definition(name))) for name in names])

        cluster.server.run(create_all())
        cluster.server.advance(1)
        listed = cluster.server.request("GET", "/apis/stable.example.com/v1").json()["resources"]
        assert sorted(each["name"] for each in listed) == sorted(names)


def test_of_two_that_want_a_name_the_older_one_has_it_until_it_is_gone() -> None:
    with plane() as cluster:
        cluster.define(definition(shortNames=["ct"]))
        other = cluster.define(definition("timers", shortNames=["ct"]))
        assert cluster.conditions("timers.stable.example.com") == {
            "NamesAccepted": ("False", "ShortNamesConflict", '"ct" is already in use'),
            "Established": ("False", "NotAccepted", "not all names are accepted"),
        }
        assert "shortNames" not in other["status"]["acceptedNames"]
        path = "/apis/stable.example.com/v1/namespaces/default/timers"
        assert cluster.server.request("GET", path).status == 404
        cluster.server.request("DELETE", f"{DEFINITIONS}/{NAME}")
        cluster.server.advance(1)
        assert cluster.conditions("timers.stable.example.com")["Established"][0] == "True"
        assert cluster.server.request("GET", path).status == 200


def test_a_conflict_after_it_was_established_leaves_it_its_old_names() -> None:
    with plane() as cluster:
        cluster.define(definition(shortNames=["ct"]))
        cluster.define(definition("timers", shortNames=["tm"]))
        found = cluster.change("timers.stable.example.com", {"spec": {"names": {"shortNames": ["ct"]}}})
        assert found["status"]["acceptedNames"]["shortNames"] == ["tm"]
        conditions = cluster.conditions("timers.stable.example.com")
        assert conditions["NamesAccepted"] == ("False", "ShortNamesConflict", '"ct" is already in use')
        assert conditions["Established"][0] == "True"
        listed = cluster.server.request("GET", "/apis/stable.example.com/v1").json()["resources"]
        assert {each["name"]: each["shortNames"] for each in listed} == {"crontabs": ["ct"], "timers": ["tm"]}


def test_a_new_storage_version_is_remembered() -> None:
    with plane() as cluster:
        cluster.define(definition("crontabs", version("v1beta1")))
        both = [version("v1beta1", storage=False), version("v1")]
        found = cluster.change(NAME, {"spec": {"versions": both}})
        assert found["status"]["storedVersions"] == ["v1beta1", "v1"]
        assert found["metadata"]["generation"] == 2
        answer = cluster.server.request(
            "PATCH",
            f"{DEFINITIONS}/{NAME}",
            headers={"Content-Type": "application/merge-patch+json"},
            body={"spec": {"versions": [version("v1")]}},
        )
        assert answer.status == 422
        assert "status.storedVersions[0]" in answer.json()["message"]
        cluster.change(NAME, {"status": {"storedVersions": ["v1"]}}, "/status")
        assert cluster.change(NAME, {"spec": {"versions": [version("v1")]}})["status"]["storedVersions"] == ["v1"]
        assert cluster.server.request("GET", "/apis/stable.example.com/v1beta1").status == 404


def test_a_kind_of_the_control_plane_keeps_its_place() -> None:
    with plane() as cluster:
        obj = definition("apiservices", group="apiregistration.k8s.io", kind="APIService", singular="apiservice")
        obj["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
        cluster.define(obj)
        conditions = cluster.conditions("apiservices.apiregistration.k8s.io")
        assert conditions["Established"][:2] == ("False", "NotServed")
        assert "already in use" in conditions["Established"][2]
        assert conditions["KubernetesAPIApprovalPolicyConformant"][:2] == ("False", "UnapprovedAnnotation")
        cluster.server.request("DELETE", f"{DEFINITIONS}/apiservices.apiregistration.k8s.io")
        cluster.server.advance(1)
        assert cluster.server.request("GET", f"{DEFINITIONS}/apiservices.apiregistration.k8s.io").status == 404
        assert cluster.server.request("GET", "/apis/apiregistration.k8s.io/v1/apiservices").status == 200


def test_a_status_that_could_not_be_written_is_written_later() -> None:
    class Refusing:
        refused = 0

        async def validate(self, review: Review) -> None:
            if review.resource == "customresourcedefinitions" and review.subresource == "status" and not self.refused:
                self.refused += 1
                review.refuse("not now")

    refusing = Refusing()
    with plane(admission=[refusing]) as cluster:
        cluster.define(definition())
        cluster.server.advance(1)
        assert refusing.refused == 1
        assert cluster.conditions(NAME)["Established"][0] == "True"
        assert cluster.create(CRONTABS, "Crontab", "one") == 201
