"""Validating reviews: strategy and plugins decide; the texts are those that kube-apiserver puts behind its own."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Api, Group, Kind, Version
from tests.kubernetes.hooked import Lamp
from tests.unit.webhooks.asking import Asked, lamps, pizzas_without_plugins, recorded
from tests.unit.webhooks.test_mutating import changed

RECORDED = recorded()
LAMP: dict[str, Any] = RECORDED["lamp-update/validate"].review["request"]["object"]


def lamp(labels: dict[str, str] | None = None, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    made = {**LAMP, "metadata": {**LAMP["metadata"], "labels": labels or {}}, "spec": {**LAMP["spec"], **spec}}
    return {**made, **({} if status is None else {"status": status})}


@pytest.mark.parametrize("case", ["create/validate", "refused/validate"])
def test_what_a_kube_apiserver_sent_is_allowed(case: str) -> None:
    found = RECORDED[case]
    response = pizzas_without_plugins().ask(found).response
    assert response == {"uid": found.review["request"]["uid"], "allowed": True}


def test_warnings() -> None:
    response = lamps().ask(RECORDED["lamp-create/validate"]).response
    assert (response["allowed"], response["warnings"]) == (True, ["lamps of more than 100 watts get hot"])


def test_the_strategy_refuses_with_all_its_errors() -> None:
    case = changed("lamp-update/validate", object=lamp(watts=10))
    response = lamps().ask(case).response
    assert not response["allowed"]
    assert "patch" not in response
    status = response["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"] == (
        'Lamp.hooked.example.com "desk" is invalid: spec.watts: Invalid value: 10: may not become less'
    )
    assert [each["field"] for each in status["details"]["causes"]] == ["spec.watts"]


def test_the_schema_is_between_an_object_and_the_code() -> None:
    status = lamps().ask(changed("lamp-create/validate", object=lamp(watts=0))).response["status"]
    assert (status["code"], "should be greater than or equal to 1" in status["message"]) == (422, True)


def test_values_that_were_there_before_pass() -> None:
    """Ratcheting (behaviour J26): kube-apiserver lets them pass too."""
    assert (
        lamps().ask(changed("lamp-update/validate", object=lamp(watts=0), oldObject=lamp(watts=0))).response["allowed"]
    )


def test_a_refusal_by_a_plugin_is_its_words_alone() -> None:
    kept = lamp({"keep": "yes"})
    for case in ("lamp-delete/validate",):
        status = lamps().ask(changed(case, oldObject=kept)).response["status"]
        assert (status["code"], status["reason"], status["message"]) == (403, "Forbidden", "it is to be kept")
        assert status["details"] == {"name": "desk", "group": "hooked.example.com", "kind": "lamps"}


def test_writes_of_subresources() -> None:
    broken = lamp(status={"lit": True, "replicas": 0}, tags=["broken"])
    status = lamps().ask(changed("lamp-status/validate", object=broken)).response["status"]
    assert status["message"] == "a broken lamp cannot be lit"
    scale = RECORDED["lamp-scale/validate"]
    assert lamps().ask(scale).response["allowed"]
    many = {**scale.review["request"]["object"], "spec": {"replicas": 6}}
    assert lamps().ask(changed("lamp-scale/validate", object=many)).response["status"]["message"] == "at most 5 lamps"


def test_what_has_lasting_effects_is_not_asked_in_a_dry_run() -> None:
    case = changed("lamp-create/validate", object=lamp(tags=["counted"]), dryRun=True)
    status = lamps().ask(case).response["status"]
    assert (status["code"], status["message"]) == (400, 'admission webhook "counted" does not support dry run')
    assert lamps().ask(changed("lamp-create/validate", object=lamp(tags=["counted"]))).response["allowed"]


def test_a_deletion_needs_the_object_that_goes() -> None:
    status = lamps().ask(changed("lamp-delete/validate", oldObject=None)).response["status"]
    assert (status["code"], status["message"]) == (400, "request.oldObject is missing in a review of DELETE")


def test_the_schema_counts_where_no_code_looks() -> None:
    """The definition may be looser than the types."""
    api = Api(Group("hooked.example.com", Kind("Lamp", storage="v1", versions={"v1": Version(Lamp)})))
    status = Asked(api).ask(changed("lamp-create/validate", object=lamp(watts=0))).response["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
