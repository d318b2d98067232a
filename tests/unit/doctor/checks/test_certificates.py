from __future__ import annotations

import base64
import datetime as dt
from typing import Any

import pytest

from extapi.doctor.facts import Served
from extapi.doctor.finding import Severity
from tests.certificates import CLIENT, SERVER, authority, bundle
from tests.unit.doctor.healthy import CA, HOST, NOW, REFERENCE, found, one, registered, served, unreadable

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


@pytest.mark.parametrize(
    ("pem", "moment", "severity", "words"),
    [
        (b"none", NOW, Severity.ERROR, "no certificates in PEM"),
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
    assert "kube-apiserver says that all is well" in finding.wrong
    failing = registered(condition={"status": "False", "reason": "FailedDiscoveryCheck"})
    assert one(NAMES, served=served(leaf, given=False), **failing).severity is Severity.ERROR


@pytest.mark.parametrize(
    ("tried", "why"),
    [
        ([], "there is no address that could be reached from here"),
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


def test_a_local_one_has_none() -> None:
    assert not found(BUNDLE, **registered(service=None))
