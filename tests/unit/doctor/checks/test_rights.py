from __future__ import annotations

import re
from dataclasses import replace

import pytest

from extapi.api.policyrule import PolicyRule
from extapi.doctor.accounts import needed_rights
from extapi.doctor.facts import Account, AccountFacts, LeaseRights, Right
from extapi.doctor.finding import Severity
from tests.unit.doctor.healthy import EXPECTED, PLACE, account, forbidden, found, one, reading


@pytest.mark.parametrize(
    ("resource", "check", "do"),
    [
        ("tokenreviews", "rights.tokenreviews", "--clusterrole=system:auth-delegator --serviceaccount=shop:server"),
        ("subjectaccessreviews", "rights.subjectaccessreviews", "--clusterrole=system:auth-delegator"),
        ("configmaps", "rights.configmap", "-n kube-system --role=extension-apiserver-authentication-reader"),
    ],
)
def test_a_right_that_is_missing(resource: str, check: str, do: str) -> None:
    finding = one(check, accounts={PLACE: [account(**{resource: True})]})
    assert finding.severity is Severity.ERROR
    assert resource in finding.saw
    assert do in finding.do


def test_only_servers_of_extapi_are_known_to_need_namespaces() -> None:
    lacking = account(namespaces=True)
    assert one("rights.namespaces", accounts={PLACE: [lacking]}).severity is Severity.UNKNOWN
    assert one("rights.namespaces", accounts={PLACE: [lacking]}, expected=EXPECTED).severity is Severity.ERROR
    named = replace(lacking, account=Account("shop", "server", given=True))
    finding = one("rights.namespaces", accounts={PLACE: [named]})
    assert finding.severity is Severity.ERROR
    assert finding.saw == "may not get, list, watch namespaces"


@pytest.mark.parametrize(
    ("resource", "check"),
    [
        ("tokenreviews", "rights.tokenreviews"),
        ("configmaps", "rights.configmap"),
        ("namespaces", "rights.namespaces"),
    ],
)
def test_an_account_named_as_a_cluster_role_does_not_get_that_role(resource: str, check: str) -> None:
    """Typed where there is one already, ``create clusterrole admin`` fails, and a binding to it gives everything."""
    lacking = replace(account(**{resource: True}), account=Account("shop", "admin", given=True))
    do = one(check, accounts={PLACE: [lacking]}).do
    for command in do.split(" && "):
        assert re.match(r"kubectl create (clusterrole|clusterrolebinding|rolebinding) shop:admin:[a-z-]+ ", command)
    assert "--clusterrole=admin" not in do


def test_what_may_not_be_asked_is_unknown() -> None:
    whole = account()
    blind = replace(whole, exists=forbidden(), reviews=dict.fromkeys(whole.reviews, forbidden()))
    findings = found("rights.configmap", accounts={PLACE: [blind]})
    assert findings[0].severity is Severity.UNKNOWN
    assert one("rights.account", accounts={PLACE: [blind]}).severity is Severity.UNKNOWN


def test_a_review_that_says_nothing_is_no_leave() -> None:
    whole = account()
    silent = replace(whole, reviews=dict.fromkeys(whole.reviews, reading({"status": {}})))
    assert one("rights.configmap", accounts={PLACE: [silent]}).severity is Severity.ERROR


def test_an_account_that_is_not_there() -> None:
    missing = replace(account(), exists=reading(status=404, text='serviceaccounts "server" not found'))
    finding = one("rights.account", accounts={PLACE: [missing]})
    assert finding.severity is Severity.ERROR
    assert finding.do == "kubectl create serviceaccount -n shop server"


def test_an_account_that_is_not_known() -> None:
    finding = one("rights.account", accounts={PLACE: []})
    assert finding.severity is Severity.UNKNOWN
    assert "--service-account NAMESPACE:NAME" in finding.do


def test_an_account_of_two_services_is_named_once() -> None:
    assert one("rights.tokenreviews", accounts={PLACE: [account()], ("shop", "other"): [account()]}).subjects == (
        "account shop:server",
    )


def with_needs(*, allowed: bool) -> AccountFacts:
    """An account about which the rights of an Api were asked, too."""
    rules = [PolicyRule(api_groups=["", "apps"], resources=["pods/status"], verbs=["get", "patch"])]
    whole = account()
    answers = {right: reading({"status": {"allowed": allowed}}) for right in needed_rights(rules)}
    return replace(whole, reviews={**whole.reviews, **answers})


def test_what_the_api_needs_and_its_account_lacks() -> None:
    finding = one("rights.needs", accounts={PLACE: [with_needs(allowed=False)]})
    assert finding.severity is Severity.ERROR
    assert finding.saw == (
        "may not get pods/status; may not patch pods/status; may not get pods/status.apps; may not patch pods/status.apps"
    )
    assert "server-role.yaml" in finding.do
    assert one("rights.needs", accounts={PLACE: [with_needs(allowed=True)]}).severity is Severity.OK
    assert found("rights.needs") == []


def test_needs_that_may_not_be_asked_about_are_unknown() -> None:
    whole = with_needs(allowed=True)
    blind = replace(whole, reviews=dict.fromkeys(whole.reviews, forbidden()))
    assert one("rights.needs", accounts={PLACE: [blind]}).severity is Severity.UNKNOWN


def candidate(*, certain: bool, allowed: bool = False) -> AccountFacts:
    """An account that has to elect a leader by a Lease."""
    rights = (
        Right("get", "coordination.k8s.io", "leases", "shop", "a"),
        Right("create", "coordination.k8s.io", "leases", "shop"),
    )
    whole = account()
    answers = {right: reading({"status": {"allowed": allowed}}) for right in rights}
    return replace(whole, reviews={**whole.reviews, **answers}, lease=LeaseRights(rights, certain))


def test_replicas_that_may_not_have_their_lease() -> None:
    finding = one("rights.leases", accounts={PLACE: [candidate(certain=True)]})
    assert finding.severity is Severity.ERROR
    assert finding.saw == "may not get, create leases.coordination.k8s.io a in shop, leases.coordination.k8s.io in shop"
    assert "kubectl create role shop:server:leader-election -n shop --verb=get,create,update" in finding.do
    assert "--role=shop:server:leader-election --serviceaccount=shop:server" in finding.do
    assert one("rights.leases", accounts={PLACE: [candidate(certain=False)]}).severity is Severity.UNKNOWN
    assert one("rights.leases", accounts={PLACE: [candidate(certain=True, allowed=True)]}).severity is Severity.OK
    assert found("rights.leases") == []
    # They are no rights that the Api declares.
    assert found("rights.needs", accounts={PLACE: [candidate(certain=True)]}) == []
