"""The TLS side of the listener: certificate and key, from files that may change, and what is asked of clients.

A client certificate is requested but not required, and every one is accepted: ``authentication/`` decides which to
trust, by authorities that change while connections live, and an unknown one has to end in 401, not in a failed
handshake. OpenSSL still checks that the client holds the key of the certificate that it presents.

Sessions are never resumed: a resumed session has the client's leaf, but not the intermediates that it sent, so that
verification could have another result than on the first connection.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from OpenSSL import SSL
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from extapi.issuing import make_self_signed
from extapi.listener.address import parse_address

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2: forward secret and authenticated. TLS 1.3 has nothing else."""
POLL = 5.0
"""Seconds between checks of the files, which cost next to nothing (kube-apiserver, ``dynamiccertificates``, is notified)."""
ALPN = b"http/1.1"
_LOOPBACK = ("127.0.0.1", "::1")
_PARTIAL_WRITE = 1
"""``SSL_MODE_ENABLE_PARTIAL_WRITE``, which pyOpenSSL sets and does not name: with it, SSL_write sends one record per call."""
KEY_BITS = 8192
"""Bits of a client's RSA key: the time to check a signature grows with its square (Go: ``maxRSAKeySize`` in ``crypto/tls``)."""


class CertificateError(Exception):
    """A certificate or key cannot be used; the text names the file and says why."""


class ServingCertificate:
    """Makes the contexts to accept connections with, and reloads changed files.

    If changed files cannot be used, that is logged, and the last good pair stays in use.

    Args:
        certificate: A PEM file with the leaf and its intermediates.
        key: A PEM file with the leaf's private key, not encrypted.
        client_cas: Authorities to name to clients.
        minimum: The oldest version to accept, an ``OpenSSL.SSL.TLS1_*_VERSION``.
        ciphers: The ciphers for TLS 1.2.

    Raises:
        CertificateError: The files cannot be used now.
    """

    _log = Logger()

    def __init__(
        self,
        certificate: Path | str,
        key: Path | str,
        *,
        client_cas: Iterable[x509.Certificate] = (),
        minimum: int = SSL.TLS1_2_VERSION,
        ciphers: str = CIPHERS,
    ) -> None:
        self._certificate = Path(certificate)
        self._key = Path(key)
        self._client_cas = tuple(client_cas)
        self._minimum = minimum
        self._ciphers = ciphers.encode("ascii")
        self._seen = self._stamp()
        self._chain, self._private = _load(self._certificate, self._key)
        self.context = self._build(self._chain, self._private)
        """For the next connection. A new object after each change: a context in use is never altered."""
        self._pending = False
        self._poll: LoopingCall | None = None

    def set_client_ca_names(self, certificates: Iterable[x509.Certificate]) -> None:
        """Name the authorities whose certificates clients should present; from the next connection on.

        Only a hint that helps clients to choose among several certificates (RFC 8446, section 4.2.4).
        """
        self._client_cas = tuple(certificates)
        self.context = self._build(self._chain, self._private)

    def reload(self) -> bool:
        """Read the files again now.

        Returns:
            Whether the new pair can be used; if not, the error is logged.
        """
        stamp = self._stamp()
        again = self._pending and stamp == self._seen
        self._seen = stamp
        try:
            chain, private = _load(self._certificate, self._key)
            context = self._build(chain, private)
        except CertificateError as error:
            self._pending = True  # perhaps half-written: try again even if the files' times do not change
            if not again:
                self._log.error("keeping the serving certificate in use: {error}", error=error)
            return False
        self._pending = False
        if chain != self._chain:
            self._log.info("serving certificate reloaded from {path}", path=str(self._certificate))
        self._chain, self._private, self.context = chain, private, context
        return True

    def check(self) -> None:
        """Reload if the files have changed since the last check, or could not be used then."""
        if self._pending or self._stamp() != self._seen:
            self.reload()

    def start(self, clock: Any, *, every: float = POLL) -> None:
        """Start to check every ``every`` seconds of ``clock`` (IReactorTime)."""
        if self._poll is None:
            self._poll = LoopingCall(self.check)
            self._poll.clock = clock
            self._poll.start(every, now=False)

    def stop(self) -> None:
        """Stop checking."""
        if self._poll is not None:
            self._poll.stop()
            self._poll = None

    def _stamp(self) -> tuple[tuple[int, ...], ...]:
        """A value that changes when the files do; symbolic links are followed, as mounted Secrets require."""
        stamps: list[tuple[int, ...]] = []
        for path in (self._certificate, self._key):
            try:
                status = path.stat()
            except OSError:
                stamps.append((0,))
            else:
                stamps.append((status.st_mtime_ns, status.st_ino, status.st_dev, status.st_size))
        return tuple(stamps)

    def _build(self, chain: Sequence[x509.Certificate], private: Any) -> SSL.Context:
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.set_min_proto_version(self._minimum)
        context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION | SSL.OP_NO_TICKET)
        context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
        context.set_mode(SSL.MODE_RELEASE_BUFFERS)
        context.clear_mode(_PARTIAL_WRITE)
        try:
            context.set_cipher_list(self._ciphers)
        except SSL.Error as error:
            raise CertificateError(f"no usable cipher in {self._ciphers.decode()!r}: {_reason(error)}") from error
        context.set_alpn_select_callback(_select_protocol)
        context.set_verify(SSL.VERIFY_PEER, _accept_any)
        # Otherwise OpenSSL would verify the signatures of all certificates presented, up to 100 KiB of them, although any
        # is accepted: 85 ms per handshake. At depth 0 it looks at the leaf alone.
        context.set_verify_depth(0)
        try:
            context.use_certificate(chain[0])
            for certificate in chain[1:]:
                context.add_extra_chain_cert(certificate)
            context.use_privatekey(private)
            context.check_privatekey()
        except (SSL.Error, TypeError) as error:
            raise CertificateError(
                f"the key in {self._key} cannot be used with the certificate in {self._certificate}: {_reason(error)}"
            ) from error
        for authority in self._client_cas:
            context.add_client_ca(authority)
        return context


class TLSConnection(SSL.Connection):
    """pyOpenSSL's connection, which asks OpenSSL for an error only after a call that failed.

    pyOpenSSL asks after each call, which takes longer than anything else that it does with a small record. A positive
    result is a success (SSL_read(3), SSL_write(3), SSL_do_handshake(3)).
    """

    def _raise_ssl_error(self, ssl: Any, result: int) -> None:
        # Should pyOpenSSL call this method otherwise one day, it only is as slow as before.
        if result <= 0:
            super()._raise_ssl_error(ssl, result)


def self_signed(directory: Path, now: dt.datetime, interface: str = "") -> tuple[Path, Path]:
    """``apiserver.crt`` and ``apiserver.key`` in ``directory``, for servers that were given no certificate (behaviour L2).

    Missing files are made, for localhost; existing ones are kept. Only their owner can read the key. Clients do not
    trust the certificate by default: for kube-apiserver, use one whose CA is in the APIService.

    Args:
        directory: Where the files are.
        now: The time.
        interface: The address to listen on, which the certificate is for, too, unless it is all addresses.

    Raises:
        CertificateError: The files cannot be written.

    Source: ``k8s.io/apiserver/pkg/server/options/serving.go`` MaybeDefaultWithSelfSignedCerts.
    """
    certificate, key = directory / "apiserver.crt", directory / "apiserver.key"
    if certificate.exists() and key.exists():
        return certificate, key
    address = parse_address(interface)
    own = [] if address.is_unspecified or str(address) in _LOOPBACK else [str(address)]
    made = make_self_signed("localhost", ["localhost", *_LOOPBACK, *own], now=now)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _write(key, made.key_pem(), 0o600)
        _write(certificate, made.certificate_pem(), 0o644)
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


def _load(certificate: Path, key: Path) -> tuple[list[x509.Certificate], PrivateKeyTypes]:
    try:
        chain = x509.load_pem_x509_certificates(certificate.read_bytes())
    except OSError as error:
        raise CertificateError(f"cannot read the certificate {certificate}: {error.strerror}") from error
    except ValueError as error:
        raise CertificateError(f"no PEM certificate in {certificate}: {error}") from error
    try:
        private = load_pem_private_key(key.read_bytes(), password=None)
    except OSError as error:
        raise CertificateError(f"cannot read the private key {key}: {error.strerror}") from error
    except TypeError as error:
        raise CertificateError(f"the private key in {key} is encrypted") from error
    except ValueError as error:
        # The library's text has several lines; the first says what the operator needs.
        why = str(error).split("\n", 1)[0]
        raise CertificateError(f"no PEM private key in {key}: {why}") from error
    return chain, private


def _reason(error: Exception) -> str:
    """The readable part of an OpenSSL error, which is a list of (library, function, reason)."""
    details = error.args[0] if error.args else ""
    if isinstance(details, list):
        return ", ".join(str(detail[2]) for detail in details) or "unknown reason"
    return str(details)


def _accept_any(_connection: SSL.Connection, certificate: Any, _error: int, _depth: int, _verified: int) -> bool:
    """Accept every certificate, except one whose key is too large: OpenSSL checks a signature of it next."""
    try:
        return bool(certificate.get_pubkey().bits() <= KEY_BITS)
    except Exception:  # noqa: BLE001 - a key that cannot be read; pyOpenSSL has many errors for that
        return False


def _select_protocol(_connection: SSL.Connection, offered: list[bytes]) -> Any:
    return ALPN if ALPN in offered else SSL.NO_OVERLAPPING_PROTOCOLS
