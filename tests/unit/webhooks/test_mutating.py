"""Mutating reviews: the patch, applied as kube-apiserver does, gives what ``extapi serve`` would store."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extapi import Api, Group, Kind, Operation, Review, Strategy, Version
from tests.kubernetes.hooked import Lamp, api as lamp_api
from tests.unit.webhooks.asking import Asked, Recorded, lamps, operations, patched, pizzas_without_plugins, recorded

Obj = dict[str, Any]
RECORDED = recorded()


def changed(case: str, **members: Any) -> Recorded:
    """A recorded review with other members of its request."""
    found = RECORDED[case]
    return Recorded(found.path, found.content_type, {**found.review, "request": {**found.review["request"], **members}})


def test_prepare_fills_in_the_toppings() -> None:
    case = RECORDED["create/admit"]
    response = pizzas_without_plugins().ask(case).response
    made = patched(case.review, response)
    assert made["spec"] == {"toppings": ["tomato", "mozzarella", "salami"]}
    assert {**made, "spec": None} == {**case.review["request"]["object"], "spec": None}


def test_defaults_are_filled_in_where_the_definition_has_none() -> None:
    """Chapter 9's definition has no defaults: its webhook adds the toppings to a pizza without a spec."""
    obj = dict(RECORDED["create/admit"].review["request"]["object"])
    del obj["spec"]
    case = changed("create/admit", object=obj)
    response = pizzas_without_plugins().ask(case).response
    assert operations(response) == [("add", "/spec")]
    assert patched(case.review, response)["spec"]["toppings"] == ["tomato", "mozzarella", "salami"]


def test_an_object_that_stays_as_it_is_has_no_patch() -> None:
    case = RECORDED["refused/admit"]
    response = pizzas_without_plugins().ask(case).response
    assert response == {"uid": case.review["request"]["uid"], "allowed": True}


def test_plugins_change_metadata_and_spec() -> None:
    case = RECORDED["lamp-create/admit"]
    response = lamps().ask(case).response
    made = patched(case.review, response)
    assert made["metadata"]["labels"] == {"made-by": "hooks"}
    assert (made["spec"]["owner"], made["spec"]["tags"]) == ("kubernetes-admin", ["a"])
    assert sorted(operations(response)) == [
        ("add", "/metadata/labels"),
        ("replace", "/spec/owner"),
        ("replace", "/spec/tags/0"),
    ]
    assert response["auditAnnotations"] == {"owned.owner": "kubernetes-admin"}


def test_an_object_without_a_name_yet() -> None:
    case = RECORDED["lamp-generate/admit"]
    assert "name" not in patched(case.review, lamps().ask(case).response)["metadata"]


def test_an_update_shows_the_stored_status_and_leaves_what_was_sent() -> None:
    """kube-apiserver drops the client's status after this review: the author sees what will be stored."""
    seen: list[bool] = []

    class Look:
        async def mutate(self, review: Review) -> None:
            seen.append(review.object.status.lit)

    case = RECORDED["lamp-update/admit"]
    assert case.review["request"]["object"]["status"] == {"lit": True, "replicas": 0}
    api = lamps_with(Look())
    response = Asked(api).ask(case).response
    assert operations(response) == [("replace", "/spec/tags/0")]
    assert "status" not in case.review["request"]["oldObject"]
    assert seen == [False]


def lamps_with(*plugins: Any) -> Api:
    return Api(*lamp_api.groups, admission=plugins)


class Meddler:
    """Changes everything."""

    async def mutate(self, review: Review) -> None:
        lamp = review.object
        lamp.metadata.uid = "mine"
        lamp.metadata.resource_version = "7"
        lamp.metadata.labels["a/b~c"] = "x"
        lamp.spec.watts = 1000
        lamp.status.lit = True


def test_what_is_kube_apiservers_cannot_be_changed() -> None:
    case = RECORDED["lamp-update/admit"]
    response = Asked(lamps_with(Meddler())).ask(case).response
    made = patched(case.review, response)
    sent = case.review["request"]["object"]
    for name in ("uid", "resourceVersion", "generation", "managedFields", "creationTimestamp"):
        assert made["metadata"][name] == sent["metadata"][name]
    assert made["metadata"]["labels"]["a/b~c"] == "x"
    assert (made["spec"]["watts"], made["status"]) == (1000, sent["status"])


def test_a_write_of_status_changes_status_alone() -> None:
    case = RECORDED["lamp-status/admit"]
    asked = Asked(lamps_with(Meddler()))
    assert "patch" not in asked.ask(case).response  # it is lit already
    dark = {**case.review["request"]["object"], "status": {"lit": False, "replicas": 1}}
    assert operations(asked.ask(changed("lamp-status/admit", object=dark)).response) == [("replace", "/status/lit")]


def test_a_write_of_scale_is_one_of_a_scale() -> None:
    class Less:
        async def mutate(self, review: Review) -> None:
            assert (review.resource, review.subresource, review.name) == ("lamps", "scale", "desk")
            review.object.spec.replicas = 1
            review.object.metadata.labels["dropped"] = "yes"

    response = Asked(lamps_with(Less())).ask(RECORDED["lamp-scale/admit"]).response
    assert operations(response) == [("replace", "/spec/replicas")]


def test_what_breaks_the_schema_is_shown_to_nobody_and_left_to_kube_apiserver() -> None:
    class Crash:
        async def mutate(self, review: Review) -> None:
            raise AssertionError(review.object)

    obj = {**RECORDED["lamp-create/admit"].review["request"]["object"], "spec": {"watts": 0}}
    case = changed("lamp-create/admit", object=obj)
    response = Asked(lamps_with(Crash())).ask(case).response
    assert response["allowed"]
    assert patched(case.review, response)["spec"]["watts"] == 0


def test_deletions_ask_with_the_object_that_goes() -> None:
    names: list[tuple[Operation, str, str]] = []

    class Look:
        async def mutate(self, review: Review) -> None:
            assert review.object is None
            names.append((review.operation, review.name, review.old_object.metadata.name))

    asked = Asked(lamps_with(Look()))
    for name in ("lamp-delete/admit", "lamp-deletecollection/admit"):
        response = asked.ask(RECORDED[name]).response
        assert response == {"uid": RECORDED[name].review["request"]["uid"], "allowed": True}
    kept = RECORDED["lamp-deletecollection/admit"].review["request"]["oldObject"]["metadata"]["name"]
    assert names == [(Operation.DELETE, "desk", "desk"), (Operation.DELETE, kept, kept)]
    assert asked.ask(changed("lamp-deletecollection/admit", oldObject=None)).response["allowed"]
    assert len(names) == 2


def test_the_review_is_what_the_request_was() -> None:
    seen: list[Review] = []

    class Look:
        async def mutate(self, review: Review) -> None:
            seen.append(review)

    Asked(lamps_with(Look())).ask(changed("lamp-create/admit", dryRun=True))
    (review,) = seen
    assert (review.user.name, review.user.groups[0]) == ("kubernetes-admin", "system:masters")
    assert (review.namespace, review.version, review.resource, review.dry_run) == ("default", "v1", "lamps", True)
    assert review.options["kind"] == "CreateOptions"


@pytest.mark.parametrize("error", [ValueError("a secret"), RecursionError()])
def test_a_plugin_that_fails_refuses_without_saying_why(error: Exception) -> None:
    class Crash:
        async def mutate(self, review: Review) -> None:
            raise error

    status = Asked(lamps_with(Crash())).ask(RECORDED["lamp-create/admit"]).response["status"]
    assert (status["code"], status["message"]) == (500, 'Internal error occurred: admission plugin "Crash" failed')


def test_a_strategy_that_fails_refuses_without_saying_why() -> None:
    class Crash(Strategy):
        def prepare(self, obj: Lamp, old: Lamp | None) -> None:
            raise ValueError("a secret")

    api = Api(Group("hooked.example.com", Kind("Lamp", storage="v1", versions={"v1": Version(Lamp)}, strategy=Crash())))
    status = Asked(api).ask(RECORDED["lamp-create/admit"]).response["status"]
    assert (status["code"], "secret" in json.dumps(status)) == (500, False)


def test_a_status_that_prepare_sets_is_dropped() -> None:
    """kube-apiserver would drop it, too; a patch of it might not apply to what the client sent."""

    class Lit(Strategy):
        def prepare(self, obj: Lamp, old: Lamp | None) -> None:
            obj.status.lit = True
            obj.spec.owner = "us"

    api = Api(Group("hooked.example.com", Kind("Lamp", storage="v1", versions={"v1": Version(Lamp)}, strategy=Lit())))
    for case in ("lamp-create/admit", "lamp-update/admit"):
        assert operations(Asked(api).ask(RECORDED[case]).response) == [("replace", "/spec/owner")]
