"""What is asked of whoever has bound the authorizer. Costs are those of ``k8s.io/apiserver/pkg/cel/library`` cost.go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.library.authorization import (
    AUTHORIZATION,
    AUTHORIZATION_SELECTORS,
    AuthorizerValue,
    DecisionValue,
    ResourceCheck,
)
from extapi.schema.cel.types import RESOURCE_CHECK, STRING
from tests.unit.schema.cel.library.calling import Refused, Written, call, cost, estimate

ALL = AUTHORIZATION + AUTHORIZATION_SELECTORS


@dataclass
class Recorder:
    """Allows the verb get, and says whom and what it was asked."""

    user: str = "jane"

    def service_account(self, namespace: str, name: str) -> Recorder:
        return Recorder(f"{namespace}:{name}")

    def check_path(self, path: str, verb: str) -> DecisionValue:
        return DecisionValue(allowed=verb == "get", reason=f"{self.user} {verb} {path}")

    def check_resource(self, check: ResourceCheck, verb: str) -> DecisionValue:
        parts = (check.group, check.resource, check.subresource, check.namespace, check.name)
        selectors = (check.field_selector, check.label_selector)
        return DecisionValue(allowed=verb == "get", reason=f"{self.user} {verb} {parts} {selectors}", error="slow")


AUTHORIZER = AuthorizerValue(Recorder())


def asked(start: Any, *steps: tuple[Any, ...]) -> Any:
    for identifier, *arguments in steps:
        start = call(ALL, identifier, start, *arguments)
    return start


def test_a_resource_is_described_step_by_step() -> None:
    decision = asked(
        AUTHORIZER,
        ("authorizer_group", "apps"),
        ("groupcheck_resource", "deployments"),
        ("resourcecheck_subresource", "scale"),
        ("resourcecheck_namespace", "shop"),
        ("resourcecheck_name", "web"),
        ("authorizer_fieldselector", "a=b"),
        ("authorizer_labelselector", "c in (d)"),
        ("resourcecheck_check", "get"),
    )
    assert call(ALL, "decision_allowed", decision) is True
    reason = call(ALL, "decision_reason", decision)
    assert reason == "jane get ('apps', 'deployments', 'scale', 'shop', 'web') ('a=b', 'c in (d)')"
    assert call(ALL, "decision_errored", decision) is True
    assert call(ALL, "decision_error", decision) == "slow"


def test_a_step_changes_a_copy() -> None:
    check = asked(AUTHORIZER, ("authorizer_group", ""), ("groupcheck_resource", "pods"))
    asked(check, ("resourcecheck_name", "a"), ("resourcecheck_namespace", "b"))
    assert (check.name, check.namespace) == ("", "")


def test_a_path_is_asked_for_a_service_account() -> None:
    decision = asked(
        AUTHORIZER,
        ("authorizer_serviceaccount", "shop", "robot"),
        ("authorizer_path", "/healthz"),
        ("pathcheck_check", "post"),
    )
    assert call(ALL, "decision_allowed", decision) is False
    assert call(ALL, "decision_reason", decision) == "shop:robot post /healthz"
    assert call(ALL, "decision_errored", decision) is False
    assert call(ALL, "decision_error", decision) == ""


@pytest.mark.parametrize(
    ("identifier", "arguments", "text"),
    [
        ("authorizer_path", (" \u3000",), "path must not be empty"),
        ("authorizer_serviceaccount", ("shop", "-"), "Invalid service account name"),
        ("authorizer_serviceaccount", ("a.b", "robot"), "Invalid service account namespace"),
    ],
)
def test_names_have_to_be_valid(identifier: str, arguments: tuple[str, ...], text: str) -> None:
    assert call(ALL, identifier, AUTHORIZER, *arguments) == Refused(text)


def test_a_resource_has_a_name() -> None:
    group = asked(AUTHORIZER, ("authorizer_group", "apps"))
    assert call(ALL, "groupcheck_resource", group, "\t") == Refused("resource must not be empty")


def test_no_value_can_be_compared() -> None:
    with pytest.raises(EvaluationError, match="no such overload"):
        _ = AUTHORIZER == AUTHORIZER  # noqa: PLR0124 - which is what CEL would ask


def test_a_check_costs_350000_and_all_else_one() -> None:
    for each in AUTHORIZATION:
        expected = 350_000 if each.function == "check" else 1
        operands = [Written(type_) for type_ in each.arguments]
        assert cost(ALL, each.id, *operands) == expected
        assert estimate(ALL, each.id, *operands) == (expected, expected)


def test_a_selector_costs_what_it_takes_to_read_it() -> None:
    for each in AUTHORIZATION_SELECTORS:
        assert cost(ALL, each.id, None, "a=b,c=d") == 10 + 1 + 4 * 50
        operands = (Written(RESOURCE_CHECK), Written(STRING, Interval(0, 21)))
        assert estimate(ALL, each.id, *operands) == (10, 10 + 3 + 11 * 50)
