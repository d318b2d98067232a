"""Reviews that can be answered and are about something impossible: a refusal with a Status that says what."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Forbidden, NotFound
from extapi.webhooks.admitting import refusal_of, webhook_annotations
from tests.unit.webhooks.asking import lamps, recorded
from tests.unit.webhooks.test_mutating import changed

KIND = recorded()["lamp-create/admit"].review["request"]["kind"]
LAMP = recorded()["lamp-create/admit"].review["request"]["object"]


@pytest.mark.parametrize("what", ["admit", "validate"])
@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"object": None}, "request.object is missing in a review of CREATE"),
        ({"operation": "UPDATE"}, "request.oldObject is missing in a review of UPDATE"),
        ({"operation": "CONNECT"}, "custom resources have no CONNECT"),
        ({"object": []}, "request.object: expected an object, got list"),
        ({"object": 7}, "request.object: expected an object, got int"),
        ({"object": {}}, "request.object is not the Lamp of hooked.example.com/v1 that request.kind announces"),
        ({"object": {**LAMP, "kind": "Chair"}}, "request.object is not the Lamp of"),
        ({"object": {**LAMP, "metadata": "x"}}, "request.object.metadata is no object"),
        ({"object": {**LAMP, "metadata": {"labels": 1}}}, 'Lamp in version "v1" cannot be handled as a Lamp'),
        ({"oldObject": {"kind": "Lamp"}}, "request.oldObject is not the Lamp of"),
        ({"kind": {**KIND, "kind": "Chair"}}, "this path is for Lamp of hooked.example.com in v1, got"),
        ({"kind": {**KIND, "group": "x.example.com"}}, '"x.example.com/v1, Kind=Lamp"'),
        ({"kind": {**KIND, "version": "v9"}}, "correct the rules or the path of the webhook configuration"),
        ({"kind": {}}, "this path is for Lamp"),
        ({"subResource": "log"}, '"hooked.example.com/v1, Kind=Lamp, subresource log"'),
        ({"subResource": "scale"}, "request.object is not the Scale of autoscaling/v1 that request.kind announces"),
    ],
)
def test_what_does_not_fit(what: str, members: dict[str, Any], text: str) -> None:
    case = changed(f"lamp-create/{what}", **members)
    response = lamps().ask(case).response
    assert response["uid"] == case.review["request"]["uid"]
    assert (response["allowed"], response["status"]["code"], response["status"]["status"]) == (False, 400, "Failure")
    assert text in response["status"]["message"]


def test_an_object_nested_too_deeply() -> None:
    deep: Any = 1
    for _ in range(250):
        deep = [deep]
    status = lamps().ask(changed("lamp-create/admit", object={**LAMP, "spec": {"deep": deep}})).response["status"]
    assert (status["code"], status["message"]) == (400, "request.object: exceeded max depth")


def test_refusals_lose_the_beginning_that_kube_apiserver_replaces() -> None:
    assert refusal_of(Forbidden.on("lamps", "g.example.com", "a", "no"))["message"] == "no"
    assert refusal_of(Forbidden("may not"))["message"] == "may not"
    assert (
        refusal_of(Forbidden.on("lamps", "g.example.com", "a", ""))["message"]
        == 'lamps.g.example.com "a" is forbidden: '
    )
    assert refusal_of(NotFound.named("lots", "g", "a"))["code"] == 404


def test_audit_annotations_are_named_without_a_prefix() -> None:
    """kube-apiserver makes ``webhook.example.com/KEY`` of a key, which may have no slash and 63 characters."""
    long = "k" * 60
    assert webhook_annotations({"plugin/a": "1", f"plugin/{long}": "2", f"other/{long}": "3"}) == {
        "plugin.a": "1",
        long: "2",
    }
