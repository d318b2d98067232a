from __future__ import annotations

import base64
import datetime as dt
from typing import Any

import pytest

from extapi.doctor.facts import Served, ServiceFacts
from extapi.doctor.finding import Severity
from tests.certificates import CLIENT, SERVER, authority, bundle
from tests.unit.doctor.healthy import (
    CA,
    HOST,
    NOW,
    PLACE,
    REFERENCE,
    external,
    found,
    one,
    reading,
    registered,
    served,
    unreadable,
    unselected,
)

BUNDLE, CHAIN, NAMES, DATES = "certificate.bundle", "certificate.chain", "certificate.names", "certificate.dates"


def encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def test_another_authority() -> None:
    finding = one(CHAIN, **registered(caBundle=encoded(authority("stranger").pem)))
    assert finding.severity is Severity.ERROR
    assert "CN=stranger" in finding.wrong
    assert "presents CN=server, issued by CN=serving-ca" in finding.saw


def test_one_of_two_authorities_is_enough() -> None:
    both = encoded(bundle(authority("old"), CA))
    assert one(CHAIN, **registered(caBundle=both)).severity is Severity.OK


def test_intermediates_are_presented_or_trusted() -> None:
    """Go takes every certificate of the bundle for an anchor."""
    middle = CA.intermediate("middle")
    leaf = middle.leaf("server", san=[HOST], eku=SERVER)
    assert one(CHAIN, served=served(leaf)).severity is Severity.OK
    alone = {REFERENCE: [Served("127.0.0.1:1", True, leaf.chain[:1])]}
    assert one(CHAIN, served=alone).severity is Severity.ERROR
    assert one(CHAIN, served=alone, **registered(caBundle=encoded(middle.pem))).severity is Severity.OK


def test_a_leaf_in_the_bundle_vouches_for_itself_alone() -> None:
    leaf = CA.leaf("server", san=[HOST], eku=SERVER)
    itself = registered(caBundle=encoded(leaf.pem))
    assert one(CHAIN, served=served(leaf), **itself).severity is Severity.OK
    finding = one(CHAIN, **itself)
    assert finding.severity is Severity.ERROR
    assert "holds no authority" in finding.wrong


def test_a_certificate_that_is_not_for_servers() -> None:
    finding = one(CHAIN, served=served(CA.leaf("server", san=[HOST], eku=CLIENT)))
    assert finding.severity is Severity.ERROR
    assert "serverAuth" in finding.wrong


@pytest.mark.parametrize(
    ("names", "good"),
    [
        ([HOST], True),
        (["*.shop.svc"], True),
        (["SERVER.shop.svc"], True),
        (["other", HOST], True),
        (["*.svc"], False),
        (["server.shop"], False),
        (["server"], False),
        (["127.0.0.1"], False),
        ([], False),
    ],
)
def test_names(names: list[str], good: bool) -> None:
    """Rules of Go's ``VerifyHostname``: the common name does not count, a wildcard is one label."""
    finding = one(NAMES, served=served(CA.leaf(HOST, san=names, eku=SERVER)))
    assert finding.severity is (Severity.OK if good else Severity.ERROR)


@pytest.mark.parametrize(
    ("wrong", "moment", "severity"),
    [
        ({"expired": True}, NOW, Severity.ERROR),
        ({"not_yet_valid": True}, NOW, Severity.ERROR),
        ({}, NOW + dt.timedelta(days=28), Severity.WARNING),
        ({}, NOW + dt.timedelta(days=26), Severity.OK),
    ],
)
def test_dates(wrong: dict[str, Any], moment: dt.datetime, severity: Severity) -> None:
    """A leaf of 31 days is near its end in the last three."""
    leaf = CA.leaf("server", san=[HOST], eku=SERVER, **wrong)
    changed: dict[str, Any] = {"now": moment, "served": served(leaf)}
    assert one(DATES, **changed).severity is severity
    assert one(CHAIN, **changed).severity is Severity.OK  # another matter


def test_the_dates_of_intermediates_count() -> None:
    leaf = CA.intermediate("middle", expired=True).leaf("server", san=[HOST], eku=SERVER)
    finding = one(DATES, served=served(leaf))
    assert finding.severity is Severity.ERROR
    assert "presents CN=middle" in finding.saw


def test_an_expired_certificate_that_is_not_needed() -> None:
    """Go's Verify passes over what is on no way to an anchor; seen with kube-apiserver's own library, crypto/x509."""
    leaf = CA.leaf("server", san=[HOST], eku=SERVER)
    old = authority("old", expired=True)
    more = {REFERENCE: [Served("127.0.0.1:1", True, (*leaf.chain, *old.chain))]}
    finding = one(DATES, served=more)
    assert finding.severity is Severity.WARNING
    assert "presents CN=old" in finding.saw
    assert "remove it from --tls-cert-file" in finding.do
    # Without a caBundle the system's roots decide, and nobody here knows them.
    assert one(DATES, served=more, **registered(caBundle=None)).severity is Severity.ERROR
    # The leaf itself is always needed, also beside another that is not.
    ended = CA.leaf("server", san=[HOST], eku=SERVER, expired=True)
    both = {REFERENCE: [Served("127.0.0.1:1", True, (*ended.chain, *old.chain))]}
    assert one(DATES, served=both).severity is Severity.ERROR


def test_an_error_is_not_hidden_by_a_warning() -> None:
    middle = CA.intermediate("middle", expired=True)
    leaf = middle.leaf("server", san=[HOST], eku=SERVER)
    old = authority("old", expired=True)
    chain = (leaf.chain[0], *old.chain, *leaf.chain[1:])
    assert one(DATES, served={REFERENCE: [Served("127.0.0.1:1", True, chain)]}).severity is Severity.ERROR
    # The bundle vouches for the leaf by an intermediate of its own.
    anchored = registered(caBundle=encoded(CA.intermediate("other").pem))
    assert one(DATES, served={REFERENCE: [Served("127.0.0.1:1", True, chain)]}, **anchored).severity is Severity.ERROR


@pytest.mark.parametrize(
    ("pem", "moment", "severity", "words"),
    [
        (b"none", NOW, Severity.ERROR, "not PEM certificates"),
        (unreadable(CA), NOW, Severity.ERROR, "7 is not a valid X509 version"),
        (authority("old", expired=True).pem, NOW, Severity.ERROR, "every certificate of the caBundle has expired"),
        (bundle(authority("old", expired=True), CA), NOW, Severity.WARNING, "CN=old has expired"),
        (CA.pem, NOW - dt.timedelta(days=2), Severity.ERROR, "valid yet"),
        (CA.pem, NOW + dt.timedelta(days=29), Severity.WARNING, "expires soon"),
    ],
)
def test_bundles(pem: bytes, moment: dt.datetime, severity: Severity, words: str) -> None:
    finding = one(BUNDLE, now=moment, **registered(caBundle=encoded(pem)))
    assert finding.severity is severity
    assert words in finding.saw + finding.wrong


def test_no_bundle() -> None:
    """The system's roots count, and for kube-apiserver it may have worked."""
    assert one(BUNDLE, **registered(caBundle=None)).severity is Severity.OK
    assert one(BUNDLE, **registered(caBundle=None, condition={"status": "False"})).severity is Severity.ERROR
    assert not found(CHAIN, **registered(caBundle=None))


def test_verification_that_is_switched_off() -> None:
    changed = registered(caBundle=None, insecureSkipTLSVerify=True)
    assert one(BUNDLE, **changed).severity is Severity.WARNING
    assert not found(NAMES, **changed)


def test_who_is_reached_here_may_be_another() -> None:
    """An address of the cluster may be somebody else's here: kube-apiserver, which is content, knows better."""
    leaf = CA.leaf("printer", san=["printer"], eku=SERVER)
    finding = one(NAMES, served=served(leaf, given=False))
    assert finding.severity is Severity.UNKNOWN
    assert "kube-apiserver finds nothing wrong" in finding.wrong
    failing = registered(condition={"status": "False", "reason": "FailedDiscoveryCheck"})
    assert one(NAMES, served=served(leaf, given=False), **failing).severity is Severity.ERROR


@pytest.mark.parametrize(
    ("tried", "why"),
    [
        ([], "no address can be reached from here"),
        (
            [Served("10.1.0.3:8443", False, failure="nothing within 3 seconds")],
            "not reachable from here: 10.1.0.3:8443: nothing",
        ),
        ([Served("127.0.0.1:1", True, failure="Connection refused")], "no certificate at the address of --connect"),
    ],
)
def test_who_is_not_reached(tried: list[Served], why: str) -> None:
    finding = one(CHAIN, served={REFERENCE: tried})
    assert finding.severity is Severity.UNKNOWN
    assert why in finding.wrong
    assert "kubectl port-forward -n shop service/server 8443:443" in finding.do


def test_what_kubectl_refuses_is_not_proposed() -> None:
    """It forwards ports to pods, which it finds by the Service's selector."""
    for services, where in (
        (external(), "at localhost:443"),
        (
            unselected(),
            "behind the EndpointSlices (kubectl get endpointslices -n shop -l kubernetes.io/service-name=server)",
        ),
    ):
        finding = one(CHAIN, served={REFERENCE: []}, services=services)
        assert "port-forward" not in finding.do
        assert finding.do.startswith(f"run extapi doctor where the server {where} can be reached, or name an address")
        assert finding.do.endswith("extapi doctor --group shop.example.com --connect HOST:PORT")
        refused = {REFERENCE: [Served("127.0.0.1:1", True, failure="Connection refused")]}
        assert one(CHAIN, served=refused, services=services).do == f"let --connect lead to the server {where}"


def test_nothing_leads_to_a_service_that_does_not_exist() -> None:
    missing = {PLACE: ServiceFacts(reading(status=404, text='services "server" not found'))}
    assert one(CHAIN, served={REFERENCE: []}, services=missing).do == "see service.exists"


def test_no_time_was_left() -> None:
    tried = [
        Served("10.1.0.3:8443", False, failure="nothing within 3 seconds"),
        Served("10.1.0.4:8443", False, over=True),
    ]
    finding = one(CHAIN, served={REFERENCE: tried})
    assert finding.severity is Severity.UNKNOWN
    assert "the time for the whole run is over" in finding.wrong
    assert "--timeout" in finding.do


def test_a_local_one_has_none() -> None:
    assert not found(BUNDLE, **registered(service=None))
