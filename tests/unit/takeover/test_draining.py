"""The change that makes kube-apiserver end its requests and watches, and the wait for it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.takeover.draining import REMARK, SECONDS, change, description_patch, drain, restore
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.moved import moved
from tests.kubernetes.moving import NAME
from tests.unit.client.kubernetes import Answer
from tests.unit.takeover.tables import cluster, now, status, table
from tests.unit.takeover.world import LIVE

KIND = moved(LIVE)
AT = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
CRATES = "/apis/moving.example.com/v1/crates"
PATH = "/spec/versions/0/schema/openAPIV3Schema/description"


def described(text: str | None) -> dict[str, Any]:
    made = copy.deepcopy(LIVE)
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema.pop("description", None)
    if text is not None:
        schema["description"] = text
    return made


@pytest.mark.parametrize(
    ("before", "operation"),
    [
        ("A crate.", {"op": "add", "path": PATH, "value": f"A crate.{REMARK}"}),
        (f"A crate.{REMARK}", {"op": "add", "path": PATH, "value": "A crate."}),
        (None, {"op": "add", "path": PATH, "value": REMARK}),
        (REMARK, {"op": "remove", "path": PATH}),
    ],
)
def test_the_remark_is_made_and_taken_back(before: str | None, operation: dict[str, str]) -> None:
    kube = table({AT: described(before), f"PATCH {AT}": LIVE})
    now(change(cluster(kube), KIND))
    sent = json.loads(kube.requests[-1].body or b"")
    assert sent == [{"op": "test", "path": "/metadata/resourceVersion", "value": "7"}, operation]


def test_the_definition_is_as_it_was_at_the_end() -> None:
    kube = table({AT: described("A crate.")})
    now(restore(cluster(kube), KIND))
    assert [each.method for each in kube.requests] == ["GET"]
    kube = table({AT: described(f"A crate.{REMARK}"), f"PATCH {AT}": [status(422, "Invalid"), LIVE]})
    now(restore(cluster(kube), KIND))
    assert [each.method for each in kube.requests] == ["GET", "PATCH", "GET", "PATCH"]


def test_a_definition_without_schema_is_told() -> None:
    made = copy.deepcopy(LIVE)
    del made["spec"]["versions"][0]["schema"]
    with pytest.raises(TakeoverFailure, match=r"crates.moving.example.com has no schema for v1: give it one"):
        description_patch(made, str.upper)


def test_a_refusal_is_told() -> None:
    kube = table({AT: described("A"), f"PATCH {AT}": status(403, "Forbidden", "no")})
    with pytest.raises(TakeoverFailure, match=r"cannot be changed: 403 no"):
        now(change(cluster(kube), KIND))
    kube = table({AT: described("A"), f"PATCH {AT}": status(409, "Conflict", "no")})
    with pytest.raises(TakeoverFailure, match=r"cannot be changed: 409 no; run it again"):
        now(change(cluster(kube), KIND))


def test_it_waits_until_a_watch_from_before_has_ended() -> None:
    clock, watch = Clock(), Answer(200, stream=True)
    listed = {"metadata": {"resourceVersion": "9"}, "items": []}
    kube = table({CRATES: [listed, watch], AT: described("A"), f"PATCH {AT}": LIVE})
    draining = Deferred.fromCoroutine(drain(cluster(kube, clock), KIND))
    assert [each.method for each in kube.requests] == ["GET", "GET", "GET", "PATCH"]
    assert dict(kube.requests[1].query)["resourceVersion"] == "9"
    watch.send("ADDED", {"metadata": {}})
    waiting = [draining.called]
    watch.end()
    waiting.append(draining.called)
    assert waiting == [False, True]
    assert watch.closed
    assert clock.getDelayedCalls() == []


def test_requests_that_do_not_end_are_told() -> None:
    clock, watch = Clock(), Answer(200, stream=True)
    listed = {"metadata": {"resourceVersion": "9"}, "items": []}
    kube = table({CRATES: [listed, watch], AT: described("A"), f"PATCH {AT}": LIVE})
    draining = Deferred.fromCoroutine(drain(cluster(kube, clock), KIND))
    clock.advance(SECONDS + 1)
    failures: list[Any] = []
    draining.addErrback(failures.append)
    assert "have not ended within 150 s; run it again" in str(failures[0].value)
