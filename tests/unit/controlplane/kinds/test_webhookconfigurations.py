"""Configurations of webhooks: what may stay wrong in a stored one, and how they are completed. Texts are kube-apiserver 1.36.3's.

What a new one has to obey is asked of both control planes (``tests/differential/planes/webhooks.py``).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from extapi.controlplane.kinds.admissionmessages import ADMISSION
from extapi.controlplane.kinds.admissionparts import complete, drop_empty
from extapi.controlplane.kinds.admissionvalidation import MOST_INLINE, condition_errors, rule_errors
from extapi.controlplane.kinds.webhookvalidation import is_large, validate_webhooks
from extapi.fielderrors import MOST_ERRORS
from extapi.testing import serve
from tests.unit.controlplane.kinds.served import stored_kinds

PATH = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
HOOK: dict[str, Any] = {
    "name": "a.b.c",
    "clientConfig": {"url": "https://a.test"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}


def texts(hooks: list[dict[str, Any]], old: list[dict[str, Any]] | None) -> list[str]:
    return [each.text() for each in validate_webhooks(hooks, old)]


def hook(**members: Any) -> dict[str, Any]:
    return {**HOOK, **members}


BAD_VALUE = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (
            hook(sideEffects="Some"),
            'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        ),
        (
            hook(admissionReviewVersions=["v2"]),
            'webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1',
        ),
        (
            hook(objectSelector=BAD_VALUE),
            'webhooks[0].objectSelector.matchExpressions[0].values[0]: Invalid value: "b c": a valid label must be',
        ),
        (
            hook(matchConditions=[{"name": "a", "expression": "nothing"}]),
            'webhooks[0].matchConditions[0].expression: Invalid value: "nothing": compilation failed: ERROR',
        ),
    ],
)
def test_what_is_wrong_with_a_stored_one_may_stay(bad: dict[str, Any], text: str) -> None:
    (found,) = texts([bad], None)
    assert found.startswith(text)
    (found,) = texts([bad], [HOOK])
    assert found.startswith(text)
    assert texts([{**bad, "failurePolicy": "Ignore"}], [bad]) == []


def test_equal_names_may_stay() -> None:
    assert texts([HOOK, HOOK], None) == ['webhooks[1].name: Duplicate value: "a.b.c"']
    assert texts([HOOK, HOOK, HOOK], [HOOK, HOOK]) == []


def test_conditions_are_looked_at_if_one_changes() -> None:
    bad = {"name": "a", "expression": "nothing"}
    before = [hook(matchConditions=[bad]), hook(name="d.e.f")]
    assert len(texts([hook(matchConditions=[bad]), hook(name="d.e.f", matchConditions=[bad])], before)) == 2
    assert texts([hook(matchConditions=[bad]), hook(name="x.y.z")], before) == []


def test_a_stored_expression_may_use_what_new_ones_may_not_yet() -> None:
    asked = []

    def compiled(text: str, stored: bool) -> str:
        asked.append((text, stored))
        return "" if stored else "program instantiation failed: no"

    conditions = [{"name": "a", "expression": " old "}, {"name": "b", "expression": "new"}]
    found = [each.text() for each in condition_errors(conditions, "c", {"old"}, compiled)]
    assert asked == [("old", True), ("new", False)]
    assert found == ["c[1].expression: Internal error: program instantiation failed: no"]


def test_the_errors_of_long_lists_are_bounded() -> None:
    many = [""] * (2 * MOST_ERRORS)
    assert len(list(rule_errors({**RULE, "apiVersions": many, "resources": many}, ""))) == 2 * MOST_ERRORS
    assert len(list(validate_webhooks([HOOK] * (2 * MOST_ERRORS), None))) == MOST_ERRORS - 1


def test_rules_of_policies_name_no_subresources() -> None:
    rule = {**RULE, "resources": ["a/b", "", "*"]}
    assert [each.text() for each in rule_errors(rule, "r", subresources=False)] == [
        'r.resources[0]: Invalid value: "a/b": must not specify subresources',
        "r.resources[1]: Required value",
        'r.resources: Invalid value: ["a/b","","*"]: if \'*\' is present, must not specify other resources',
    ]


def test_long_expressions_are_compiled_in_a_thread() -> None:
    assert not is_large([hook(matchConditions=[{"expression": "x" * MOST_INLINE}])])
    assert is_large([hook(matchConditions=[{"expression": "x" * MOST_INLINE}, {"expression": "y"}])])
    conditions = [{"name": f"c{number}", "expression": "true" + " || true" * 40} for number in range(64)]
    webhooks = [hook(matchConditions=conditions)]
    obj = {"metadata": {"name": "a"}, "webhooks": webhooks}
    assert is_large(webhooks)
    with serve(stored_kinds(), lifecycle=False) as server:
        assert server.request("POST", PATH, body=obj).status == 201


def test_the_rules_of_a_webhook_are_one_message_in_protobuf_and_flat_in_json() -> None:
    # generated.proto: RuleWithOperations has operations = 1 and rule = 2; Rule has apiGroups = 1 ... scope = 4.
    obj = {"webhooks": [hook(rules=[{**RULE, "scope": "*"}])]}
    message = ADMISSION.message("MutatingWebhookConfiguration", obj)
    rule = b"\x0a\x06CREATE" + b"\x12\x0f" + b"\x0a\x00" + b"\x12\x02v1" + b"\x1a\x04pods" + b"\x22\x01*"
    assert bytes([3 << 3 | 2, len(rule)]) + rule in message
    assert (
        ADMISSION.decode("MutatingWebhookConfiguration", message)["webhooks"][0]["rules"] == obj["webhooks"][0]["rules"]
    )


def test_defaults_are_those_of_kube_apiserver() -> None:
    # kubernetes/pkg/apis/admissionregistration/v1 defaults_test.go
    with serve(stored_kinds(), lifecycle=False) as server:
        made = hook(clientConfig={"service": {"namespace": "a", "name": "b"}})
        answer = server.request("POST", PATH, body={"metadata": {"name": "a"}, "webhooks": [made]})
    found = json.loads(answer.body)
    assert found["metadata"]["generation"] == 1
    assert found["webhooks"] == [
        {
            **made,
            "clientConfig": {"service": {"namespace": "a", "name": "b", "port": 443}},
            "rules": [{**RULE, "scope": "*"}],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "timeoutSeconds": 10,
            "reinvocationPolicy": "Never",
        }
    ]


def test_completing_keeps_what_is_there() -> None:
    obj: dict[str, Any] = {"a": "", "b": None, "c": [], "d": [1]}
    complete(obj, {"a": "x", "b": {}, "e": 1})
    drop_empty(obj, "c", "d", "f")
    assert obj == {"a": "", "b": {}, "d": [1], "e": 1}
