from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import replace
from typing import Any

import pytest

from extapi.doctor.facts import HookFacts, Served, ServiceFacts
from extapi.doctor.finding import Severity
from extapi.doctor.hookreading import conversion_of
from extapi.doctor.hooks import HookURL
from tests.certificates import SERVER, authority
from tests.unit.doctor.healthy import (
    CA,
    EXPECTED,
    HOST,
    NOW,
    PLACE,
    REFERENCE,
    SUBJECT,
    forbidden,
    reading,
    registered,
    served,
    service,
)
from tests.unit.doctor.hooked import (
    CONVERSION,
    HOOK,
    NAME,
    call,
    config,
    configuration,
    definition,
    found,
    hook_facts,
    one,
)

CERTIFICATES = ("certificate.bundle", "certificate.chain", "certificate.names", "certificate.dates")


def with_config(**changed: Any) -> HookFacts:
    return hook_facts(configuration(clientConfig=config(**changed)))


def test_nothing_is_wrong_with_healthy_webhooks() -> None:
    for subject in (HOOK, CONVERSION):
        assert {one(each, subject, hook_facts()).severity for each in CERTIFICATES} == {Severity.OK}
    assert (
        one("webhook.registered", HOOK, hook_facts()).saw
        == "it leads to Service shop/server, and waits 5 s for an answer"
    )
    assert one("webhook.registered", CONVERSION, hook_facts()).saw.endswith("waits 30 s for an answer")


@pytest.mark.parametrize(
    ("changed", "check", "words"),
    [
        ({"caBundle": None}, "certificate.bundle", "set webhooks[0].clientConfig.caBundle to the base64"),
        ({"caBundle": "eA=="}, "certificate.bundle", "set webhooks[0].clientConfig.caBundle to the base64"),
    ],
)
def test_the_bundle_of_a_webhook(changed: dict[str, Any], check: str, words: str) -> None:
    finding = one(check, HOOK, with_config(**changed))
    assert finding.severity is Severity.ERROR
    assert finding.do.startswith(words)


def test_the_bundle_of_a_conversion_is_named_by_its_field() -> None:
    facts = hook_facts(hooks=[hook for each in [definition(caBundle=None)] if (hook := conversion_of(each))])
    finding = one("certificate.bundle", CONVERSION, facts)
    assert finding.do.startswith("set spec.conversion.webhook.clientConfig.caBundle to")
    assert finding.do.endswith("extapi manifests MODULE:NAME --as crd --patch-ca-bundle")


def test_the_certificate_of_a_webhook() -> None:
    other = served(CA.leaf("server", san=["other.shop.svc"], eku=SERVER), given=False)
    assert HOST in one("certificate.names", HOOK, hook_facts(), served=other).wrong
    stranger = served(authority("stranger").leaf("server", san=[HOST], eku=SERVER))
    assert one("certificate.chain", HOOK, hook_facts(), served=stranger).severity is Severity.ERROR
    old = served(CA.leaf("server", san=[HOST], eku=SERVER, expired=True))
    assert one("certificate.dates", HOOK, hook_facts(), served=old).wrong == "it has expired"
    unseen = one(
        "certificate.chain", HOOK, hook_facts(), served={REFERENCE: [Served("10.1.0.3:8443", given=False, failure="x")]}
    )
    assert "kubectl port-forward -n shop service/server" in unseen.do


@pytest.mark.parametrize(
    ("address", "shown"), [("127.0.0.1", "127.0.0.1:8443"), ("::1", "[::1]:8443"), ("0:0::1", "[0:0::1]:8443")]
)
def test_a_webhook_at_a_url(address: str, shown: str) -> None:
    """The certificate has to be for the host of the URL, an address however it is spelt."""
    url = HookURL(address, 8443)
    hooks = hook_facts(configuration(clientConfig=config(service=None, url=f"https://{shown}/x")))

    def judged(*san: str) -> set[Severity]:
        leaf = CA.leaf("server", san=san, eku=SERVER)
        seen = {url: [Served(shown, given=False, chain=leaf.chain)]}
        there = HookFacts(lists=(), hooks=hooks.hooks, served=seen)
        return {one(each, HOOK, there).severity for each in CERTIFICATES}

    assert judged(str(ipaddress.ip_address(address))) == {Severity.OK}
    assert Severity.ERROR in judged("10.0.0.1")
    nowhere = one("certificate.chain", HOOK, HookFacts(hooks=hooks.hooks))
    assert nowhere.do.startswith(f"run extapi doctor where https://{shown} can be reached")


def test_a_url_without_a_bundle_and_one_that_leads_nowhere() -> None:
    """Without a bundle the system's authorities count."""
    trusting = hook_facts(configuration(clientConfig=config(service=None, url="https://example.com/x", caBundle=None)))
    assert one("certificate.bundle", HOOK, trusting).severity is Severity.OK
    broken = hook_facts(configuration(clientConfig={"url": "https://[::1"}))
    assert one("webhook.registered", HOOK, broken).saw.startswith("it leads to nowhere")


def test_the_service_of_a_webhook() -> None:
    """What leads to it is named, with the field."""
    missing = {PLACE: ServiceFacts(reading(status=404, text='services "server" not found'))}
    hooks = hook_facts()
    finding = one("service.exists", "Service shop/server", hooks, services=missing, registrations=[], accounts={})
    assert finding.wrong == "webhooks lead to a Service that does not exist"
    assert "webhooks[0].clientConfig.service of ValidatingWebhookConfiguration shop" in finding.do
    assert f"spec.conversion.webhook.clientConfig.service of CustomResourceDefinition {NAME}" in finding.do
    ports = [{"name": "https", "port": 6443}]
    other = {PLACE: ServiceFacts(reading(service(ports=ports)), reading(), reading())}
    finding = one("service.port", "Service shop/server", hooks, services=other, registrations=[], accounts={})
    assert finding.saw == "the webhooks name port 443; the Service has 6443 (https)"


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("x509: certificate signed by unknown authority", "caBundle does not vouch"),
        ("x509: certificate has expired or is not yet valid: current time is after", "has expired"),
        ("x509: certificate is valid for a, not b", "does not accept the server's certificate"),
        ('service "server" not found', "leads nowhere"),
        ("no endpoints available for service", "leads nowhere"),
        ("dial tcp 127.0.0.1:1: connect: connection refused", "nothing answers"),
        ("context deadline exceeded", "no answer in time"),
        ("the server could not find the requested resource", "does not know the path"),
        ("http: server gave HTTP response to HTTPS client", "plain HTTP"),
        ("Unauthorized", "refuses kube-apiserver"),
        ("expected response.uid", "the webhook fails"),
    ],
)
def test_a_call_that_fails_is_explained(cause: str, words: str) -> None:
    """The messages around the cause are kube-apiserver's, observed on 1.36.3."""
    prefix = f'Internal error occurred: failed calling webhook "{NAME}": failed to call webhook: Post "https://x": '
    finding = one("webhook.call", HOOK, hook_facts(calls=[call(prefix + cause)]))
    assert finding.severity is Severity.ERROR
    assert words in finding.wrong
    assert cause in finding.saw
    converted = f"conversion webhook for shop.example.com/v1, Kind=Ware failed: Post: {cause}"
    finding = one("webhook.call", CONVERSION, hook_facts(calls=[call(converted, admits=False)]))
    assert words in finding.wrong


def test_what_is_to_be_done_names_object_and_field() -> None:
    message = f'failed calling webhook "{NAME}": x509: certificate signed by unknown authority'
    finding = one("webhook.call", HOOK, hook_facts(calls=[call(message)]))
    assert finding.do.startswith("set webhooks[0].clientConfig.caBundle of ValidatingWebhookConfiguration shop to")
    unknown = one("webhook.call", "patch wares", hook_facts(calls=[call('failed calling webhook "gone": x509: y')]))
    assert unknown.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("answer", "severity"),
    [
        (call(), Severity.OK),
        (call(f'admission webhook "{NAME}" denied the request: no', status=403), Severity.OK),
        (call("wares is invalid", status=422), Severity.OK),
        (call("you cannot patch wares", status=403), Severity.UNKNOWN),
        (call(seconds=1.5), Severity.WARNING),
        (call(seconds=1.5, admits=False), Severity.WARNING),
    ],
)
def test_calls(answer: Any, severity: Severity) -> None:
    finding = one("webhook.call", answer.what, hook_facts(calls=[answer]))
    assert finding.severity is severity
    if severity is Severity.OK:
        assert finding.saw.startswith("an answer after 12 ms")


def test_a_list_that_converts_nothing_says_nothing_of_webhooks() -> None:
    plain = replace(call(admits=False), converts=False)
    assert not found("webhook.call", plain.what, hook_facts(calls=[plain]))


def test_a_long_timeout_is_a_warning_where_it_holds_up_writes() -> None:
    long = one("webhook.timeout", HOOK, hook_facts(configuration(timeoutSeconds=30)))
    assert long.do == "set webhooks[0].timeoutSeconds of ValidatingWebhookConfiguration shop to a few seconds"
    for changed in (
        {"timeoutSeconds": 10},
        {"timeoutSeconds": None},
        {"timeoutSeconds": 30, "failurePolicy": "Ignore"},
    ):
        assert not found("webhook.timeout", HOOK, hook_facts(configuration(**changed)))


def test_configurations_that_cannot_be_read() -> None:
    assert one("webhook.registered", "webhooks", hook_facts(lists=[forbidden()])).severity is Severity.UNKNOWN
    assert not found("webhook.registered", "webhooks", hook_facts(lists=[reading(status=404, text="not found")]))


def test_an_api_served_as_definitions_with_webhooks_is_what_the_app_wants() -> None:
    local = registered(service=None)
    served_by = hook_facts(definitions=frozenset({("shop.example.com", "v1")}))
    assert one("apiservice.registered", SUBJECT, served_by, expected=EXPECTED, **local).severity is Severity.OK
    leftover = HookFacts(definitions=served_by.definitions)
    assert one("apiservice.registered", SUBJECT, leftover, expected=EXPECTED, **local).severity is Severity.ERROR


def test_the_clock_is_that_of_kube_apiserver() -> None:
    later = NOW + dt.timedelta(days=365 * 30)
    assert one("certificate.bundle", HOOK, hook_facts(), now=later).severity is Severity.ERROR
