"""Where etcd is and how it is reached: endpoints, TLS from files that may change, user and password. Opens no connection.

The files are read when a connection is made, so that certificates can be replaced while the server runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from OpenSSL import crypto
from twisted.internet import ssl
from twisted.logger import Logger

from extapi.client.authority import authority
from extapi.storage.base import UnusableStore
from extapi.storage.etcd.times import USUAL, EtcdTimes

PASSWORD: int = 4096
"""The longest password, in bytes."""


PREFIX: int = 200
"""The longest prefix of keys, in characters."""


class EtcdEndpoint(NamedTuple):
    """One member of etcd, or what stands before it."""

    host: str
    port: int
    tls: bool

    @property
    def url(self) -> str:
        """As it is shown."""
        return f"{'https' if self.tls else 'http'}://{authority(self.host, self.port)}"


def parse_endpoint(url: str) -> EtcdEndpoint:
    """Parse one of ``--etcd-servers``.

    Raises:
        ValueError: It is no address of an etcd that can be used.
    """
    shown = url.rpartition("@")[2]  # no credentials
    expected = f"{shown!r}: expected http://HOST:PORT or https://HOST:PORT"
    try:
        parts = urlsplit(url)
        port = parts.port or 2379
    except ValueError:
        raise ValueError(expected) from None
    rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username, parts.password)
    if parts.scheme not in ("http", "https") or not parts.hostname or any(rest):
        raise ValueError(expected)
    return EtcdEndpoint(parts.hostname, port, parts.scheme == "https")


@dataclass(frozen=True, kw_only=True)
class EtcdOptions:
    """The flags of kube-apiserver that begin with ``etcd``, as far as they exist here."""

    servers: tuple[str, ...] = ()
    prefix: str = "/extapi"
    cafile: Path | None = None
    """CAs of etcd's certificates; None: those of the system."""
    certfile: Path | None = None
    keyfile: Path | None = None
    username: str = ""
    password_file: Path | None = None
    healthcheck_timeout: float = 2.0
    """Seconds."""
    compaction_interval: float = 300.0
    """Seconds; 0: this server compacts nothing."""
    times: EtcdTimes = USUAL
    create: bool = True
    """Whether a store is made below the prefix if there is none; no flag: commands that only read do not."""


def check_etcd(options: EtcdOptions) -> Iterable[str]:
    """What is wrong with the options, each problem with its flag; no file is read."""
    if not options.servers:
        yield "--etcd-servers must be specified"  # as in k8s.io/apiserver/pkg/server/options/etcd.go
    for url in options.servers:
        try:
            parse_endpoint(url)
        except ValueError as error:
            yield f"--etcd-servers: {error}"
    prefix = options.prefix
    if not prefix.startswith("/") or prefix.endswith("/") or "//" in prefix or len(prefix) > PREFIX:
        yield f"--etcd-prefix: {prefix!r}: expected /NAME or /NAME/NAME, with at most {PREFIX} characters"
    elif f"{prefix}/".startswith("/registry/"):
        yield "--etcd-prefix: /registry is where kube-apiserver keeps its objects; choose another one"
    if (options.certfile is None) != (options.keyfile is None):
        yield "--etcd-certfile and --etcd-keyfile must be given together"
    if (not options.username) != (options.password_file is None):
        yield "--etcd-username and --etcd-password-file must be given together"


class EtcdAccess:
    """The parts of :class:`EtcdOptions` that are read from files, each time as they are then.

    Raises:
        UnusableStore: A file cannot be used at the start. Later the last that could be used stays, with a line in the log.
    """

    _log = Logger()

    def __init__(self, options: EtcdOptions) -> None:
        self.options = options
        self.times = options.times
        self.endpoints = [parse_endpoint(url) for url in options.servers]
        self._tls = any(endpoint.tls for endpoint in self.endpoints)
        self._trust: Any = None
        self._pair: dict[str, Any] = {}
        self._password = b""
        try:
            self._read()
        except (OSError, ValueError) as error:
            raise UnusableStore(f"storage etcd: {error}") from error

    def _read(self) -> None:
        options = self.options
        trust, pair, password = None, {}, b""
        if self._tls and options.cafile is not None:
            trust = _trust(options.cafile)
        if self._tls and options.certfile is not None and options.keyfile is not None:
            pair = _pair(options.certfile, options.keyfile)
        if options.password_file is not None:
            password = _password(options.password_file)
        self._trust, self._pair, self._password = trust, pair, password

    def refresh(self) -> None:
        """Read the files again; what cannot be used leaves things as they are."""
        try:
            self._read()
        except (OSError, ValueError) as error:
            self._log.error("keeping the credentials for etcd in use: {error}", error=str(error))

    def tls(self, host: str) -> Any:
        """The options of a TLS connection to ``host``, whose name its certificate has to have."""
        options: Any = ssl.optionsForClientTLS
        return options(
            host,
            trustRoot=self._trust,
            acceptableProtocols=(b"h2",),
            extraCertificateOptions=dict(self._pair),
        )

    @property
    def credentials(self) -> tuple[bytes, bytes] | None:
        """User and password; None if there are none."""
        return (self.options.username.encode(), self._password) if self.options.username else None


def _trust(path: Path) -> Any:
    try:
        certificates = x509.load_pem_x509_certificates(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"no PEM certificate in {path}: {error}") from None
    untyped: Any = ssl
    return untyped.trustRootFromCertificates(
        [untyped.Certificate(crypto.X509.from_cryptography(each)) for each in certificates]
    )


def _pair(certificate: Path, key: Path) -> dict[str, Any]:
    try:
        first, *others = x509.load_pem_x509_certificates(certificate.read_bytes())
    except ValueError as error:
        raise ValueError(f"no PEM certificate in {certificate}: {error}") from None
    try:
        private = serialization.load_pem_private_key(key.read_bytes(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(f"no PEM private key in {key}: {error}") from None
    if private.public_key() != first.public_key():
        raise ValueError(f"{key} is not the key of the certificate in {certificate}")
    return {"certificate": first, "extraCertChain": others, "privateKey": private}


def _password(path: Path) -> bytes:
    with path.open("rb") as file:
        password = file.read(PASSWORD + 1).rstrip(b"\r\n")
    if not 0 < len(password) <= PASSWORD:
        raise ValueError(f"{path} has no password of 1 to {PASSWORD} bytes")
    return password
