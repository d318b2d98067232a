"""A reactor of its own for each test, turned by hand, and a real HTTP server on loopback."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from cryptography.x509.oid import NameOID
from OpenSSL import SSL, crypto
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.epollreactor import EPollReactor
from twisted.internet.interfaces import IOpenSSLContextFactory
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site
from zope.interface import implementer

from tests.certificates import Issued

T = TypeVar("T")


class Turning:
    """Drives coroutines on a private reactor that is never installed."""

    def __init__(self) -> None:
        untyped: Any = EPollReactor
        self.reactor: Any = untyped()
        self.reactor.startRunning(installSignalHandlers=False)

    def run(self, coroutine: Coroutine[Any, Any, T], seconds: float = 10.0) -> T:
        """The coroutine's result."""
        return self.wait(Deferred.fromCoroutine(coroutine), seconds)

    def wait(self, deferred: Deferred[T], seconds: float = 10.0) -> T:
        """What the Deferred fires with."""
        results: list[T | Failure] = []
        deferred.addBoth(results.append)
        self.until(lambda: bool(results), seconds)
        (result,) = results
        if isinstance(result, Failure):
            result.raiseException()
        return result

    def until(self, condition: Callable[[], bool], seconds: float = 10.0) -> None:
        """Turn until the condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "nothing happened in time"
            self.reactor.iterate(0.02)

    def close(self) -> None:
        """End what runs; no file descriptor is left."""
        self.reactor.stop()
        self.reactor.iterate(0)
        failure: Any = Failure
        for each in self.reactor.removeAll():
            each.connectionLost(failure(ConnectionAbortedError()))
        self.reactor._poller.close()
        self.reactor._sigInts = None


@pytest.fixture
def turning() -> Iterator[Turning]:
    made = Turning()
    yield made
    made.close()


@dataclass
class Seen:
    """A request as the server saw it."""

    method: str
    uri: str
    headers: dict[str, str]
    body: bytes
    client: str
    connection: int


Answer = Callable[[Request], Any]


@dataclass
class Server:
    """Answers every request by ``answer`` and remembers it."""

    turning: Turning
    answer: Answer
    seen: list[Seen] = field(default_factory=list)
    port: Any = None
    scheme: str = "http"
    _connections: dict[int, int] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port.getHost().port}"

    def render(self, request: Any) -> Any:
        channel = request.channel
        transport: Any = getattr(channel, "transport", None)
        peer = (
            transport.getHandle().get_peer_certificate(as_cryptography=True)
            if hasattr(transport, "getPeerCertificate")
            else None
        )
        self.seen.append(
            Seen(
                request.method.decode(),
                request.uri.decode(),
                {k.decode().lower(): v[0].decode() for k, v in request.requestHeaders.getAllRawHeaders()},
                request.content.read(),
                peer.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value if peer else "",
                request.getClientAddress().port,
            )
        )
        result = self.answer(request)
        return NOT_DONE_YET if result is None else result


class _Root(Resource):
    isLeaf = True  # noqa: N815 - Twisted's name

    def __init__(self, server: Server) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted's
        self._server = server

    def render(self, request: Any) -> Any:
        return self._server.render(request)


@implementer(IOpenSSLContextFactory)
class _Context:
    """TLS of the server: its certificate, and whose client certificates it takes."""

    def __init__(self, tls: Issued, clients: Issued | None) -> None:
        self._context = SSL.Context(SSL.TLS_SERVER_METHOD)
        self._context.use_certificate(tls.certificate)
        self._context.use_privatekey(tls.key)
        if clients is not None:
            store = self._context.get_cert_store()
            assert store is not None
            store.add_cert(crypto.X509.from_cryptography(clients.certificate))
            self._context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT)

    def getContext(self) -> SSL.Context:  # noqa: N802 - Twisted's name
        return self._context


def context_of(tls: Issued) -> object:
    """TLS of a server that asks for no certificate, for Twisted's factories."""
    return _Context(tls, None)


@pytest.fixture
def serve(turning: Turning) -> Iterator[Callable[..., Server]]:
    """Start a server: ``serve(answer, tls=server certificate, clients=CA of client certificates)``."""
    servers: list[Server] = []
    sites: list[Any] = []

    def start(answer: Answer, *, tls: Issued | None = None, clients: Issued | None = None) -> Server:
        server = Server(turning, answer)
        untyped: Any = Site
        site = untyped(_Root(server), reactor=turning.reactor)
        site.displayTracebacks = False
        site.noisy = False
        if tls is None:
            server.port = turning.reactor.listenTCP(0, site, interface="127.0.0.1")
        else:
            options: Any = _Context(tls, clients)
            server.scheme = "https"
            wrapped = TLSMemoryBIOFactory(options, isClient=False, wrappedFactory=site, clock=turning.reactor)
            server.port = turning.reactor.listenTCP(0, wrapped, interface="127.0.0.1")
        servers.append(server)
        sites.append(site)
        return server

    yield start
    for server in servers:
        turning.wait(maybeDeferred(server.port.stopListening))
