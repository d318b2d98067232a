"""A client certificate in two files, which may change at any time: that of the front proxy, or one that webhooks ask for.

Knows nothing of the servers that it is presented to.

Source: ``k8s.io/apiserver/pkg/server/dynamiccertificates`` DynamicCertKeyPairContent, for ``--proxy-client-cert-file``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from twisted.logger import Logger


class Pair(NamedTuple):
    """A certificate and its key, both as PEM."""

    certificate: bytes
    key: bytes


class ClientPair:
    """The pair in two files: the last one that was valid.

    Args:
        certificate: The file with the certificate, followed by intermediates.
        key: The file with its key.
        whose: Whose it is, for the log, such as ``the front proxy's``.
    """

    _log = Logger()

    def __init__(self, certificate: Path, key: Path, whose: str) -> None:
        self._certificate = certificate
        self._key = key
        self._whose = whose
        self._seen: tuple[object, ...] = ()
        self._pair: Pair | None = None

    def current(self) -> Pair:
        """The current pair; costs two stat(2) calls while nothing changes.

        A new pair that cannot be used is logged once, and the last good one stays, because the files are written one
        after the other.

        Raises:
            OSError: The files cannot be read, and there was no good pair before.
            ValueError: The files do not hold a pair, and there was no good pair before.
        """
        seen = (_stamp(self._certificate), _stamp(self._key))
        if self._pair is not None and seen == self._seen:
            return self._pair
        try:
            pair = _read(self._certificate, self._key)
        except (OSError, ValueError) as error:
            if self._pair is None:
                raise
            self._log.error("keeping {whose} certificate in use: {error}", whose=self._whose, error=str(error))
            pair = self._pair
        else:
            if self._pair not in (None, pair):
                self._log.info(
                    "{whose} certificate was reloaded from {path}", whose=self._whose, path=str(self._certificate)
                )
        self._seen, self._pair = seen, pair
        return pair


def checked_pair(pair: Pair, certificate: object, key: object) -> Pair:
    """The pair, if it is one.

    Args:
        pair: The certificate and its key.
        certificate: Where the certificate is from, for messages.
        key: Where the key is from, for messages.

    Raises:
        ValueError: It cannot be used.

    Source: ``crypto/tls`` X509KeyPair.
    """
    try:
        leaf = x509.load_pem_x509_certificates(pair.certificate)[0]
    except ValueError as error:
        raise ValueError(f"no PEM certificate in {certificate}: {error}") from None
    try:
        private = load_pem_private_key(pair.key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        why = str(error).split("\n", 1)[0]
        raise ValueError(f"no usable private key in {key}: {why}") from None
    if private.public_key() != leaf.public_key():
        raise ValueError(f"the key in {key} is not that of the certificate in {certificate}")
    return pair


def _read(certificate: Path, key: Path) -> Pair:
    return checked_pair(Pair(certificate.read_bytes(), key.read_bytes()), certificate, key)


def _stamp(path: Path) -> tuple[int, ...]:
    """A value that changes when the file does; symbolic links are followed."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ino, status.st_dev, status.st_size
