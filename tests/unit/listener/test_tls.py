from __future__ import annotations

import contextlib
import datetime as dt
import os
import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from OpenSSL import SSL, crypto
from twisted.internet.task import Clock

from extapi.listener.stream import TLSStream
from extapi.listener.tls import KEY_BITS, POLL, CertificateError, ServingCertificate, _accept_any, self_signed
from tests.certificates import CLIENT, Issued, Paths, authority
from tests.wire.harness import Client, SelectClock, client_context

CA = authority("ca")
SERVER = CA.leaf("localhost", san=["localhost"])
_NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


class Silent:
    """An application that only notes the end."""

    reason: BaseException | None = None

    def secured(self) -> None:
        pass

    def received(self, data: bytes) -> None:
        pass

    def drained(self) -> None:
        pass

    def disconnected(self, reason: BaseException) -> None:
        self.reason = reason


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return SERVER.save(tmp_path, "server")


class Pair:
    """A server's stream and a client on a socketpair."""

    def __init__(self, tls: ServingCertificate, context: ssl.SSLContext) -> None:
        self.reactor = SelectClock()
        ours, theirs = socket.socketpair()
        self.application = Silent()
        self.stream = TLSStream(self.reactor, tls.context, ours, self.application)
        self.client = Client(self.reactor, theirs, context, handshake=False)
        self.client.settle()

    def close(self) -> None:
        self.stream.connectionLost(ConnectionError())
        self.client.close()


@pytest.fixture
def pairs() -> Iterator[list[Pair]]:
    made: list[Pair] = []
    yield made
    for pair in made:
        pair.close()


def presented(tls: ServingCertificate, certificate: Issued | None, pairs: list[Pair]) -> tuple[object, ...]:
    pair = Pair(tls, client_context(CA, certificate))
    pairs.append(pair)
    assert pair.client.secured
    return pair.stream.certificates()


@pytest.mark.parametrize(
    "certificate",
    [
        CA.leaf("alice", eku=CLIENT),
        authority("unknown").leaf("mallory"),
        CA.leaf("late", expired=True),
        CA.leaf("early", not_yet_valid=True),
        authority("unknown").intermediate("middle").leaf("bob"),
    ],
    ids=["known", "unknown", "expired", "not yet valid", "with intermediate"],
)
def test_every_client_certificate_is_let_through_with_its_chain(
    paths: Paths, certificate: Issued, pairs: list[Pair]
) -> None:
    # Behind it OpenSSL's clients send a root that they know.
    found = presented(ServingCertificate(*paths), certificate, pairs)
    assert found[: len(certificate.chain)] == certificate.chain


def test_no_client_certificate_is_fine(paths: Paths, pairs: list[Pair]) -> None:
    assert presented(ServingCertificate(*paths), None, pairs) == ()


def test_protocol_and_version(paths: Paths, pairs: list[Pair]) -> None:
    pair = Pair(ServingCertificate(*paths), client_context(CA))
    pairs.append(pair)
    assert (pair.client.tls.selected_alpn_protocol(), pair.client.tls.version()) == ("http/1.1", "TLSv1.3")


def test_client_that_speaks_only_http2_still_connects(paths: Paths, pairs: list[Pair]) -> None:
    context = client_context(CA)
    context.set_alpn_protocols(["h2"])
    pair = Pair(ServingCertificate(*paths), context)
    pairs.append(pair)
    assert (pair.client.secured, pair.client.tls.selected_alpn_protocol()) == (True, None)


def test_tls12_is_served_and_the_minimum_can_be_raised(paths: Paths, pairs: list[Pair]) -> None:
    context = client_context(CA)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    for minimum, secured in ((SSL.TLS1_2_VERSION, True), (SSL.TLS1_3_VERSION, False)):
        pair = Pair(ServingCertificate(*paths, minimum=minimum), context)
        pairs.append(pair)
        assert pair.client.secured is secured


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_are_not_resumed(paths: Paths, version: ssl.TLSVersion, pairs: list[Pair]) -> None:
    tls = ServingCertificate(*paths)
    certificate = authority("unknown").intermediate("middle").leaf("bob")
    context = client_context(CA, certificate)
    context.maximum_version = version
    first = Pair(tls, context)
    pairs.append(first)
    first.stream.write(b"x")
    first.client.until(lambda: first.client.got == b"x")
    ours, theirs = socket.socketpair()
    application = Silent()
    stream = TLSStream(first.reactor, tls.context, ours, application)
    second = Client(first.reactor, theirs, context, handshake=False, session=first.client.tls.session)
    second.settle()
    assert (second.secured, second.tls.session_reused) == (True, False)
    assert stream.certificates() == certificate.chain
    stream.connectionLost(ConnectionError())
    second.close()


def test_nothing_is_negotiated_again(paths: Paths) -> None:
    """TLS 1.2 lets a client ask for handshake after handshake (CVE-2011-1473); RFC 5246, section 7.2.2: no_renegotiation."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_max_proto_version(SSL.TLS1_2_VERSION)
    client = SSL.Connection(context, None)
    client.set_connect_state()
    server = SSL.Connection(ServingCertificate(*paths).context, None)
    server.set_accept_state()

    def turn(side: SSL.Connection, other: SSL.Connection) -> None:
        with contextlib.suppress(SSL.WantReadError):
            side.do_handshake()
        with contextlib.suppress(SSL.WantReadError):
            side.recv(1)
        with contextlib.suppress(SSL.WantReadError):
            other.bio_write(side.bio_read(65536))

    for _ in range(4):
        turn(client, server)
        turn(server, client)
    assert client.get_protocol_version_name() == "TLSv1.2"
    assert client.renegotiate()
    turn(client, server)
    turn(server, client)
    with pytest.raises(SSL.Error, match="no renegotiation"):
        turn(client, server)


def test_names_of_authorities_are_sent(paths: Paths) -> None:
    tls = ServingCertificate(*paths, client_cas=[CA.certificate])
    assert asked(tls) == ["ca"]
    before = tls.context
    tls.set_client_ca_names([CA.certificate, authority("other").certificate])
    assert tls.context is not before
    assert asked(tls) == ["ca", "other"]
    assert tls.reload()
    assert asked(tls) == ["ca", "other"]


def asked(tls: ServingCertificate) -> list[str | None]:
    """The authorities that a client is told, by a client that reads them."""
    reactor = SelectClock()
    ours, theirs = socket.socketpair()
    stream = TLSStream(reactor, tls.context, ours, Silent())
    theirs.setblocking(False)
    client = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), theirs)
    client.set_connect_state()
    done = False

    def shaken() -> bool:
        nonlocal done
        try:
            client.do_handshake()
            done = True
        except SSL.WantReadError:
            pass
        return done

    reactor.until(shaken)
    names = [name.commonName for name in client.get_client_ca_list()]
    stream.connectionLost(ConnectionError())
    theirs.close()
    return names


def touch(paths: Paths, issued: Issued) -> None:
    """Write another pair, with times that differ."""
    issued.save(paths.certificate.parent, "server")
    for path in paths:
        os.utime(
            path, ns=(1, issued.certificate.not_valid_before_utc.microsecond + issued.certificate.serial_number % 10**9)
        )


def served(tls: ServingCertificate, pairs: list[Pair]) -> bytes | None:
    context = client_context(CA)
    pair = Pair(tls, context)
    pairs.append(pair)
    return pair.client.tls.getpeercert(binary_form=True)


def der(issued: Issued) -> bytes:
    return issued.certificate.public_bytes(serialization.Encoding.DER)


def test_changed_files_are_loaded_by_the_clock(paths: Paths, pairs: list[Pair]) -> None:
    tls, clock = ServingCertificate(*paths), Clock()
    tls.start(clock)
    tls.start(clock)
    before = tls.context
    clock.advance(POLL)
    assert tls.context is before
    other = CA.intermediate("middle").leaf("localhost", san=["localhost"])
    touch(paths, other)
    clock.advance(POLL - 0.1)
    assert tls.context is before
    clock.advance(0.1)
    assert served(tls, pairs) == der(other)
    tls.stop()
    tls.stop()
    assert clock.getDelayedCalls() == []


def test_broken_pair_is_not_taken_and_looked_at_again(paths: Paths, pairs: list[Pair]) -> None:
    tls = ServingCertificate(*paths)
    other = CA.leaf("localhost", san=["localhost"])
    paths.certificate.write_bytes(other.pem)  # the key is still the old one
    tls.check()
    assert not tls.reload()
    assert served(tls, pairs) == der(SERVER)
    paths.key.unlink()
    tls.check()
    assert served(tls, pairs) == der(SERVER)
    paths.key.write_bytes(other.key_pem)
    tls.check()
    assert served(tls, pairs) == der(other)


def test_half_written_file_is_read_again_although_its_times_stand_still(paths: Paths, pairs: list[Pair]) -> None:
    tls = ServingCertificate(*paths)
    other = CA.leaf("localhost", san=["localhost"])
    paths.key.write_bytes(other.key_pem)
    whole = other.pem
    paths.certificate.write_bytes(whole[:100] + b"\n" * (len(whole) - 100))
    times = (paths.certificate.stat().st_atime_ns, paths.certificate.stat().st_mtime_ns)
    tls.check()
    with paths.certificate.open("r+b") as file:
        file.write(whole)
    os.utime(paths.certificate, ns=times)
    tls.check()
    assert served(tls, pairs) == der(other)


def refusal(paths: Paths, **options: object) -> str:
    with pytest.raises(CertificateError) as caught:
        ServingCertificate(*paths, **options)  # type: ignore[arg-type]  # options of any kind pass through here
    return str(caught.value)


def test_missing_files_are_named(paths: Paths) -> None:
    paths.key.unlink()
    assert refusal(paths) == f"cannot read the private key {paths.key}: No such file or directory"
    paths.certificate.unlink()
    assert refusal(paths) == f"cannot read the certificate {paths.certificate}: No such file or directory"


def test_files_of_another_kind_are_named(paths: Paths) -> None:
    paths.key.write_text("nonsense")
    assert refusal(paths).startswith(f"no PEM private key in {paths.key}: ")
    paths.certificate.write_text("nonsense")
    assert refusal(paths).startswith(f"no PEM certificate in {paths.certificate}: ")


def test_key_of_another_certificate(paths: Paths) -> None:
    paths.key.write_bytes(CA.leaf("other").key_pem)
    assert refusal(paths).startswith(
        f"the key in {paths.key} cannot be used with the certificate in {paths.certificate}: "
    )


def test_encrypted_key(paths: Paths) -> None:
    encryption = serialization.BestAvailableEncryption(b"secret")
    paths.key.write_bytes(
        SERVER.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    )
    assert refusal(paths) == f"the private key in {paths.key} is encrypted"


def test_unknown_ciphers(paths: Paths) -> None:
    assert refusal(paths, ciphers="NONSENSE").startswith("no usable cipher in 'NONSENSE': ")


@pytest.mark.parametrize(("bits", "accepted"), [(2048, True), (KEY_BITS, True), (KEY_BITS + 1, False), (16384, False)])
def test_keys_that_would_keep_us_busy_are_refused(bits: int, *, accepted: bool) -> None:
    """Making such a key takes minutes: this one is only a number, and nobody can sign with it."""
    number = rsa.RSAPublicNumbers(65537, (1 << (bits - 1)) + 1).public_key()
    day = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "client")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(number)
    builder = builder.serial_number(1).not_valid_before(day).not_valid_after(day)
    certificate = crypto.X509.from_cryptography(builder.sign(CA.key, hashes.SHA256()))
    untouched: Any = None
    assert _accept_any(untouched, certificate, 0, 0, 1) is accepted


def test_a_key_that_cannot_be_read_is_refused() -> None:
    untouched: Any = None
    assert not _accept_any(untouched, crypto.X509(), 0, 0, 1)


def test_openssl_does_not_verify_what_is_presented(paths: Paths) -> None:
    """It would check each signature in 100 KiB of certificates; authentication decides which are worth it."""
    assert ServingCertificate(*paths).context.get_verify_depth() == 0


def test_a_pair_for_localhost_is_made_once_and_its_key_is_its_owners(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path / "new" / "dir", _NOW)
    parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert list(map(str, names.get_values_for_type(x509.IPAddress))) == ["127.0.0.1", "::1"]
    assert parsed.not_valid_before_utc < _NOW < parsed.not_valid_after_utc
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    ServingCertificate(certificate, key)  # a listener takes it
    before = certificate.read_bytes(), key.read_bytes()
    assert self_signed(tmp_path / "new" / "dir", _NOW) == (certificate, key)
    assert (certificate.read_bytes(), key.read_bytes()) == before


@pytest.mark.parametrize(
    ("interface", "own"),
    [("0.0.0.0", []), ("::", []), ("::1", []), ("fd00::0:1", ["fd00::1"]), ("10.0.0.1", ["10.0.0.1"])],  # noqa: S104 - a text
)
def test_a_self_signed_pair_is_for_the_address_that_is_listened_on(
    tmp_path: Path, interface: str, own: list[str]
) -> None:
    """MaybeDefaultWithSelfSignedCerts adds the bind address unless it is unspecified."""
    certificate, _ = self_signed(tmp_path, _NOW, interface)
    parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(map(str, names.get_values_for_type(x509.IPAddress))) == ["127.0.0.1", "::1", *own]


def test_a_directory_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CertificateError, match=r"file/dir: Not a directory; give --tls-cert-file .* --cert-dir"):
        self_signed(tmp_path / "file" / "dir", _NOW)
