"""HTTP/1.1 to one server that an object names: what goes wrong, and what is said about it. The aggregator's tests show the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from OpenSSL import SSL
from twisted.internet import error as network
from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.internet.interfaces import IOpenSSLContextFactory
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from zope.interface import implementer

from extapi.client.credentials import CredentialsError
from extapi.client.tls import UpstreamTls
from extapi.client.transport import ConnectionLost, TransportError
from extapi.client.upstream import Upstream
from tests.certificates import CLIENT, SERVER, Issued, authority
from tests.unit.client.conftest import Turning

error: Any = network
GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


@implementer(IOpenSSLContextFactory)
class _Context:
    def __init__(self, issued: Issued) -> None:
        self._context = SSL.Context(SSL.TLS_SERVER_METHOD)
        self._context.use_certificate(issued.certificate)
        self._context.use_privatekey(issued.key)

    def getContext(self) -> SSL.Context:  # noqa: N802 - Twisted's name
        return self._context


class Served(Protocol):
    """One connection of the server: answers every piece it gets with ``sent``."""

    def __init__(self, sent: bytes) -> None:
        self.sent = sent
        self.got = b""
        self.closed = False

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        self.got += data
        self.write(self.sent)

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802 - Twisted's name
        self.closed = True

    def write(self, data: bytes) -> None:
        transport: Any = self.transport
        transport.write(data)


class Setting:
    """A server and its upstream."""

    def __init__(self, turning: Turning) -> None:
        self.turning = turning
        self.ca = authority("serving")
        self.client = self.ca.leaf("client", eku=CLIENT)
        self.connections: list[Served] = []
        self.upstreams: list[Upstream] = []
        self.ports: list[Any] = []

    def tls(self, *, name: str = "srv.test.svc", ca: bytes | None = None) -> UpstreamTls:
        return UpstreamTls(
            name,
            ca=ca or self.ca.pem,
            certificate=self.client.chain_pem,
            key=self.client.key_pem,
            insecure=False,
            clock=self.turning.reactor,
        )

    def upstream(
        self, sent: bytes = b"", *, secure: bool = True, host: str = "127.0.0.1", leaf: Any = None
    ) -> Upstream:
        def made() -> Served:
            self.connections.append(Served(sent))
            return self.connections[-1]

        untyped: Any = Factory
        factory = untyped.forProtocol(made)
        factory.noisy = False
        if secure:
            context: Any = _Context(leaf or self.ca.leaf("srv", eku=SERVER, san=["srv.test.svc"]))
            factory = TLSMemoryBIOFactory(context, False, factory, clock=self.turning.reactor)
            factory.noisy = False
        interface = host if ":" in host else "127.0.0.1"
        port = self.turning.reactor.listenTCP(0, factory, interface=interface)
        self.ports.append(port)
        upstream = Upstream(self.turning.reactor, host, port.getHost().port, self.tls())
        self.upstreams.append(upstream)
        return upstream


@pytest.fixture
def turning() -> Iterator[Turning]:
    made = Turning()
    yield made
    made.close()


@pytest.fixture
def setting(turning: Turning) -> Iterator[Setting]:
    made = Setting(turning)
    yield made
    for upstream in made.upstreams:
        upstream.close()
    for port in made.ports:
        turning.wait(port.stopListening())
    turning.until(lambda: all(connection.closed for connection in made.connections))


def test_an_answer_is_read_up_to_a_limit(setting: Setting) -> None:
    upstream = setting.upstream(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde")
    answer = setting.turning.run(upstream.send("GET", GET))
    assert (answer.status, answer.header("content-length"), answer.header("none")) == (200, "5", "")
    assert setting.turning.run(answer.read(5)) == b"abcde"
    answer = setting.turning.run(upstream.send("GET", GET))
    with pytest.raises(TransportError, match="the answer has more than 4 bytes"):
        setting.turning.run(answer.read(4))
    assert len(setting.connections) == 1


def test_what_is_written_is_sent_at_once(setting: Setting) -> None:
    """Nagle's algorithm would keep the next keystroke until the last one was acknowledged, up to 40 ms later."""
    upstream = setting.upstream(b"HTTP/1.1 204 No Content\r\n\r\n")
    setting.turning.run(upstream.send("GET", GET))
    transports: list[Any] = [connection.transport for connection in upstream._open]
    assert [transport.getTcpNoDelay() for transport in transports] == [True]


def test_bytes_that_nobody_asked_for_end_an_idle_connection(setting: Setting) -> None:
    upstream = setting.upstream(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    setting.turning.run(upstream.send("GET", GET))
    setting.connections[0].write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    setting.turning.until(lambda: setting.connections[0].closed)
    setting.turning.run(upstream.send("GET", GET))
    assert len(setting.connections) == 2


@pytest.mark.parametrize(("method", "again"), [("GET", True), ("POST", False), ("PUT", False), ("DELETE", False)])
def test_only_what_is_safe_is_sent_again(setting: Setting, method: str, again: bool) -> None:
    """RFC 9110, section 9.2.2: a write whose connection ended may have happened."""
    upstream = setting.upstream(b"HTTP/1.1 204 No Content\r\n\r\n")
    setting.turning.run(upstream.send("GET", GET))
    (idle,) = setting.connections
    idle.sent, idle.got = b"", b""
    asking = Deferred.fromCoroutine(upstream.send(method, GET))
    setting.turning.until(lambda: bool(idle.got))
    transport: Any = idle.transport
    transport.loseConnection()
    if again:
        assert setting.turning.wait(asking).status == 204
    else:
        with pytest.raises(ConnectionLost):
            setting.turning.wait(asking)
    assert len(setting.connections) == 1 + again


def test_a_retired_upstream_keeps_no_connection(setting: Setting) -> None:
    upstream = setting.upstream()
    asking = Deferred.fromCoroutine(upstream.send("GET", GET))
    setting.turning.until(lambda: bool(setting.connections) and bool(setting.connections[0].got))
    upstream.retire()
    setting.connections[0].write(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert setting.turning.wait(asking).status == 204
    setting.turning.until(lambda: setting.connections[0].closed)


def test_no_more_than_a_few_idle_connections_are_kept(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.client.upstream.IDLE", 1)
    upstream = setting.upstream()
    first = setting.turning.run(_both(upstream, setting))
    assert [answer.status for answer in first] == [204, 204]
    setting.turning.until(lambda: sum(connection.closed for connection in setting.connections) == 1)


async def _both(upstream: Upstream, setting: Setting) -> list[Any]:
    asked = [Deferred.fromCoroutine(upstream.send("GET", GET)) for _ in range(2)]
    setting.turning.reactor.callLater(0.05, _answer_all, setting)
    return list(await gatherResults(asked))


def _answer_all(setting: Setting) -> None:
    if len(setting.connections) < 2 or not all(connection.got for connection in setting.connections):
        setting.turning.reactor.callLater(0.02, _answer_all, setting)
        return
    for connection in setting.connections:
        connection.write(b"HTTP/1.1 204 No Content\r\n\r\n")


def test_a_server_that_does_not_shake_hands(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.client.upstream.HANDSHAKE", 0.05)
    upstream = setting.upstream(secure=False)
    with pytest.raises(TransportError, match="net/http: TLS handshake timeout"):
        setting.turning.run(upstream.send("GET", GET))


def test_a_server_that_speaks_no_tls(setting: Setting) -> None:
    upstream = setting.upstream(b"HTTP/1.1 400 Bad Request\r\n\r\n", secure=False)
    with pytest.raises(TransportError, match=r"^tls: "):
        setting.turning.run(upstream.send("GET", GET))


def test_a_request_that_is_cancelled_ends_its_connection(setting: Setting) -> None:
    upstream = setting.upstream()
    results: list[Any] = []
    asking = Deferred.fromCoroutine(upstream.send("GET", GET))
    asking.addErrback(lambda failure: results.append(failure.type))
    setting.turning.until(lambda: bool(setting.connections) and bool(setting.connections[0].got))
    asking.cancel()
    assert results == [CancelledError]
    setting.turning.until(lambda: setting.connections[0].closed)


def test_a_request_that_is_cancelled_while_it_connects_is_cancelled_like_any_other(setting: Setting) -> None:
    """Twisted's own error for it would be logged as a defect by whoever asked."""
    upstream = setting.upstream()
    results: list[Any] = []
    asking = Deferred.fromCoroutine(upstream.send("GET", GET))
    asking.addErrback(lambda failure: results.append(failure.type))
    asking.cancel()
    assert results == [CancelledError]


def test_a_closed_upstream_connects_no_more(setting: Setting) -> None:
    upstream = setting.upstream()
    upstream.close()
    with pytest.raises(TransportError, match="closed"):
        setting.turning.run(upstream.send("GET", GET))


def test_the_end_before_an_answer(setting: Setting) -> None:
    upstream = setting.upstream()
    asking = Deferred.fromCoroutine(upstream.send("GET", GET))
    setting.turning.until(lambda: bool(setting.connections) and bool(setting.connections[0].got))
    transport: Any = setting.connections[0].transport
    transport.loseConnection()
    with pytest.raises(ConnectionLost, match="EOF"):
        setting.turning.wait(asking)


def test_an_expired_certificate(setting: Setting) -> None:
    upstream = setting.upstream(leaf=setting.ca.leaf("srv", eku=SERVER, san=["srv.test.svc"], expired=True))
    with pytest.raises(TransportError, match="x509: certificate has expired or is not yet valid"):
        setting.turning.run(upstream.send("GET", GET))


@pytest.mark.parametrize(
    ("bundled", "insecure", "status"), [(False, False, 204), (True, False, 0), (False, True, 204), (True, True, 204)]
)
def test_the_roots_of_the_system_count_only_without_a_bundle(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bundled: bool, insecure: bool, status: int
) -> None:
    """``spec.caBundle``: "If unspecified, system trust roots on the apiserver are used"."""
    (tmp_path / "roots.pem").write_bytes(setting.ca.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "roots.pem"))
    upstream = setting.upstream(b"HTTP/1.1 204 No Content\r\n\r\n")
    upstream.tls = UpstreamTls(
        "srv.test.svc",
        ca=authority("another").pem if bundled else None,
        certificate=setting.client.chain_pem,
        key=setting.client.key_pem,
        insecure=insecure,
        clock=setting.turning.reactor,
    )
    if status:
        assert setting.turning.run(upstream.send("GET", GET)).status == status
    else:
        with pytest.raises(TransportError, match="x509: certificate signed by unknown authority"):
            setting.turning.run(upstream.send("GET", GET))


def test_a_stranger_is_refused_without_a_bundle_too(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "roots.pem").write_bytes(authority("another").pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "roots.pem"))
    upstream = setting.upstream(b"HTTP/1.1 204 No Content\r\n\r\n")
    upstream.tls = UpstreamTls(
        "srv.test.svc",
        ca=None,
        certificate=setting.client.chain_pem,
        key=setting.client.key_pem,
        insecure=False,
        clock=setting.turning.reactor,
    )
    with pytest.raises(TransportError, match="x509: certificate signed by unknown authority"):
        setting.turning.run(upstream.send("GET", GET))


def test_a_bundle_may_hold_an_intermediate_alone(setting: Setting) -> None:
    middle = setting.ca.intermediate("middle")
    leaf = middle.leaf("srv", eku=SERVER, san=["srv.test.svc"])
    upstream = setting.upstream(b"HTTP/1.1 204 No Content\r\n\r\n", leaf=leaf)
    upstream.tls = setting.tls(ca=middle.pem)
    assert setting.turning.run(upstream.send("GET", GET)).status == 204


def test_a_certificate_has_to_be_for_an_address_of_ipv6(setting: Setting) -> None:
    """The words are those of Go's x509.HostnameError."""

    def asked(*san: str, name: str = "::1") -> int:
        leaf = setting.ca.leaf("srv", eku=SERVER, san=san)
        upstream = setting.upstream(b"HTTP/1.1 204 No Content\r\n\r\n", host="::1", leaf=leaf)
        upstream.tls = setting.tls(name=name)
        return setting.turning.run(upstream.send("GET", GET)).status

    assert asked("::1", "srv.test.svc") == asked("::1", name="0:0::1") == 204
    for san, why in (
        (["10.0.0.1"], "certificate is valid for 10.0.0.1, not ::1"),
        (["srv.test.svc"], "cannot validate certificate for ::1 because it doesn't contain any IP SANs"),
    ):
        with pytest.raises(TransportError, match=f"^tls: failed to verify certificate: x509: {why}$"):
            asked(*san)


def test_localhost_is_both_loopback_addresses(setting: Setting) -> None:
    upstream = setting.upstream(b"HTTP/1.1 204 No Content\r\n\r\n", host="localhost")
    assert setting.turning.run(upstream.send("GET", GET)).status == 204
    setting.ports.pop().stopListening()
    upstream.close()
    again = Upstream(setting.turning.reactor, "localhost", upstream.port, setting.tls())
    with pytest.raises(TransportError, match=rf"dial tcp 127.0.0.1:{upstream.port}: connect: connection refused"):
        setting.turning.run(again.send("GET", GET))


def test_an_error_of_localhost_is_of_the_family_that_the_machine_has(setting: Setting) -> None:
    """Go's dialler sorts addresses without a route to the end, and returns the error of the first."""

    class OnlySix:
        def __getattr__(self, name: str) -> Any:
            return getattr(setting.turning.reactor, name)

        def connectTCP(self, host: str, port: int, factory: Any, *rest: Any, **more: Any) -> Any:  # noqa: N802 - Twisted's
            problem: Exception = error.ConnectionRefusedError()
            if ":" not in host:
                problem = error.NoRouteError(101, "Network is unreachable")
            factory.clientConnectionFailed(None, Failure(problem))  # type: ignore[no-untyped-call]  # Twisted leaves it untyped

    upstream = Upstream(OnlySix(), "localhost", 1, setting.tls())
    with pytest.raises(TransportError, match=r"^dial tcp \[::1\]:1: connect: connection refused$"):
        setting.turning.run(upstream.send("GET", GET))


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (error.ConnectionRefusedError(), "dial tcp example.com:443: connect: connection refused"),
        (error.DNSLookupError(), "dial tcp: lookup example.com: no such host"),
        (error.TimeoutError(), "dial tcp example.com:443: i/o timeout"),
        (
            SSL.Error([("SSL routines", "", "tlsv13 alert certificate required")]),
            "tls: tlsv13 alert certificate required",
        ),
        (error.NoRouteError(101), "dial tcp example.com:443: connect: network is unreachable"),
        (error.ConnectError(99), "dial tcp example.com:443: connect: cannot assign requested address"),
        (error.NoRouteError("no  route"), "No route to host: no route."),
    ],
)
def test_the_words_of_go(setting: Setting, problem: Exception, text: str) -> None:
    upstream = Upstream(setting.turning.reactor, "example.com", 443, setting.tls())
    assert upstream.describe(problem) == text


def test_which_names_a_certificate_is_for(setting: Setting) -> None:
    def why(leaf: x509.Certificate | None) -> str:
        return setting.tls(name="a.b.svc").mismatch(leaf)

    assert why(setting.ca.leaf("x", san=["one", "127.0.0.1", "two"]).certificate) == (
        "certificate is valid for one, two, not a.b.svc"
    )
    nothing = "certificate is not valid for any names, but wanted to match a.b.svc"
    assert why(setting.ca.leaf("x").certificate) == nothing
    assert why(None) == nothing


@pytest.mark.parametrize("what", ["ca", "certificate", "key"])
def test_pem_that_is_none(setting: Setting, what: str) -> None:
    good = {"ca": setting.ca.pem, "certificate": setting.client.pem, "key": setting.client.key_pem}
    make: Callable[..., UpstreamTls] = UpstreamTls
    with pytest.raises(CredentialsError, match=r"no usable PEM for a\.b\.svc"):
        make("a.b.svc", insecure=False, clock=setting.turning.reactor, **{**good, what: b"hello"})


def test_what_follows_a_101_is_kept_until_somebody_takes_it(setting: Setting) -> None:
    sent = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\none"
    upstream = setting.upstream(sent)
    answer = setting.turning.run(upstream.send("GET", GET, dedicated=True))
    assert answer.status == 101
    setting.connections[0].write(b" two")
    got = bytearray()

    def taken() -> bool:
        got.extend(answer.taken())
        return got == b"one two"

    setting.turning.until(taken)


@pytest.mark.parametrize("host", ["a..b", "::1"])
def test_hosts_that_cannot_be_reached(setting: Setting, host: str) -> None:
    upstream = Upstream(setting.turning.reactor, host, 1, setting.tls())
    with pytest.raises(TransportError):
        setting.turning.run(upstream.send("GET", GET))


def test_an_address_of_version_six_is_in_brackets(setting: Setting) -> None:
    upstream = Upstream(setting.turning.reactor, "::1", 1, setting.tls())
    assert upstream.describe(error.ConnectionRefusedError()) == "dial tcp [::1]:1: connect: connection refused"


def test_a_patient_request_waits_for_a_connection_in_use_but_not_for_ever(setting: Setting) -> None:
    """Hundreds of probes at once would else be hundreds of handshakes."""
    upstream = setting.upstream()
    asked = [Deferred.fromCoroutine(upstream.send("GET", GET, patience=patience)) for patience in (0.2, 60.0)]
    ended: list[Any] = []
    given_up = Deferred.fromCoroutine(upstream.send("GET", GET, patience=60.0))
    given_up.addErrback(lambda failure: ended.append(failure.type))
    given_up.cancel()
    assert ended == [CancelledError]
    setting.turning.until(lambda: bool(setting.connections) and bool(setting.connections[0].got))
    asked.append(Deferred.fromCoroutine(upstream.send("GET", GET, patience=0.01)))
    setting.turning.until(lambda: len(setting.connections) == 2 and bool(setting.connections[1].got))
    setting.connections[0].sent = b"HTTP/1.1 204 No Content\r\n\r\n"
    setting.connections[0].write(setting.connections[0].sent)
    assert [setting.turning.wait(each).status for each in asked[:2]] == [204, 204]
    assert setting.connections[0].got == GET + GET
    setting.connections[1].write(setting.connections[0].sent)
    assert setting.turning.wait(asked[2]).status == 204
    assert len(setting.connections) == 2
