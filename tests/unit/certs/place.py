"""A directory of certificates under a clock, and the judges: OpenSSL's handshake, and cryptography's path validation."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError
from OpenSSL import SSL

from extapi.certs import keeping, rotation
from extapi.certs.directory import Paths
from extapi.certs.serving import service_names
from extapi.listener.tls import ServingCertificate

NAME = "pizza.restaurant.svc"
DAY = dt.timedelta(days=1)


class PowerFailure(BaseException):
    """The machine stops here."""


@dataclass
class Place:
    """What ``extapi certs`` keeps in ``paths``; ``now`` is moved by hand."""

    paths: Paths
    now: dt.datetime = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
    said: list[str] = field(default_factory=list)

    def ensure(self, *hosts: str, service: str = "pizza", renew_before: dt.timedelta = 30 * DAY) -> str:
        """What a run says."""
        names = service_names(service, "restaurant", hosts) if service else None
        self.said.clear()
        keeping.ensure(self.paths, names, now=self.now, renew_before=renew_before, say=self.said.append)
        return "\n".join(self.said)

    def begin(self) -> str:
        self.said.clear()
        rotation.begin(self.paths, now=self.now, say=self.said.append)
        return "\n".join(self.said)

    def switch(self) -> str:
        self.said.clear()
        rotation.switch(self.paths, now=self.now, say=self.said.append)
        return "\n".join(self.said)

    def finish(self) -> str:
        self.said.clear()
        rotation.finish(self.paths, say=self.said.append)
        return "\n".join(self.said)

    def contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.paths.directory.iterdir()}

    def authorities(self) -> list[x509.Certificate]:
        return x509.load_pem_x509_certificates(self.paths.authorities.read_bytes())

    def chain(self) -> list[x509.Certificate]:
        return x509.load_pem_x509_certificates(self.paths.certificate.read_bytes())

    def trusted(self, name: str = NAME, *, by: list[x509.Certificate] | None = None) -> bool:
        """Whether a client with ``by`` (else ``ca.crt``) takes ``tls.crt`` for ``name`` now, by RFC 5280."""
        leaf, *intermediates = self.chain()
        builder = PolicyBuilder().store(Store(by or self.authorities())).time(self.now)
        try:
            builder.build_server_verifier(x509.DNSName(name)).verify(leaf, intermediates)
        except VerificationError:
            return False
        return True


def bundle(path: Path) -> str:
    """A client's caBundle."""
    return path.read_text()


def shakes_hands(serving: ServingCertificate, ca_bundle: str, name: str = NAME) -> bool:
    """Whether OpenSSL, as strict as it can be, connects to the server under ``name``, trusting ``ca_bundle`` alone."""
    context = ssl.create_default_context(cadata=ca_bundle)
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(to_client, to_server, server_hostname=name)
    server = SSL.Connection(serving.context, None)
    server.set_accept_state()
    for _ in range(10):
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLCertVerificationError:
            return False
        else:
            return True
        server.bio_write(to_server.read())
        with contextlib.suppress(SSL.WantReadError):
            server.do_handshake()
        to_client.write(server.bio_read(65536))
    raise AssertionError("the handshake does not end")


@contextlib.contextmanager
def stopping_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The power goes after so many steps that change something on the disk; what was made durable is there."""
    left = steps

    def counted(function: str) -> None:
        original = getattr(os, function)

        def step(*args: object) -> None:
            nonlocal left
            if not left:
                raise PowerFailure
            left -= 1
            original(*args)

        patch.setattr(os, function, step)

    with monkeypatch.context() as patch:
        counted("fsync")
        counted("replace")
        yield


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
