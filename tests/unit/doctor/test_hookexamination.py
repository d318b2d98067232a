"""What is asked about webhooks, and that nothing of it is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from extapi.doctor.addresses import Address
from extapi.doctor.clusterreader import CannotAsk
from extapi.doctor.examination import APISERVICES, ExaminationScope, gather
from extapi.doctor.facts import Facts
from extapi.doctor.registration import RegisteredService
from tests.answering import serving, whole
from tests.unit.doctor.healthy import GROUP, REFERENCE, api_service, external
from tests.unit.doctor.hooked import config, configuration, definition, rule
from tests.unit.doctor.test_clusterreader import at

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WARES = f"/apis/{GROUP}/v1/wares"
WARE = {"metadata": {"name": "one", "namespace": "mall"}}


def asked(
    *groups: str, there: bool = True, connect: Address | None = None, answers: Mapping[str, Any] | None = None
) -> tuple[Facts, list[tuple[str, str, dict[str, list[str]]]]]:
    """The facts, and each request: its method, path and query."""
    requests: list[tuple[str, str, dict[str, list[str]]]] = []
    items = {"items": [WARE] if there else []}
    known: dict[str, Any] = {
        CRDS: {"items": [definition()]},
        HOOKS: {"items": [configuration()]},
        WARES: items,
        WARES.replace("v1", "v1alpha1"): items,
        **(answers or {}),
    }

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        url = urlsplit(handler.path)
        requests.append((handler.command, url.path, parse_qs(url.query)))
        whole(200, json.dumps(known.get(url.path, {})).encode())(handler)

    with serving(answer) as server:
        return gather(at(server), ExaminationScope(groups=frozenset(groups), connect=connect)), requests


def test_webhooks_of_a_group_are_called_and_nothing_is_kept() -> None:
    facts, requests = asked(GROUP)
    assert [each.subject for each in facts.hooks.hooks] == [
        f"conversion of CustomResourceDefinition wares.{GROUP}",
        f"webhook wares.{GROUP} of ValidatingWebhookConfiguration shop",
    ]
    calls = {each.what: (each.converts, each.admits) for each in facts.hooks.calls}
    assert calls == {
        f"list wares.{GROUP} in v1": (False, False),
        f"list wares.{GROUP} in v1alpha1": (True, False),
        f"patch wares.{GROUP} in v1 (dry run, no change)": (False, True),
    }
    writes = [each for each in requests if each[0] != "GET"]
    assert writes == [
        ("PATCH", f"/apis/{GROUP}/v1/namespaces/mall/wares/one", {"dryRun": ["All"], "fieldManager": ["extapi-doctor"]})
    ]
    assert ("shop", "server") in facts.services
    assert facts.accounts == {}  # what a webhook server needs is its author's affair


def test_without_objects_nothing_is_converted_and_one_is_made_up() -> None:
    facts, requests = asked(GROUP, there=False)
    assert not any(each.converts for each in facts.hooks.calls)
    ((method, path, query),) = [each for each in requests if each[0] != "GET"]
    assert (method, path, query["dryRun"]) == ("POST", f"/apis/{GROUP}/v1/namespaces/default/wares", ["All"])


@pytest.mark.parametrize("changed", [{"sideEffects": "Some"}, {"sideEffects": "Unknown"}, {"rules": [rule("others")]}])
def test_what_no_webhook_would_be_called_about_is_not_written(changed: dict[str, Any]) -> None:
    _, requests = asked(GROUP, answers={HOOKS: {"items": [configuration(**changed)]}})
    assert {each[0] for each in requests} == {"GET"}


def test_without_a_group_none_is_called() -> None:
    facts, requests = asked()
    assert len(facts.hooks.hooks) == 2
    assert facts.hooks.calls == ()
    assert {each[0] for each in requests} == {"GET"}


def test_webhooks_of_other_groups_are_left_out() -> None:
    """One for every group is about each of them."""
    every = configuration(name="all.example.com", rules=[rule("*", group="*")])
    other = configuration(name="other.example.com", rules=[rule("*", group="other.example.com")])
    facts, _ = asked(GROUP, answers={HOOKS: {"items": [every, other]}, CRDS: {"items": []}})
    assert [each.name for each in facts.hooks.hooks] == ["all.example.com"]


def test_a_url_is_shaken_hands_with() -> None:
    """Port 1 of loopback: nobody listens there."""
    at_url = configuration(clientConfig=config(service=None, url="https://127.0.0.1:1/x"))
    facts, _ = asked(GROUP, answers={HOOKS: {"items": [at_url]}, CRDS: {"items": []}})
    ((served,),) = facts.hooks.served.values()
    assert (served.address, served.failure) == ("127.0.0.1:1", "Connection refused")


def test_an_address_that_is_named_is_that_of_one_server() -> None:
    """That of the APIService, if there is one; of the webhooks if not, unless these are everybody's."""
    elsewhere = {"namespace": "shop", "name": "hooks", "port": 443}
    here = RegisteredService("shop", "hooks", 443)
    hooks = configuration(clientConfig=config(service=elsewhere))
    every = configuration(name="all.example.com", rules=[rule("*", group="*")])
    service = external("127.0.0.2")[REFERENCE.namespace, REFERENCE.name].service.obj()
    answers: dict[str, Any] = {
        APISERVICES: {"items": [api_service()]},
        "/api/v1/namespaces/shop/services/hooks": service,
        HOOKS: {"items": [hooks]},
        CRDS: {"items": []},
    }
    closed = ("127.0.0.1", 1)
    facts, _ = asked(GROUP, connect=closed, answers=answers)
    assert [each.address for each in facts.served[REFERENCE]] == ["127.0.0.1:1"]
    assert [each.address for each in facts.served[here]] == ["127.0.0.2:443"]
    facts, _ = asked(GROUP, connect=closed, answers={**answers, APISERVICES: {}, HOOKS: {"items": [hooks, every]}})
    assert [each.address for each in facts.served[here]] == ["127.0.0.1:1"]
    with pytest.raises(CannotAsk, match="there are several Services: shop/server, shop/hooks"):
        asked(GROUP, connect=closed, answers={**answers, APISERVICES: {}, HOOKS: {"items": [configuration(), hooks]}})
