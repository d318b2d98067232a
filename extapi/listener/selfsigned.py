"""A serving certificate for those who gave none: signed by itself, for localhost, kept for the next start (spec L2).

Nobody trusts it unasked: for kube-apiserver, give a certificate whose CA stands in the APIService.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from extapi.listener.tls import CertificateError

LIFE = dt.timedelta(days=365)


def self_signed(directory: Path, now: dt.datetime) -> tuple[Path, Path]:
    """``apiserver.crt`` and ``apiserver.key`` in ``directory``; made where they are missing, the key readable by its owner.

    Raises :class:`CertificateError` if they cannot be written.
    """
    certificate, key = directory / "apiserver.crt", directory / "apiserver.key"
    if certificate.exists() and key.exists():
        return certificate, key
    private = ec.generate_private_key(ec.SECP256R1())
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _write(
            key,
            private.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
            0o600,
        )
        _write(certificate, _certificate(private, now).public_bytes(serialization.Encoding.PEM), 0o644)
    except OSError as error:
        raise CertificateError(
            f"cannot make a serving certificate in {directory}: {error.strerror or error}; "
            "give --tls-cert-file and --tls-private-key-file, or another --cert-dir"
        ) from error
    return certificate, key


def _write(path: Path, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _certificate(key: ec.EllipticCurvePrivateKey, now: dt.datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
