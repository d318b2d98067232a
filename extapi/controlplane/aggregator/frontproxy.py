"""The client certificate by which extension servers recognise the front proxy; its files may change at any time.

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


class FrontProxyCertificate:
    """The pair in two files: the last one that was valid."""

    _log = Logger()

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
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
            self._log.error("keeping the front proxy's certificate in use: {error}", error=str(error))
            pair = self._pair
        else:
            if self._pair not in (None, pair):
                self._log.info("the front proxy's certificate was reloaded from {path}", path=str(self._certificate))
        self._seen, self._pair = seen, pair
        return pair


def _read(certificate: Path, key: Path) -> Pair:
    pair = Pair(certificate.read_bytes(), key.read_bytes())
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


def _stamp(path: Path) -> tuple[int, ...]:
    """A value that changes when the file does; symbolic links are followed."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ino, status.st_dev, status.st_size
