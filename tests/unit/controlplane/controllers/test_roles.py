"""Aggregated ClusterRoles (API concept "Aggregated ClusterRoles")."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from extapi.controlplane.controllers.roles import RoleAggregationController, aggregated
from extapi.controlplane.kinds import rbac as kinds
from extapi.errors import BadRequest, NotFound
from extapi.http.request import Request
from extapi.http.response import Handler, Response
from tests.unit.controlplane.controllers.cluster import MERGE, cluster, create

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
NODES = {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]}


def role(name: str, labels: dict[str, str], *rules: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "rules": list(rules)}


def sum_of(*selectors: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "sum"}, "aggregationRule": {"clusterRoleSelectors": list(selectors)}}


def test_an_aggregated_role_follows_those_that_it_selects() -> None:
    with cluster(RoleAggregationController()) as server:
        rule = {"clusterRoleSelectors": [{"matchLabels": {"to": "sum"}}]}
        create(server, ROLES, "sum", aggregationRule=rule)
        create(server, ROLES, "b", metadata={"labels": {"to": "sum"}}, rules=[NODES])
        create(server, ROLES, "a", metadata={"labels": {"to": "sum"}}, rules=[PODS, NODES])
        create(server, ROLES, "c", rules=[PODS])
        server.advance(1)
        assert server.request("GET", f"{ROLES}/sum").json()["rules"] == [PODS, NODES]
        server.request("PATCH", f"{ROLES}/a", headers=MERGE, body={"metadata": {"labels": {"to": "none"}}})
        server.advance(1)
        assert server.request("GET", f"{ROLES}/sum").json()["rules"] == [NODES]


def test_rules_written_by_hand_are_put_right() -> None:
    with cluster(RoleAggregationController()) as server:
        create(server, ROLES, "sum", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to": "sum"}}]})
        server.advance(1)
        server.request("PATCH", f"{ROLES}/sum", headers=MERGE, body={"rules": [PODS]})
        server.advance(1)
        assert not server.request("GET", f"{ROLES}/sum").json().get("rules")


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ({"key": "tier", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "tier", "operator": "NotIn", "values": ["a", "b"]}, False),
        ({"key": "tier", "operator": "Exists"}, True),
        ({"key": "tier", "operator": "DoesNotExist"}, False),
    ],
)
def test_expressions_select(expression: dict[str, Any], chosen: bool) -> None:
    wanted = sum_of({"matchExpressions": [expression]})
    assert aggregated(wanted, [wanted, role("one", {"tier": "a"}, PODS)]) == ([PODS] if chosen else [])


def test_an_empty_selector_selects_all_others_and_no_selector_none() -> None:
    others = [role("one", {}, PODS), role("two", {}, NODES)]
    assert aggregated(sum_of({}), others) == [PODS, NODES]
    assert aggregated(sum_of(), others) == []


def test_a_role_is_no_part_of_itself() -> None:
    """Otherwise a rule that came in once would never go (``ClusterRoleAggregationController.syncClusterRole``)."""
    wanted = sum_of({}) | {"rules": [PODS]}
    assert aggregated(wanted, [wanted, role("one", {}, NODES)]) == [NODES]


def test_several_selectors_are_taken_one_after_the_other() -> None:
    wanted = sum_of({"matchLabels": {"tier": "second"}}, {"matchLabels": {"tier": "first"}})
    others = [role("a", {"tier": "first"}, PODS), role("b", {"tier": "second"}, NODES, PODS)]
    assert aggregated(wanted, others) == [NODES, PODS]


def test_rules_that_differ_in_nothing_but_order_of_members_are_one() -> None:
    turned = dict(reversed(PODS.items()))
    assert aggregated(sum_of({}), [role("one", {}, PODS), role("two", {}, turned)]) == [PODS]


def test_many_rules_are_joined_in_time_that_grows_with_their_number() -> None:
    """Every pair compared would take minutes, in which nobody is answered."""
    rules = [{"verbs": ["get"], "apiGroups": ["example.com"], "resources": [f"r{number}"]} for number in range(20_000)]
    began = process_time()
    assert aggregated(sum_of({}), [role("one", {}, *rules), role("two", {}, *rules)]) == rules
    assert process_time() - began < 5


def test_a_role_that_cannot_be_filled_keeps_no_other_from_being_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A selector that is not valid is refused today; a store may have one from before."""
    monkeypatch.setattr(kinds.RoleStrategy, "validate", lambda *_: ())
    with cluster(RoleAggregationController()) as server:
        create(server, ROLES, "a", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to": "x y"}}]})
        create(server, ROLES, "sum", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to": "sum"}}]})
        create(server, ROLES, "z", metadata={"labels": {"to": "sum"}}, rules=[PODS])
        server.advance(1)
        assert server.request("GET", f"{ROLES}/sum").json()["rules"] == [PODS]


def test_a_label_is_no_selector() -> None:
    """A value that would be two terms in a query must not become two terms."""
    with pytest.raises(BadRequest):
        aggregated(sum_of({"matchLabels": {"to": "sum,!other"}}), [role("one", {"to": "sum"}, PODS)])


def test_a_role_that_has_gone_meanwhile_is_no_more_work() -> None:
    """The patch finds nothing; that is not tried again."""
    asked: list[str] = []

    def front(handler: Handler) -> Handler:
        async def answer(call: Request) -> Response:
            if call.method == "PATCH":
                asked.append(call.info.path)
                raise NotFound.named("clusterroles", "rbac.authorization.k8s.io", "sum")
            return await handler(call)

        return answer

    with cluster(RoleAggregationController(), front=front) as server:
        create(server, ROLES, "one", metadata={"labels": {"to": "sum"}}, rules=[PODS])
        create(server, ROLES, "sum", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to": "sum"}}]})
        server.advance(120)
        assert asked == [f"{ROLES}/sum"]
        server.request("DELETE", f"{ROLES}/sum")
        server.advance(120)
        assert len(asked) == 1
