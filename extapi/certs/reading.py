"""Reads certificates and keys from files, and describes them to people.

Accepts what kube-apiserver accepts (Go's ``crypto/x509``): EC keys on the NIST curves and RSA keys of 2048 bits and more,
unencrypted. Everything else is a :class:`CertsFailure` that names the file and what to do.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from extapi.certs.failure import CertsFailure
from extapi.issuing import PrivateKey

_CURVES = ("secp256r1", "secp384r1", "secp521r1")
_RSA_BITS = 2048
_BROKEN = (ValueError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
"""What the library raises for a part of a certificate that it cannot parse."""


def read_certificates(path: Path) -> tuple[x509.Certificate, ...]:
    """All certificates of a PEM file, in order; none if the file does not exist.

    Raises:
        CertsFailure: The file cannot be read, holds no certificate, an invalid one, or a private key as well.
    """
    content = _read(path)
    if content is None:
        return ()
    if b"PRIVATE KEY-----" in content:
        raise CertsFailure(f"{path} also holds a private key, but is a public file: move the key to another file")
    try:
        certificates = tuple(x509.load_pem_x509_certificates(content))
    except (ValueError, x509.InvalidVersion) as error:
        raise CertsFailure(
            f"{path} holds no certificates in PEM ({_first_line(error)}): "
            f"convert it (openssl x509 -inform der -in FILE -out {path}), or move it away"
        ) from error
    for number, each in enumerate(certificates, 1):
        try:
            # The library parses these only when they are read.
            _ = each.subject, each.issuer, each.extensions, each.public_key()
        except _BROKEN as error:
            raise CertsFailure(
                f"certificate {number} in {path} cannot be parsed ({_first_line(error)}): remove it from the file"
            ) from error
    return certificates


def read_key(path: Path) -> PrivateKey | None:
    """The private key of a PEM file; None if the file does not exist.

    Raises:
        CertsFailure: The key cannot be read, is encrypted, or is of a type that kube-apiserver does not accept.
    """
    content = _read(path)
    if content is None:
        return None
    try:
        key = serialization.load_pem_private_key(content, None)
    except TypeError as error:
        raise CertsFailure(
            f"the private key in {path} is encrypted: decrypt it first (openssl pkey -in {path} -out FILE)"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise CertsFailure(
            f"{path} holds no private key in PEM ({_first_line(error)}): put one there, or move the file away"
        ) from error
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in _CURVES:
        return key
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size >= _RSA_BITS:
        return key
    raise CertsFailure(
        f"the private key in {path} ({describe_key(key.public_key())}) cannot be used: "
        f"use EC on P-256, P-384 or P-521, or RSA of at least {_RSA_BITS} bits"
    )


def is_authority(certificate: x509.Certificate) -> bool:
    """Whether it may sign certificates, as ``crypto/x509`` judges: basic constraints, and key usage where there is one."""
    try:
        if not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
            return False
        return certificate.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    except x509.ExtensionNotFound as error:
        return error.oid == x509.KeyUsage.oid


def vouches(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    """Whether the authority's key signed the certificate, in its name. Ignores validity times."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def hosts(certificate: x509.Certificate) -> list[str]:
    """The DNS names and IP addresses that it covers."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]


def title(certificate: x509.Certificate) -> str:
    """The subject, in quotes."""
    return f'"{certificate.subject.rfc4514_string()}"'


def titles(certificates: Sequence[x509.Certificate]) -> str:
    """The subjects of several certificates, in quotes."""
    return ", ".join(map(title, certificates))


def moment(time: dt.datetime) -> str:
    """A time as the Kubernetes API writes it."""
    return time.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def describe_key(key: object) -> str:
    """The type and size of a public key."""
    if isinstance(key, ec.EllipticCurvePublicKey):
        return f"EC {key.curve.name}"
    if isinstance(key, rsa.RSAPublicKey):
        return f"RSA {key.key_size} bits"
    return type(key).__name__.removesuffix("PublicKey")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise CertsFailure(f"cannot read {path}: {error.strerror}; run this as the owner of the file") from error
    except OSError as error:
        raise CertsFailure(f"cannot read {path}: {error.strerror}") from error


def _first_line(error: Exception) -> str:
    """The first line of the library's text, which says what matters."""
    return str(error).split("\n", 1)[0].strip().rstrip(".") or type(error).__name__
