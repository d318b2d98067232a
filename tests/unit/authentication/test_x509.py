"""Client certificates as users (spec A21)."""

from __future__ import annotations

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from extapi.api.user import User
from extapi.authentication.base import AuthenticationError
from extapi.authentication.settings import Settings
from extapi.authentication.x509 import UID_OID, ClientCertificate, common_name, user_of
from extapi.listener.call import Peer
from tests.certificates import CLIENT, Issued, authority
from tests.unit.client.building import call, now, run

CA = authority("client-ca")


def _settings(ca: Issued = CA) -> Settings:
    settings = Settings()
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
    assert run(ClientCertificate(Settings(), now()).authenticate(call(certificates=leaf.chain))) is None


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
