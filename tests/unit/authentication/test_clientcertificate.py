"""Client certificates as users (behaviour A21), and verdicts that live as long as a connection."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError
from extapi.authentication.clientcertificate import (
    REFUSAL_SECONDS,
    UID_OID,
    ClientCertificate,
    PeerVerdicts,
    common_name,
    first_expiry,
    user_of,
)
from extapi.authentication.requestheader import RequestHeader
from extapi.authentication.trust import TrustSettings
from extapi.http.request import Peer
from tests.certificates import CLIENT, Issued, authority
from tests.settableclock import SettableClock
from tests.unit.client.building import call, now, run

CA = authority("client-ca")


def _settings(ca: Issued = CA) -> TrustSettings:
    settings = TrustSettings()
    settings.trust_clients(ca.pem)
    return settings


def test_name_groups_uid_and_fingerprint() -> None:
    leaf = CA.leaf("alice", orgs=["devs", "ops"], uid="u-1", eku=CLIENT)
    user = run(ClientCertificate(_settings(), now()).authenticate(call(certificates=leaf.chain)))
    fingerprint = leaf.certificate.fingerprint(hashes.SHA256()).hex()
    assert user == User(
        "alice",
        uid="u-1",
        groups=("devs", "ops", "system:authenticated"),
        extra={"authentication.kubernetes.io/credential-id": (f"X509SHA256={fingerprint}",)},
    )


def test_nothing_to_judge_is_no_opinion() -> None:
    leaf = CA.leaf("alice")
    assert run(ClientCertificate(_settings(), now()).authenticate(call())) is None
    assert run(ClientCertificate(TrustSettings(), now()).authenticate(call(certificates=leaf.chain))) is None


def test_no_common_name_is_no_opinion() -> None:
    leaf = CA.leaf("", orgs=["system:masters"])
    assert run(ClientCertificate(_settings(), now()).authenticate(call(certificates=leaf.chain))) is None


def test_a_wrong_ca_is_an_error() -> None:
    leaf = authority("other").leaf("alice")
    with pytest.raises(AuthenticationError, match="unknown authority"):
        run(ClientCertificate(_settings(), now()).authenticate(call(certificates=leaf.chain)))


def test_the_verdict_is_kept_until_the_ca_changes() -> None:
    settings = _settings()
    authenticator = ClientCertificate(settings, now())
    peer = Peer(certificates=CA.leaf("alice").chain)
    first = run(authenticator.authenticate(call(peer=peer)))
    assert run(authenticator.authenticate(call(peer=peer))) is first
    settings.trust_clients(authority("new").pem)
    with pytest.raises(AuthenticationError):
        run(authenticator.authenticate(call(peer=peer)))


def _named(*attributes: x509.NameAttribute[str]) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name(attributes))
        .issuer_name(CA.certificate.subject)
        .public_key(CA.key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(CA.key, hashes.SHA256())
    )


def test_the_last_common_name_counts() -> None:
    cn = NameOID.COMMON_NAME
    assert common_name(_named(x509.NameAttribute(cn, "first"), x509.NameAttribute(cn, "last"))) == "last"


def test_two_uids_are_an_error() -> None:
    uids = [x509.NameAttribute(UID_OID, "a"), x509.NameAttribute(UID_OID, "b")]
    with pytest.raises(AuthenticationError, match="expected 1 UID, but found multiple"):
        user_of(_named(x509.NameAttribute(NameOID.COMMON_NAME, "alice"), *uids))


@pytest.mark.parametrize(
    "value", [b"\x04\x0fuid-of-somebody", b"\x03\x0f\x00id-of-somebody", b"\x0c\x00\x0c\x0did-of-somebod"]
)
def test_a_uid_that_is_no_text_is_an_error_and_no_crash(value: bytes) -> None:
    der = CA.leaf("alice", uid="uid-of-somebody", eku=CLIENT).certificate.public_bytes(serialization.Encoding.DER)
    text = b"\x0c\x0fuid-of-somebody"
    assert text in der
    try:
        certificate = x509.load_der_x509_certificate(der.replace(text, value))
    except ValueError:
        return  # refused before anybody looks at it
    peer = Peer(certificates=(certificate,))
    with pytest.raises(AuthenticationError):
        run(ClientCertificate(_settings(), now()).authenticate(call(peer=peer)))


@pytest.mark.parametrize(
    "error", [ValueError("bad DER"), x509.DuplicateExtension("twice", x509.ObjectIdentifier("1.2"))]
)
def test_a_malformed_certificate_is_a_refusal(error: Exception) -> None:
    asked: list[Peer] = []

    def judge(peer: Peer) -> tuple[str, float]:
        asked.append(peer)
        raise error

    clock: Any = now()
    verdicts = PeerVerdicts("key", TrustSettings(), clock, judge)
    peer = Peer()
    for _ in range(2):
        with pytest.raises(AuthenticationError, match="x509: malformed certificate"):
            verdicts.of(peer)
    assert len(asked) == 1
    clock.advance(REFUSAL_SECONDS)
    with pytest.raises(AuthenticationError):
        verdicts.of(peer)
    assert len(asked) == 2


def test_two_authenticators_do_not_share_a_verdict() -> None:
    settings, peer, clock = TrustSettings(), Peer(), now()
    first = PeerVerdicts("one", settings, clock, lambda _: ("a", float("inf")))
    second = PeerVerdicts("two", settings, clock, lambda _: ("b", float("inf")))
    assert (first.of(peer), second.of(peer), first.of(peer)) == ("a", "b", "a")


def test_the_first_expiry_is_of_what_was_accepted() -> None:
    settings, peer, clock = TrustSettings(), Peer(), now()
    peer.verdicts["user"] = "something of another stage"
    assert first_expiry(peer) == float("inf")

    def refuse(_: Peer) -> tuple[str, float]:
        raise AuthenticationError("no")

    with pytest.raises(AuthenticationError):
        PeerVerdicts("refused", settings, clock, refuse).of(peer)
    assert first_expiry(peer) == float("inf")  # when it is asked again, not when it ends
    for key, expires in (("later", 7e9), ("sooner", 6e9)):
        PeerVerdicts(key, settings, clock, lambda _, expires=expires: ("", expires)).of(peer)  # type: ignore[misc]  # mypy infers no type for a default
    assert first_expiry(peer) == 6e9


def test_without_a_ca_nobody_is_vouched_for() -> None:
    peer = Peer(certificates=authority("ca").leaf("me").chain)
    for authenticator in (RequestHeader(TrustSettings(), now()), ClientCertificate(TrustSettings(), now())):
        with pytest.raises(AuthenticationError, match="no CA for"):
            authenticator._judge(peer)


def test_a_refusal_of_a_wrong_clock_does_not_outlive_it() -> None:
    """The clock was ahead, and the certificate had expired by it."""
    clock = SettableClock(now().seconds())
    settings = TrustSettings()
    settings.update(clients=CA.pem)
    authenticator = ClientCertificate(settings, clock)
    request = call(peer=Peer(certificates=CA.leaf("jane", lasting=dt.timedelta(hours=1)).chain))
    clock.set_by(86_400)
    with pytest.raises(AuthenticationError, match="expired"):
        run(authenticator.authenticate(request))
    clock.set_by(-86_400)
    clock.advance(REFUSAL_SECONDS)
    user = run(authenticator.authenticate(request))
    assert user is not None
    assert user.name == "jane"
