"""Plain HTTPS requests to kube-apiserver or to an extension server, as anybody: no client library in between."""

from __future__ import annotations

import datetime as dt
import http.client
import json
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from extapi.dev.certificates import Certificates
from extapi.issuing import Signed, make_client

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which has to be JSON."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """The message of a Status."""
        return str(self.json["message"])


@dataclass(frozen=True)
class Caller:
    """Somebody with or without credentials, at one port of this machine."""

    port: int
    tls: ssl.SSLContext
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with every request."""

    def connect(self, seconds: float = 30) -> http.client.HTTPSConnection:
        """A connection of one's own, for streams."""
        return http.client.HTTPSConnection("localhost", self.port, timeout=seconds, context=self.tls)

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        headers: Iterable[tuple[str, str]] = (),
    ) -> Answer:
        """One request on a new connection; ``headers`` may hold a name several times."""
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = self.connect()
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in (*self.headers.items(), *headers):
                connection.putheader(name, value)
            if content is not None:
                connection.putheader("Content-Type", content_type)
                connection.putheader("Content-Length", str(len(content)))
            connection.endheaders(content)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def with_headers(self, **headers: str) -> Caller:
        """The same with more headers; ``_`` in a name stands for ``-``."""
        return Caller(
            self.port, self.tls, {**self.headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
        )

    def with_token(self, token: str) -> Caller:
        """The same with a bearer token."""
        return self.with_headers(Authorization=f"Bearer {token}")


def authority(certificates: Certificates, name: str) -> Signed:
    """One of the control plane's authorities, to sign with."""
    key = serialization.load_pem_private_key(certificates.key(name).read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return Signed(x509.load_pem_x509_certificate(certificates.certificate(name).read_bytes()), key)


def tls_of(server_ca: Path, signed: Signed | None, directory: Path) -> ssl.SSLContext:
    """A context that trusts ``server_ca`` and presents ``signed``."""
    context = ssl.create_default_context(cafile=str(server_ca))
    if signed is not None:
        both = directory / f"{signed.certificate.serial_number:x}.pem"
        both.write_bytes(signed.key_pem() + signed.certificate_pem())
        context.load_cert_chain(both)
    return context


def user_certificate(signer: Signed, user: str, *groups: str) -> Signed:
    """A client certificate for ``user``."""
    return make_client(signer, user, groups, now=dt.datetime.now(dt.UTC))
