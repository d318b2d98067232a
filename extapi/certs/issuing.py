"""Keys, authorities, and what they sign. Pure: no files, and the time is an argument.

Certificates are as Kubernetes' own tools make them (k8s.io/client-go/util/cert): ECDSA on P-256, names of servers as
subject alternative names, user and groups of clients as CN and O.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = dt.timedelta(days=3650)
LEAF_LIFE = dt.timedelta(days=365)
NAME_LIMIT = 64
"""Characters in the name of a user or a group (RFC 5280, ub-common-name and ub-organization-name)."""
_BACKDATED = dt.timedelta(minutes=5)


@dataclass(frozen=True)
class Signed:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes:
        """The private key as PEM, in the form (SEC 1) that every Go program reads."""
        return private_pem(self.key)


def make_authority(name: str, *, now: dt.datetime) -> Signed:
    """A self-signed authority."""
    key = new_key()
    subject = _name(name, ())
    builder = _builder(subject, subject, key, now, AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
    return Signed(builder.sign(key, hashes.SHA256()), key)


def make_server(authority: Signed, name: str, hosts: Sequence[str], *, now: dt.datetime) -> Signed:
    """A certificate for serving under ``hosts``: DNS names and IP addresses."""
    names = x509.SubjectAlternativeName([_host(host) for host in hosts])
    return _make_leaf(authority, _name(name, ()), ExtendedKeyUsageOID.SERVER_AUTH, names, now)


def make_client(
    authority: Signed, user: str, groups: Sequence[str], *, now: dt.datetime, life: dt.timedelta = LEAF_LIFE
) -> Signed:
    """A certificate for a client: Kubernetes reads the user from CN and the groups from O.

    :raises ValueError: a name is empty, or longer than :data:`NAME_LIMIT`.
    """
    return _make_leaf(authority, _name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, None, now, life)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A private key on P-256."""
    return ec.generate_private_key(ec.SECP256R1())


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A private key as unencrypted PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _make_leaf(
    authority: Signed,
    subject: x509.Name,
    usage: x509.ObjectIdentifier,
    names: x509.SubjectAlternativeName | None,
    now: dt.datetime,
    life: dt.timedelta = LEAF_LIFE,
) -> Signed:
    key = new_key()
    builder = _builder(subject, authority.certificate.subject, key, now, life)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = builder.add_extension(issuer, critical=False)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return Signed(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: dt.datetime,
    life: dt.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


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
