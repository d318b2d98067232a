"""The rules of writing policies and bindings: answers as recorded from kube-apiserver 1.36.3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.controlplane.policies.kinds import VALIDATING_ADMISSION_POLICY
from extapi.testing import InMemoryServer, serve
from tests.unit.controlplane.kinds.served import stored_kinds

ANSWERS = json.loads((Path(__file__).parent / "answers.json").read_text(encoding="utf-8"))
BASE = "/apis/admissionregistration.k8s.io/v1"
PATH = f"{BASE}/validatingadmissionpolicies"
RULE = {"operations": ["CREATE"], "apiGroups": ["none.test"], "apiVersions": ["v1"], "resources": ["nothings"]}
SPEC: dict[str, Any] = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture(scope="module")
def server() -> Iterator[InMemoryServer]:
    """All stored kinds."""
    with serve(stored_kinds(), lifecycle=False) as running:
        yield running


def test_writes_are_answered_as_kube_apiserver_does(server: InMemoryServer) -> None:
    for case in ANSWERS:
        body = {"metadata": {"name": case["name"]}, "spec": case["spec"]}
        answer = server.request("POST", f"{BASE}/{case['resource']}", query={"dryRun": "All"}, body=body)
        found = json.loads(answer.body)
        told = found["message"] if answer.status >= 400 else ""
        assert (answer.status, told) == (case["status"], case["message"]), case["spec"]


def _made(server: InMemoryServer, name: str, **spec: Any) -> str:
    body = {"metadata": {"name": name}, "spec": {**SPEC, **spec}}
    assert server.request("POST", PATH, body=body).status == 201
    return f"{PATH}/{name}"


def test_a_status_is_judged_apart_and_starts_empty(server: InMemoryServer) -> None:
    one = _made(server, "status")
    assert server.request("GET", one).json()["status"] == {}
    warned = {"status": {"typeChecking": {"expressionWarnings": [{"fieldRef": "spec.a[0]", "warning": "x"}]}}}
    answer = server.request("PATCH", f"{one}/status", headers=MERGE, body=warned)
    assert answer.status == 200
    assert answer.json()["metadata"]["generation"] == 1
    wrong = {"status": {"typeChecking": {"expressionWarnings": [{"fieldRef": " "}]}, "conditions": [{"type": "A"}] * 2}}
    answer = server.request("PATCH", f"{one}/status", headers=MERGE, body=wrong)
    fields = [cause["field"] for cause in answer.json()["details"]["causes"]]
    assert fields == [
        "status.typeChecking.expressionWarnings[0].warning",
        "status.typeChecking.expressionWarnings[0].fieldRef",
        *(f"status.conditions[0].{each}" for each in ("status", "lastTransitionTime", "reason")),
        *(f"status.conditions[1].{each}" for each in ("type", "status", "lastTransitionTime", "reason")),
    ]


def test_what_is_stored_may_use_what_new_expressions_may_not(server: InMemoryServer) -> None:
    """A server of the version before would have to read what is new; what it has written itself, it can read."""
    one = _made(server, "stored", matchConditions=[{"name": "a", "expression": "object.a == 1"}])
    changed = {"spec": {"failurePolicy": "Ignore"}}
    assert server.request("PATCH", one, headers=MERGE, body=changed).json()["metadata"]["generation"] == 2
    wrong = {"spec": {"matchConditions": [{"name": "a", "expression": "params.a == 1"}]}}
    answer = server.request("PATCH", one, headers=MERGE, body=wrong)
    assert "undeclared reference to 'params'" in answer.json()["message"]


def test_conditions_are_not_compiled_again_if_nothing_about_them_changes(server: InMemoryServer) -> None:
    one = _made(
        server,
        "same",
        paramKind={"apiVersion": "v1", "kind": "A"},
        matchConditions=[{"name": "a", "expression": "params.a == 1"}],
    )
    assert server.request("PATCH", one, headers=MERGE, body={"spec": {"failurePolicy": "Ignore"}}).status == 200
    answer = server.request("PATCH", one, headers=MERGE, body={"spec": {"paramKind": None}})
    assert answer.status == 422


def test_an_applier_gives_type_checking_up(server: InMemoryServer) -> None:
    """What is left of it is null, which Go does not write."""
    one = f"{_made(server, 'applied')}/status"
    form = {"Content-Type": "application/apply-patch+yaml"}
    head = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "applied"},
    }
    warned = {"expressionWarnings": [{"fieldRef": "a", "warning": "b"}]}
    for checking in (warned, {}):
        status = {"observedGeneration": 1, "typeChecking": checking}
        answer = server.request(
            "PATCH", one, query={"fieldManager": "m"}, headers=form, body={**head, "status": status}
        )
        assert answer.status == 200
    assert answer.json()["status"] == {"observedGeneration": 1}


def test_large_policies_are_judged_elsewhere() -> None:

    is_slow = VALIDATING_ADMISSION_POLICY.behaviour.storing.is_slow
    assert not is_slow({"spec": SPEC})
    assert is_slow({"spec": {**SPEC, "validations": [{"expression": "true"}] * 3000}})
