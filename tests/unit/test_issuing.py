"""Judged by cryptography's own path validation, which follows RFC 5280 and the CA/Browser rules."""

from __future__ import annotations

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store

from extapi.issuing import (
    LEAF_LIFE,
    Authority,
    Signed,
    make_authority,
    make_self_signed,
    make_server,
    new_key,
    private_pem,
    self_sign,
)
from tests.unit.certs.place import DAY

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


def verify(authority: Signed | Authority, leaf: Signed, name: str = "a.b.svc") -> None:
    policy = PolicyBuilder().store(Store([authority.certificate])).time(NOW)
    policy.build_server_verifier(x509.DNSName(name)).verify(leaf.certificate, [])


@pytest.mark.parametrize(
    "key",
    [ec.generate_private_key(ec.SECP384R1()), rsa.generate_private_key(65537, 2048)],
    ids=["EC", "RSA"],
)
def test_an_authority_signs_with_its_key(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    authority = Authority(self_sign("ca", key, now=NOW), key)
    verify(authority, make_server(authority, "a", ["a.b.svc"], now=NOW))
    again = serialization.load_pem_private_key(private_pem(key), None)
    assert again.public_key() == authority.certificate.public_key()


def test_a_certificate_lasts_a_year_and_never_longer_than_its_authority() -> None:
    authority = make_authority("ca", now=NOW)
    end = authority.certificate.not_valid_after_utc
    for now, expected in ((NOW, NOW + LEAF_LIFE), (end - 10 * DAY, end)):
        leaf = make_server(authority, "a", ["a.b.svc"], now=now)
        assert leaf.certificate.not_valid_after_utc == expected


def test_it_is_for_servers_alone() -> None:
    leaf = make_server(make_authority("ca", now=NOW), "a", ["a.b.svc"], now=NOW).certificate
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.parametrize("digest", [b"\x01" * 20, None], ids=["another digest", "none"])
def test_the_authoritys_key_is_named_as_its_own_certificate_names_it(digest: bytes | None) -> None:
    # OpenSSL refuses a chain whose key identifiers differ.
    key = new_key()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ca")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW - DAY, NOW + DAY).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    if digest:
        builder = builder.add_extension(x509.SubjectKeyIdentifier(digest), critical=False)
    authority = Authority(builder.sign(key, hashes.SHA256()), key)
    leaf = make_server(authority, "a", ["a.b.svc"], now=NOW).certificate
    named = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    assert named == (digest or x509.SubjectKeyIdentifier.from_public_key(key.public_key()).digest)


def test_a_certificate_that_signs_itself_serves_and_signs_no_other() -> None:
    """Trusted as a root it proves its own names, and may have no authority below it (RFC 5280, section 4.2.1.9)."""
    made = make_self_signed("localhost", ["localhost", "127.0.0.1"], now=NOW)
    certificate = made.certificate
    certificate.verify_directly_issued_by(certificate)
    assert certificate.subject == certificate.issuer
    assert certificate.not_valid_before_utc == NOW - dt.timedelta(hours=1)
    assert certificate.not_valid_after_utc == NOW + LEAF_LIFE
    extensions = certificate.extensions
    assert extensions.get_extension_for_class(x509.BasicConstraints).value == x509.BasicConstraints(True, 0)
    assert list(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.SERVER_AUTH]
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
