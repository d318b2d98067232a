"""Through a proxy: what is said to it (RFC 9110, RFC 1928, RFC 1929), what travels then, and what is said about it."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.client.credentials import Credentials
from extapi.client.http import HttpTransport
from extapi.client.proxy import ProxyURL, parse_proxy
from extapi.client.transport import ClientRequest, TransportError, Unreachable
from tests.certificates import CLIENT, SERVER, Issued, authority
from tests.unit.client.conftest import Server, Turning
from tests.unit.client.proxies import OPEN, SOCKS_NO_PASSWORD, SOCKS_OPEN, SOCKS_PASSWORD, Middle

SVC = "kubernetes.default.svc"
"""A name that nothing here resolves."""
CLIENT_HELLO = b"\x16\x03"
"""How TLS begins (RFC 8446, 5.1)."""


@dataclass
class Setting:
    """A server that has a certificate, and proxies in front of it."""

    turning: Turning
    ca: Issued
    server: Server
    middles: list[Middle]
    transports: list[HttpTransport]

    @property
    def port(self) -> int:
        return int(self.server.port.getHost().port)

    def middle(self, *answers: bytes, tls: Issued | None = None) -> Middle:
        self.middles.append(Middle(self.turning, answers, self.port, tls))
        return self.middles[-1]

    def transport(self, proxy: ProxyURL, host: str = SVC, **more: Any) -> HttpTransport:
        credentials = Credentials(f"https://{host}:6443", ca=self.ca.pem, proxy=proxy, **more)
        self.transports.append(HttpTransport(self.turning.reactor, credentials))
        return self.transports[-1]

    def get(self, transport: HttpTransport, timeout: float = 30.0) -> tuple[int, bytes]:
        async def body() -> tuple[int, bytes]:
            reply = await transport.send(ClientRequest("GET", "/version", timeout=timeout))
            return reply.status, await reply.read()

        return self.turning.run(body())


def _hello(request: Any) -> bytes:
    return b"hello"


def _one_line(request: Any) -> None:
    request.write(b"one\n")


@pytest.fixture
def setting(turning: Turning, serve: Callable[..., Server]) -> Iterator[Setting]:
    ca = authority("cluster-ca")
    leaf = ca.leaf("kube-apiserver", san=[SVC, "192.0.2.7", "2001:db8::7"], eku=SERVER)
    made = Setting(turning, ca, serve(_hello, tls=leaf, clients=None), [], [])
    yield made
    for transport in made.transports:
        turning.run(transport.close())
    for middle in made.middles:
        middle.close()


def _connect_request(host: str, *fields: str) -> bytes:
    lines = (f"CONNECT {host}:6443 HTTP/1.1", f"Host: {host}:6443", *fields, "", "")
    return "\r\n".join(lines).encode()


def test_connect(setting: Setting) -> None:
    middle = setting.middle(OPEN)
    transport = setting.transport(middle.proxy())
    assert setting.get(transport) == (200, b"hello")
    assert setting.get(transport) == (200, b"hello")
    assert middle.heard == [_connect_request(SVC)]
    # One tunnel for both requests; and the proxy carries what it cannot read.
    assert middle.connections[0].carried.startswith(CLIENT_HELLO)
    assert b"/version" not in middle.connections[0].carried
    assert len({seen.connection for seen in setting.server.seen}) == 1


@pytest.mark.parametrize(
    ("host", "name"), [("192.0.2.7", "192.0.2.7"), ("[2001:db8::7]", "[2001:db8::7]"), (SVC.upper(), SVC)]
)
def test_connect_to_an_address(setting: Setting, host: str, name: str) -> None:
    middle = setting.middle(OPEN)
    assert setting.get(setting.transport(middle.proxy(), host)) == (200, b"hello")
    assert middle.heard == [_connect_request(name)]


def test_connect_with_user_and_password(setting: Setting) -> None:
    middle = setting.middle(OPEN)
    assert setting.get(setting.transport(middle.proxy(username="me", password="pä:ß"))) == (200, b"hello")
    basic = base64.b64encode("me:pä:ß".encode()).decode()
    assert middle.heard == [_connect_request(SVC, f"Proxy-Authorization: Basic {basic}")]


def test_a_password_that_is_no_utf_8(setting: Setting) -> None:
    """As Go does it: what is sent is what the URL's percent-encoding stands for."""
    middle = setting.middle(OPEN)
    assert setting.get(setting.transport(parse_proxy(f"http://me:p%E9@127.0.0.1:{middle.port}"))) == (200, b"hello")
    assert middle.heard == [
        _connect_request(SVC, f"Proxy-Authorization: Basic {base64.b64encode(b'me:p' + bytes([0xE9])).decode()}")
    ]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200\r\n\r\n",
        b"HTTP/1.1 299 Fine\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\nVia: x\n\n",
    ],
)
def test_answers_that_open_the_tunnel(setting: Setting, answer: bytes) -> None:
    middle = setting.middle(answer)
    assert setting.get(setting.transport(middle.proxy())) == (200, b"hello")


def test_an_answer_in_pieces(setting: Setting) -> None:
    middle = setting.middle(b"")
    transport = setting.transport(middle.proxy())
    getting = Deferred.fromCoroutine(transport.send(ClientRequest("GET", "/version")))
    setting.turning.until(lambda: bool(middle.connections) and bool(middle.connections[0].heard))
    for number in range(len(OPEN)):
        middle.connections[0].send(OPEN[number : number + 1])
        setting.turning.reactor.iterate(0.001)
    assert setting.turning.wait(getting).status == 200


def test_a_proxy_behind_tls_of_its_own(setting: Setting) -> None:
    """As in Go's net/http it is trusted by the authority of the kubeconfig."""
    middle = setting.middle(OPEN, tls=setting.ca.leaf("proxy", san=["127.0.0.1"], eku=SERVER))
    me = setting.ca.leaf("me", eku=CLIENT)
    transport = setting.transport(middle.proxy("https", "me", "x"), certificate=me.chain_pem, key=me.key_pem)
    assert setting.get(transport) == (200, b"hello")
    assert middle.heard[0].startswith(f"CONNECT {SVC}:6443 HTTP/1.1\r\n".encode())
    assert middle.connections[0].carried.startswith(CLIENT_HELLO)


def test_a_proxy_has_a_certificate_for_its_own_name(setting: Setting) -> None:
    """Whatever name the kubeconfig expects in that of the server."""
    proxied = {"host": "192.0.2.99", "server_name": SVC}
    named = setting.middle(OPEN, tls=setting.ca.leaf("proxy", san=["127.0.0.1"], eku=SERVER))
    assert setting.get(setting.transport(named.proxy("https"), **proxied)) == (200, b"hello")
    other = setting.middle(OPEN, tls=setting.ca.leaf("proxy", san=[SVC], eku=SERVER))
    with pytest.raises(TransportError, match="the proxy ended the connection: "):
        setting.get(setting.transport(other.proxy("https"), **proxied))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        (SVC, b"\x03\x16" + SVC.encode()),
        ("192.0.2.7", b"\x01\xc0\x00\x02\x07"),
        ("[2001:db8::7]", b"\x04\x20\x01\x0d\xb8" + bytes(11) + b"\x07"),
    ],
)
def test_socks5(setting: Setting, host: str, address: bytes) -> None:
    middle = setting.middle(SOCKS_NO_PASSWORD, SOCKS_OPEN)
    assert setting.get(setting.transport(middle.proxy("socks5"), host)) == (200, b"hello")
    assert middle.heard == [b"\x05\x01\x00", b"\x05\x01\x00" + address + b"\x19\x2b"]
    assert middle.connections[0].carried.startswith(CLIENT_HELLO)


def test_socks5_with_user_and_password(setting: Setting) -> None:
    middle = setting.middle(SOCKS_PASSWORD, b"\x01\x00", SOCKS_OPEN)
    assert setting.get(setting.transport(middle.proxy("socks5", "me", "secret"))) == (200, b"hello")
    assert middle.heard[:2] == [b"\x05\x02\x00\x02", b"\x01\x02me\x06secret"]


def test_socks5_that_does_not_want_the_password(setting: Setting) -> None:
    middle = setting.middle(SOCKS_NO_PASSWORD, SOCKS_OPEN)
    assert setting.get(setting.transport(middle.proxy("socks5", "me", "secret"))) == (200, b"hello")
    assert b"secret" not in b"".join(middle.heard)


@pytest.mark.parametrize("bound", [b"\x03\x05there\x00\x00", b"\x04" + bytes(18)])
def test_socks5_bound_to_a_name_or_an_ipv6_address(setting: Setting, bound: bytes) -> None:
    middle = setting.middle(SOCKS_NO_PASSWORD, b"\x05\x00\x00" + bound)
    assert setting.get(setting.transport(middle.proxy("socks5"))) == (200, b"hello")


CONNECT = f"answered CONNECT {SVC}:6443 with"
VERSION = "does not speak SOCKS5: it answered with version"


@pytest.mark.parametrize(
    ("proxy", "answers", "text"),
    [
        (
            "http",
            [b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n"],
            f"{CONNECT} 407 Proxy Authentication Required; its URL has to hold a user and a password",
        ),
        (
            "http://me:hush@",
            [b"HTTP/1.1 407 No\r\n\r\n"],
            f"{CONNECT} 407 No; it does not take the user and password in its URL",
        ),
        ("http", [b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"], f"{CONNECT} 403 Forbidden"),
        ("http", [b"HTTP/1.1 502 Bad\x07Gateway\r\n\r\n"], f"{CONNECT} 502 BadGateway"),
        ("http", [b"HTTP/1.1 504\r\n\r\n"], f"{CONNECT} 504"),
        ("http", [b"HTTP/1.1 302 Found\r\nLocation: https://x/\r\n\r\n"], f"{CONNECT} 302 Found"),
        ("http", [b"HTTP/2 200 OK\r\n\r\n"], f"{CONNECT} no HTTP/1.1: 'HTTP/2 200 OK\\r\\n\\r\\n'"),
        ("http", [b"SSH-2.0-OpenSSH_9.2\r\n"], "does not speak HTTP: it answered 'SSH-2.0-OpenSSH_9.2\\r\\n'"),
        ("http", [b"\x15\x03\x01\x00\x02\x02\x46"], "does not speak HTTP: it answered '\\x15\\x03"),
        ("http", [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000], "answered with a head of more than 65536 bytes"),
        ("http", [OPEN + b"220 hello"], "sent 9 bytes after its answer, before the server could speak"),
        ("socks5", [b"\x05\xff"], "wants a user and a password in its URL"),
        ("socks5", [b"\x05\x02"], "wants a user and a password in its URL"),
        ("socks5://me:hush@", [b"\x05\xff"], "takes none of our ways to log in"),
        ("socks5://me:hush@", [SOCKS_PASSWORD, b"\x01\x01"], "refused user and password"),
        ("socks5://me:hush@", [SOCKS_PASSWORD, b"\x05\x00"], f"{VERSION} 5 instead of 1"),
        ("socks5", [b"HTTP/1.1 400 Bad Request\r\n\r\n"], f"{VERSION} 72 instead of 5"),
        ("socks5", [SOCKS_NO_PASSWORD, b"\x04\x00\x00\x01"], f"{VERSION} 4 instead of 5"),
        (
            "socks5",
            [SOCKS_NO_PASSWORD, b"\x05\x02\x00\x01"],
            f"did not connect to {SVC}:6443: not allowed by its rules",
        ),
        ("socks5", [SOCKS_NO_PASSWORD, b"\x05\x05\x00\x01"], f"did not connect to {SVC}:6443: connection refused"),
        ("socks5", [SOCKS_NO_PASSWORD, b"\x05\x63\x00\x01"], f"did not connect to {SVC}:6443: reply 99"),
        ("socks5", [SOCKS_NO_PASSWORD, b"\x05\x00\x00\x02"], "answered with an address of the unknown type 2"),
        ("socks5", [SOCKS_NO_PASSWORD, SOCKS_OPEN + b"!"], "sent 1 bytes after its answer"),
    ],
)
def test_a_proxy_that_refuses(setting: Setting, proxy: str, answers: list[bytes], text: str) -> None:
    middle = setting.middle(*answers)
    scheme, _, user = proxy.partition("://")
    transport = setting.transport(middle.proxy(scheme, *user.removesuffix("@").split(":")))
    with pytest.raises(Unreachable) as caught:  # as a refused connection: an informer goes on where it was
        setting.get(transport)
    through = f"https://{SVC}:6443 (through the proxy {scheme}://127.0.0.1:{middle.port})"
    assert str(caught.value).startswith(f"{through}: the proxy {text}")
    assert "hush" not in str(caught.value)
    assert setting.server.seen == []
    # Nothing stays open.
    setting.turning.until(lambda: middle.connections[0].closed)


@pytest.mark.parametrize(
    ("scheme", "answered"),
    [("http", b""), ("http", b"HTTP/1.1 2"), ("socks5", b""), ("socks5", b"\x05"), ("socks5", b"\x05\x00")],
)
def test_a_proxy_that_hangs_up(setting: Setting, scheme: str, answered: bytes) -> None:
    middle = setting.middle(answered, b"")
    transport = setting.transport(middle.proxy(scheme))
    getting = Deferred.fromCoroutine(transport.send(ClientRequest("GET", "/version")))
    setting.turning.until(lambda: bool(middle.connections) and bool(middle.connections[0].heard))
    transport_of_proxy: Any = middle.connections[0].transport
    transport_of_proxy.loseConnection()
    with pytest.raises(TransportError, match="the proxy closed the connection instead of answering"):
        setting.turning.wait(getting)


def test_a_proxy_that_says_nothing(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.client.tunnel.ANSWER_TIMEOUT", 0.05)
    middle = setting.middle(b"")
    with pytest.raises(TransportError, match=r"the proxy did not answer within 0\.05 seconds"):
        setting.get(setting.transport(middle.proxy()))
    setting.turning.until(lambda: middle.connections[0].closed)


def test_a_request_may_end_before_the_proxy_has_answered(setting: Setting) -> None:
    middle = setting.middle(b"")
    transport = setting.transport(middle.proxy())
    with pytest.raises(TransportError, match=rf"{middle.port}\): no answer within 0\.05 seconds"):
        setting.get(transport, timeout=0.05)
    setting.turning.until(lambda: middle.connections[0].closed)


def test_cancelling_who_waits_ends_the_connection(setting: Setting) -> None:
    middle = setting.middle(b"")
    transport = setting.transport(middle.proxy())
    sending = Deferred.fromCoroutine(transport.send(ClientRequest("GET", "/version")))
    setting.turning.until(lambda: bool(middle.connections) and bool(middle.connections[0].heard))
    sending.cancel()
    with pytest.raises(CancelledError):
        setting.turning.wait(sending)
    setting.turning.until(lambda: middle.connections[0].closed)


@pytest.mark.parametrize("way", ["direct", "proxy"])
def test_cancelling_who_waits_for_a_connection(setting: Setting, way: str) -> None:
    """Linux drops the attempts to connect once the queue of a socket that nobody accepts from is full."""
    with socket.socket() as full, socket.socket() as first:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        first.connect(full.getsockname())
        port = full.getsockname()[1]
        proxy = ProxyURL("http", "127.0.0.1", port) if way == "proxy" else None
        transport = HttpTransport(setting.turning.reactor, Credentials(f"https://127.0.0.1:{port}", proxy=proxy))
        setting.transports.append(transport)
        sending = Deferred.fromCoroutine(transport.send(ClientRequest("GET", "/version")))
        for _ in range(5):
            setting.turning.reactor.iterate(0.01)
        sending.cancel()
        with pytest.raises(CancelledError):
            setting.turning.wait(sending)


def test_no_proxy_listens(setting: Setting) -> None:
    middle = setting.middle()
    proxy = middle.proxy()
    setting.middles.remove(middle)
    middle.close()
    text = rf"through the proxy {proxy}\): no connection to the proxy: Connection was refused by other side"
    with pytest.raises(TransportError, match=text):
        setting.get(setting.transport(proxy))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_no_dns_name(setting: Setting, scheme: str) -> None:
    """Twisted takes no underscores; that is an error like any other, whatever finds it out."""
    with pytest.raises(TransportError, match=rf"\(through the proxy {scheme}://squid_proxy:3128\): .*squid_proxy"):
        setting.get(setting.transport(ProxyURL(scheme, "squid_proxy", 3128)))


def test_a_proxy_whose_certificate_is_not_trusted(setting: Setting) -> None:
    middle = setting.middle(OPEN, tls=authority("other").leaf("proxy", san=["127.0.0.1"], eku=SERVER))
    with pytest.raises(TransportError, match=r"the proxy ended the connection: TLS: .*certificate verify failed"):
        setting.get(setting.transport(middle.proxy("https")))
    assert middle.connections[0].heard == []


def test_a_proxy_that_is_asked_without_its_tls(setting: Setting) -> None:
    middle = setting.middle(OPEN)
    with pytest.raises(TransportError, match="the proxy ended the connection: TLS: "):
        setting.get(setting.transport(middle.proxy("https")))


def test_a_proxy_that_reads_along_is_found_out(setting: Setting, serve: Callable[..., Server]) -> None:
    """TLS is with the server: who ends it on the way needs a certificate that the kubeconfig's authority signed."""
    other = serve(_hello, tls=authority("corporate").leaf("inspector", san=[SVC], eku=SERVER))
    middle = Middle(setting.turning, [OPEN], other.port.getHost().port)
    setting.middles.append(middle)
    text = rf"through the proxy http://127.0.0.1:{middle.port}\): TLS: certificate verify failed"
    with pytest.raises(TransportError, match=text):
        setting.get(setting.transport(middle.proxy()))
    assert other.seen == []


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_a_stream_ends_with_its_proxy_and_the_next_one_finds_it_again(setting: Setting, scheme: str) -> None:
    setting.server.answer = _one_line
    tls = setting.ca.leaf("proxy", san=["127.0.0.1"], eku=SERVER) if scheme == "https" else None
    answers = [SOCKS_NO_PASSWORD, SOCKS_OPEN] if scheme == "socks5" else [OPEN]
    middle = setting.middle(*answers, tls=tls)
    transport = setting.transport(middle.proxy(scheme))
    got: list[bytes] = []

    async def read() -> None:
        async for line in (await transport.send(ClientRequest("GET", "/"))).lines():
            got.append(line)  # noqa: PERF401 - what has come so far is looked at

    for number in range(2):
        reading = Deferred.fromCoroutine(read())
        setting.turning.until(lambda number=number: len(got) == number + 1)  # type: ignore[misc]  # bound at once
        middle.connections[number].abort()
        with pytest.raises(TransportError, match="broke off"):
            setting.turning.wait(reading)
    assert got == [b"one", b"one"]


def test_plain_http_goes_through_a_tunnel_too(setting: Setting, serve: Callable[..., Server]) -> None:
    plain = serve(_hello)
    middle = Middle(setting.turning, [OPEN], plain.port.getHost().port)
    setting.middles.append(middle)
    transport = HttpTransport(setting.turning.reactor, Credentials(f"http://{SVC}", proxy=middle.proxy()))
    setting.transports.append(transport)
    assert setting.get(transport) == (200, b"hello")
    assert middle.heard == [f"CONNECT {SVC}:80 HTTP/1.1\r\nHost: {SVC}:80\r\n\r\n".encode()]
