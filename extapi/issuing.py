"""Keys, authorities, and the certificates that they sign. Pure: no files, and the time is an argument.

Certificates are like those of Kubernetes' own tools (``k8s.io/client-go/util/cert``), with ECDSA keys on P-256: subject
alternative names of servers, user and groups of clients as CN and O.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = dt.timedelta(days=3650)
LEAF_LIFE = dt.timedelta(days=365)
NAME_LIMIT = 64
"""Characters in the name of a user or group (RFC 5280, ub-common-name and ub-organization-name)."""
_BACKDATED = dt.timedelta(minutes=5)
_SELF_BACKDATED = dt.timedelta(hours=1)

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
"""Keys that an authority may have; the ones made here are EC."""


@dataclass(frozen=True)
class Authority:
    """A certificate that signs others, and its private key; perhaps not made here."""

    certificate: x509.Certificate
    key: PrivateKey


@dataclass(frozen=True)
class Signed:
    """A certificate and its private key, made here."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes:
        """The private key as PEM, in the format (SEC 1) that every Go program reads."""
        return private_pem(self.key)


def make_authority(name: str, *, now: dt.datetime) -> Signed:
    """A new self-signed authority."""
    key = new_key()
    return Signed(self_sign(name, key, now=now), key)


def self_sign(name: str, key: PrivateKey, *, now: dt.datetime) -> x509.Certificate:
    """The certificate of an authority with this key."""
    subject = _name(name, ())
    builder = _builder(subject, subject, key, now, AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
    return builder.sign(key, hashes.SHA256())


def make_server(authority: Signed | Authority, name: str, hosts: Sequence[str], *, now: dt.datetime) -> Signed:
    """A certificate for serving under ``hosts``, DNS names and IP addresses. It does not outlive its authority.

    Raises:
        ValueError: ``name`` is longer than :data:`NAME_LIMIT`, or a host is neither a DNS name nor an address.
    """
    names = x509.SubjectAlternativeName([_host(host) for host in hosts])
    return _make_leaf(authority, _name(name, ()), ExtendedKeyUsageOID.SERVER_AUTH, names, now)


def make_client(
    authority: Signed | Authority, user: str, groups: Sequence[str], *, now: dt.datetime, life: dt.timedelta = LEAF_LIFE
) -> Signed:
    """A certificate for a client: Kubernetes reads the user from CN and the groups from O.

    Raises:
        ValueError: A name is empty, or longer than :data:`NAME_LIMIT`.
    """
    return _make_leaf(authority, _name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, None, now, life)


def make_self_signed(name: str, hosts: Sequence[str], *, now: dt.datetime) -> Signed:
    """A self-signed certificate for serving under ``hosts``, valid from an hour ago.

    Raises:
        ValueError: ``name`` is longer than :data:`NAME_LIMIT`, or a host is neither a DNS name nor an address.

    Source: ``k8s.io/client-go/util/cert/cert.go`` GenerateSelfSignedCertKey.
    """
    key = new_key()
    subject = _name(name, ())
    builder = _builder(subject, subject, key, now, LEAF_LIFE, backdated=_SELF_BACKDATED)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
    return Signed(builder.sign(key, hashes.SHA256()), key)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A new private key on P-256."""
    return ec.generate_private_key(ec.SECP256R1())


def private_pem(key: PrivateKey) -> bytes:
    """A private key as unencrypted PEM, in the format that every Go program reads: SEC 1, or PKCS #1 for RSA."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _make_leaf(
    authority: Signed | Authority,
    subject: x509.Name,
    usage: x509.ObjectIdentifier,
    names: x509.SubjectAlternativeName | None,
    now: dt.datetime,
    life: dt.timedelta = LEAF_LIFE,
) -> Signed:
    key = new_key()
    life = min(life, authority.certificate.not_valid_after_utc - now)
    builder = _builder(subject, authority.certificate.subject, key, now, life)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    builder = builder.add_extension(_identifier(authority), critical=False)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return Signed(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: PrivateKey,
    now: dt.datetime,
    life: dt.timedelta,
    *,
    backdated: dt.timedelta = _BACKDATED,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - backdated)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _identifier(authority: Signed | Authority) -> x509.AuthorityKeyIdentifier:
    """The authority's key identifier as in its certificate, because not all tools hash keys alike (RFC 5280, section 4.2.1.2)."""
    try:
        subject = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(subject.value)


def _name(common: str, organizations: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
