"""A freeze refuses all writes, is proved, and is told from another one. That kube-apiserver obeys it: tests/kubernetes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from twisted.internet.task import Clock

from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.freeze import PROOFS, Freeze
from extapi.takeover.moved import moved
from tests.kubernetes.moving import NAME
from tests.unit.client.kubernetes import Answer
from tests.unit.takeover.tables import cluster, now, status, table
from tests.unit.takeover.world import LIVE

KIND = moved(LIVE)
AT = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BOUND = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
MINE = f"extapi-takeover.{NAME}"
CRATES = "/apis/moving.example.com/v1/crates"
ONE = "/apis/moving.example.com/v1/namespaces/default/crates/one"
LIST = {"metadata": {"resourceVersion": "9"}, "items": [{"metadata": {"name": "one", "namespace": "default"}}]}
DENIED = status(
    403, "Forbidden", f"ValidatingAdmissionPolicy '{MINE}' with binding '{MINE}' denied request: it is moving"
)


def live(obj: dict[str, Any], uid: str, generation: int = 1) -> dict[str, Any]:
    """As kube-apiserver has it, with what it fills in."""
    spec = {**obj["spec"], "matchConditions": None} if "validations" in obj["spec"] else obj["spec"]
    return {
        **obj,
        "metadata": {**obj["metadata"], "uid": uid, "generation": generation, "resourceVersion": "1"},
        "spec": spec,
    }


def there(freeze: Freeze) -> dict[str, Any]:
    """Both objects, as they are."""
    return {f"{AT}/{MINE}": live(freeze.policy(), "p"), f"{BOUND}/{MINE}": live(freeze.binding(), "b")}


def test_the_policy_refuses_every_write_of_the_kind() -> None:
    freeze = Freeze(cluster({}), KIND)
    assert freeze.policy()["spec"] == {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": ["moving.example.com"],
                    "apiVersions": ["*"],
                    "resources": ["crates", "crates/*"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                }
            ]
        },
        "validations": [
            {
                "expression": "false",
                "message": "crates.moving.example.com is moving to another server, and takes no writes meanwhile: "
                "try again in some seconds",
                "reason": "Forbidden",
            }
        ],
    }
    assert freeze.binding()["spec"] == {"policyName": MINE, "validationActions": ["Deny"]}


def test_an_exporter_is_named_as_a_cel_string() -> None:
    freeze = Freeze(cluster({}), KIND, exempt='a"\\b')
    expression = freeze.policy()["spec"]["validations"][0]["expression"]
    assert expression.startswith('request.userInfo.username == "a\\"\\\\b" && (request.operation == \'DELETE\' || ')


def test_it_is_proved_by_several_refusals() -> None:
    clock = Clock()
    kube = table({})
    freeze = Freeze(cluster(kube, clock), KIND)
    answers = [Answer(200, {}), DENIED, Answer(200, {}), *[DENIED] * PROOFS]
    kube.react = table(
        {
            f"POST {AT}": Answer(201, {}),
            f"POST {BOUND}": Answer(201, {}),
            CRATES: LIST,
            f"PATCH {ONE}": answers,
            **there(freeze),
        }
    ).react
    assert now(freeze.begin(), clock) == "p/1/b/1"
    tried = [each for each in kube.requests if each.method == "PATCH"]
    assert len(tried) == 3 + PROOFS
    assert all(dict(each.query) == {"dryRun": "All", "fieldManager": "extapi-takeover"} for each in tried)
    assert {each.body for each in tried} == {b"{}"}


def test_without_objects_it_waits() -> None:
    clock = Clock()
    kube = table({})
    freeze = Freeze(cluster(kube, clock), KIND, settle=3.0)
    empty = {**LIST, "items": []}
    kube.react = table(
        {f"POST {AT}": Answer(201, {}), f"POST {BOUND}": Answer(201, {}), CRATES: empty, **there(freeze)}
    ).react
    now(freeze.begin(), clock)
    assert clock.seconds() == pytest.approx(3.0, abs=0.1)


def test_one_that_is_there_stays_and_another_is_replaced() -> None:
    kube = table({})
    freeze, other = Freeze(cluster(kube), KIND), Freeze(cluster(kube), KIND, exempt="x")
    taken = {f"POST {AT}": status(409, "AlreadyExists"), f"POST {BOUND}": status(409, "AlreadyExists"), **there(freeze)}
    kube.react = table(taken).react
    now(freeze.make())
    assert [each.method for each in kube.requests] == ["POST", "GET", "POST", "GET"]
    assert now(freeze.token()) == "p/1/b/1"
    assert now(other.token()) == ""
    kube.react = table({**taken, f"PUT {AT}/{MINE}": {}}).react
    now(other.make())
    (sent,) = [each for each in kube.requests if each.method == "PUT"]
    assert json.loads(sent.body or b"")["metadata"]["resourceVersion"] == "1"


def test_a_cluster_without_policies_is_told() -> None:
    with pytest.raises(TakeoverFailure, match=r"no ValidatingAdmissionPolicies .* give --writers-are-stopped"):
        now(Freeze(cluster({}), KIND).make())
    with pytest.raises(TakeoverFailure, match=r"cannot be frozen: 403 no"):
        now(Freeze(cluster({f"POST {AT}": status(403, "Forbidden", "no")}), KIND).make())


def test_a_freeze_that_nobody_obeys_is_told() -> None:
    clock = Clock()
    kube = table({})
    freeze = Freeze(cluster(kube, clock), KIND)
    kube.react = table({CRATES: LIST, f"PATCH {ONE}": Answer(200, {})}).react
    with pytest.raises(TakeoverFailure, match=r"waited 60 s for writes of .* to be refused: they are not yet"):
        now(freeze._prove(), clock)


def test_it_ends_with_its_binding_first() -> None:
    kube = table({f"DELETE {AT}/{MINE}": {}})
    now(Freeze(cluster(kube), KIND).end())
    assert [(each.method, each.path) for each in kube.requests] == [
        ("DELETE", f"{BOUND}/{MINE}"),
        ("DELETE", f"{AT}/{MINE}"),
    ]


def test_writes_are_taken_afterwards() -> None:
    clock = Clock()
    kube = table({CRATES: LIST, f"PATCH {ONE}": [DENIED, Answer(200, {}), DENIED, *[Answer(200, {})] * PROOFS]})
    now(Freeze(cluster(kube, clock), KIND).thaw(), clock)
    assert len([each for each in kube.requests if each.method == "PATCH"]) == 3 + PROOFS
    kube = table({CRATES: LIST, f"PATCH {ONE}": DENIED})
    with pytest.raises(TakeoverFailure, match=r"waited 60 s for writes of .* to be taken: they are refused"):
        now(Freeze(cluster(kube, clock), KIND).thaw(), clock)
