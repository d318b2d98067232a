from __future__ import annotations

from typing import Any

import pytest

from extapi.doctor.facts import ServiceFacts
from extapi.doctor.finding import Finding, Severity
from tests.unit.doctor.healthy import PLACE, forbidden, reading, service, slices
from tests.unit.doctor.hooked import HOOK, config, configuration, found, hook_facts, rule

CHECK = "webhook.deadlock"
EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"], "scope": "*"}
PODS, LEASES = rule("pods", group=""), rule("leases", group="coordination.k8s.io")
OWN = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["shop"]}]}
NOT_OWN = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["shop"]}]}
NEITHER = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["shop", "kube-system"]}]}


def judged(*, pods: Any = None, **hook: Any) -> list[Finding]:
    behind = reading({"items": [{"metadata": {"labels": {"app": "shop"}}}] if pods is None else pods})
    services = {PLACE: ServiceFacts(reading(service()), reading(slices()), behind)}
    return found(CHECK, HOOK, hook_facts(configuration(**hook)), services=services)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([PODS], "match CREATE pods in its own namespace shop"),
        ([LEASES], "match UPDATE leases in its own namespace shop"),
        ([rule("pods/status", group="")], "match UPDATE pods/status in"),
        ([rule("replicasets", group="apps")], "match CREATE replicasets in"),
        ([rule("endpointslices", group="discovery.k8s.io")], "match UPDATE endpointslices in"),
        ([rule("wares"), PODS, LEASES], "match CREATE pods, UPDATE leases in"),
    ],
)
def test_a_webhook_that_its_own_server_needs(rules: list[Any], words: str) -> None:
    (finding,) = judged(rules=rules, namespaceSelector=OWN)
    assert finding.severity is Severity.ERROR
    assert words in finding.saw
    assert finding.do.startswith(
        "leave the namespace out: webhooks[0].namespaceSelector of ValidatingWebhookConfiguration shop"
    )
    assert "operator: NotIn, values: [shop]" in finding.do


@pytest.mark.parametrize(
    "hook",
    [
        {},
        {"rules": [EVERYTHING], "namespaceSelector": NEITHER},
        {"rules": [EVERYTHING], "failurePolicy": "Ignore"},
        {"rules": [{**PODS, "operations": ["DELETE"]}]},
        {"rules": [{**PODS, "scope": "Cluster"}]},
        {"rules": [PODS], "objectSelector": {"matchLabels": {"app": "other"}}},
        {"rules": [LEASES], "objectSelector": {"matchLabels": {"app": "shop"}}},
    ],
)
def test_what_its_server_does_not_need(hook: dict[str, Any]) -> None:
    assert [each.severity for each in judged(**hook)] == (
        [] if hook.get("failurePolicy") == "Ignore" else [Severity.OK]
    )


def test_objects_are_selected_by_the_labels_of_its_own_pods() -> None:
    (finding,) = judged(rules=[PODS], objectSelector={"matchLabels": {"app": "shop"}}, namespaceSelector=OWN)
    assert finding.severity is Severity.ERROR


def test_one_that_matches_the_system_is_a_warning() -> None:
    (finding,) = judged(rules=[EVERYTHING], namespaceSelector=NOT_OWN)
    assert finding.severity is Severity.WARNING
    assert "in kube-system" in finding.saw
    assert "values: [shop, kube-system]" in finding.do
    at_url = configuration(rules=[PODS], clientConfig=config(service=None, url="https://example.com/x"))
    (finding,) = found(CHECK, HOOK, hook_facts(at_url))
    assert "values: [kube-system]" in finding.do


def test_match_conditions_may_leave_it_out() -> None:
    (finding,) = judged(rules=[PODS], namespaceSelector=OWN, matchConditions=[{"name": "x", "expression": "false"}])
    assert finding.severity is Severity.WARNING
    assert "unless its matchConditions leave that out" in finding.wrong


def test_a_namespace_that_cannot_be_read_is_known_by_its_name() -> None:
    hooks = hook_facts(configuration(rules=[PODS], namespaceSelector=OWN), namespaces={"shop": forbidden()})
    (finding,) = found(CHECK, HOOK, hooks)
    assert finding.severity is Severity.ERROR


def test_a_selector_that_is_none_refuses_everything() -> None:
    broken = {"matchExpressions": [{"key": "x", "operator": "Near", "values": []}]}
    assert {each.severity for each in judged(rules=[PODS], namespaceSelector=broken)} == {
        Severity.ERROR,
        Severity.WARNING,
    }
