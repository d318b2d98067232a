"""Certificates for tests: authorities, intermediates, and leaves with anything that can be wrong with them.

Knows only the ``cryptography`` package: nothing here is used outside tests. Keys are P-256, made anew each time. ::

    ca = authority("serving-ca")
    server = ca.leaf("localhost", san=["localhost", "127.0.0.1"], eku=SERVER)
    paths = server.save(tmp_path, "server")            # Paths(certificate, key); the chain without the root
    client = ca.intermediate("middle").leaf("alice", orgs=["devs"], eku=CLIENT, expired=True)
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

SERVER = (ExtendedKeyUsageOID.SERVER_AUTH,)
CLIENT = (ExtendedKeyUsageOID.CLIENT_AUTH,)
BOTH = SERVER + CLIENT

DAY = dt.timedelta(days=1)


class Paths(NamedTuple):
    """Where a certificate (with the intermediates it needs) and its key were written, in PEM."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Issued:
    """A certificate, its key, and who issued it (``None``: itself)."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    issuer: Issued | None = None

    @property
    def pem(self) -> bytes:
        """The certificate alone."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def chain(self) -> tuple[x509.Certificate, ...]:
        """What a peer presents: this certificate and its intermediates, leaf first, without the root."""
        if self.issuer is None or self.issuer.issuer is None:
            return (self.certificate,)
        return (self.certificate, *self.issuer.chain)

    @property
    def chain_pem(self) -> bytes:
        """The chain in PEM."""
        return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in self.chain)

    @property
    def key_pem(self) -> bytes:
        """The private key in PKCS#8 PEM, not encrypted."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def save(self, directory: Path, name: str) -> Paths:
        """Write ``<name>.crt`` (the chain) and ``<name>.key`` into the directory."""
        paths = Paths(directory / f"{name}.crt", directory / f"{name}.key")
        paths.certificate.write_bytes(self.chain_pem)
        paths.key.write_bytes(self.key_pem)
        return paths

    def intermediate(self, cn: str, *, eku: Sequence[ObjectIdentifier] = (), expired: bool = False) -> Issued:
        """An authority below this one; ``eku`` limits what its leaves may be used for."""
        return _issue(cn, issuer=self, is_ca=True, eku=eku, validity=validity(expired=expired))

    def leaf(
        self,
        cn: str,
        *,
        orgs: Sequence[str] = (),
        uid: str = "",
        eku: Sequence[ObjectIdentifier] = BOTH,
        san: Sequence[str] = (),
        expired: bool = False,
        not_yet_valid: bool = False,
        lasting: dt.timedelta = 30 * DAY,
        key: ec.EllipticCurvePrivateKey | None = None,
        authority_key_identifier: bool = True,
    ) -> Issued:
        """A certificate for a server or a client.

        ``orgs``: one O each (groups); ``uid``: Kubernetes' own OID 1.3.6.1.4.1.57683.2; ``eku``: empty for no such
        extension; ``san``: DNS names and IP addresses; ``key``: instead of a fresh one.
        """
        return _issue(
            cn,
            issuer=self,
            is_ca=False,
            orgs=orgs,
            uid=uid,
            eku=eku,
            san=san,
            validity=validity(expired=expired, not_yet_valid=not_yet_valid, lasting=lasting),
            key=key,
            authority_key_identifier=authority_key_identifier,
        )


def authority(cn: str, *, expired: bool = False, key: ec.EllipticCurvePrivateKey | None = None) -> Issued:
    """A root: an authority that issued itself."""
    return _issue(cn, issuer=None, is_ca=True, validity=validity(expired=expired), key=key)


def self_signed(cn: str, *, orgs: Sequence[str] = (), eku: Sequence[ObjectIdentifier] = BOTH) -> Issued:
    """A leaf that vouches for itself."""
    return _issue(cn, issuer=None, is_ca=False, orgs=orgs, eku=eku, validity=validity())


def validity(
    *, expired: bool = False, not_yet_valid: bool = False, lasting: dt.timedelta = 30 * DAY
) -> tuple[dt.datetime, dt.datetime]:
    """Not before, not after: around now, and ``lasting`` from now on, or wholly before or after it."""
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    if expired:
        return now - 10 * DAY, now - DAY
    if not_yet_valid:
        return now + DAY, now + 10 * DAY
    return now - DAY, now + lasting


def bundle(*issued: Issued) -> bytes:
    """Several certificates in one PEM file, each alone, in order."""
    return b"".join(one.pem for one in issued)


_UID = ObjectIdentifier("1.3.6.1.4.1.57683.2")


def _issue(
    cn: str,
    *,
    issuer: Issued | None,
    is_ca: bool,
    validity: tuple[dt.datetime, dt.datetime],
    orgs: Sequence[str] = (),
    uid: str = "",
    eku: Sequence[ObjectIdentifier] = (),
    san: Sequence[str] = (),
    key: ec.EllipticCurvePrivateKey | None = None,
    authority_key_identifier: bool = True,
) -> Issued:
    key = key or ec.generate_private_key(ec.SECP256R1())
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, org) for org in orgs]
    if uid:
        names.append(x509.NameAttribute(_UID, uid))
    if cn:
        names.append(x509.NameAttribute(NameOID.COMMON_NAME, cn))
    subject = x509.Name(names)
    signer = issuer.key if issuer else key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity[0])
        .not_valid_after(validity[1])
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_key_usage(is_ca=is_ca), critical=True)
    )
    if authority_key_identifier:
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        builder = builder.add_extension(identifier, critical=False)
    if eku:
        builder = builder.add_extension(x509.ExtendedKeyUsage(eku), critical=False)
    if san:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_general_name(one) for one in san]), critical=False
        )
    return Issued(builder.sign(signer, hashes.SHA256()), key, issuer)


def _key_usage(*, is_ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_ca,
        crl_sign=is_ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
