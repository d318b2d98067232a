"""A control plane of two kinds with the aggregator before it, backends that say what a test wants, and raw clients.

All on one private reactor, over real sockets and TLS on loopback.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cryptography.x509.oid import NameOID
from OpenSSL import SSL, crypto
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.interfaces import IOpenSSLContextFactory
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.tls import TLSMemoryBIOFactory
from zope.interface import implementer

from extapi import Api, Group
from extapi.api.user import User
from extapi.authentication.authenticator import UnionAuthenticator
from extapi.authentication.loopback import Loopback
from extapi.authentication.trust import TrustSettings
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.tls import UpstreamTls
from extapi.client.transport import ClientRequest
from extapi.controlplane.aggregator.aggregator import Aggregator
from extapi.controlplane.kinds.apiregistration import API_SERVICE
from extapi.controlplane.kinds.services import SERVICE
from extapi.http.request import Request
from extapi.listener.listener import Listener
from extapi.listener.tls import ServingCertificate
from extapi.privatereactor import drive
from extapi.server.server import RequestAuth, Server
from extapi.storage.memory import MemoryBackend
from extapi.testing.memory import AllowAll
from tests.certificates import CLIENT, SERVER, Issued, authority

T = TypeVar("T")

JANE = User("jané", uid="u-1", groups=("devs", "system:authenticated"), extra={"Scopes/a%b": ("x", "y")})
SERVICES = ResourceName("", "v1", "services")
API_SERVICES = ResourceName("apiregistration.k8s.io", "v1", "apiservices")
NAME = "v1.shop.example.com"
GROUP_VERSION = "/apis/shop.example.com/v1"


class Everybody:
    """Who comes over the network is Jane."""

    async def authenticate(self, call: Request) -> User | None:
        del call
        return JANE


@dataclass
class Seen:
    """A request as a backend saw it."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes
    connection: BackendConnection

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def path(self) -> str:
        return self.line.split(" ")[1].partition("?")[0]

    def values(self, name: str) -> list[str]:
        return [value for each, value in self.headers if each.lower() == name]


class BackendConnection(Protocol):
    """Cuts what comes into requests; once ``raw`` is set, collects it."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.buffer = b""
        self.raw: bytearray | None = None
        self.closed = False

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        if self.raw is not None:
            self.raw += data
            return
        self.buffer += data
        while b"\r\n\r\n" in self.buffer and self.raw is None:
            head, _, rest = self.buffer.partition(b"\r\n\r\n")
            line, *lines = head.decode().split("\r\n")
            headers = [(name, value) for name, _, value in (each.partition(": ") for each in lines)]
            length = int(next((value for name, value in headers if name.lower() == "content-length"), "0"))
            if len(rest) < length:
                return
            seen = Seen(line, headers, rest[:length], self)
            self.buffer = rest[length:]
            self.backend.got(seen)

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802 - Twisted's name
        self.closed = True

    def write(self, data: bytes) -> None:
        transport: Any = self.transport
        transport.write(data)

    def end(self) -> None:
        transport: Any = self.transport
        transport.abortConnection()

    def lose(self) -> None:
        """End it properly."""
        transport: Any = self.transport
        transport.loseConnection()

    def client(self) -> str:
        transport: Any = self.transport
        leaf = transport.getHandle().get_peer_certificate(as_cryptography=True)
        return str(leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value) if leaf else ""


def answer(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> bytes:
    """A whole answer with a length."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class Backend:
    """An extension server. ``answers``: path to the bytes that are sent; others get ``{}``, and None sends nothing."""

    seen: list[Seen] = field(default_factory=list)
    answers: dict[str, bytes | Callable[[Seen], bytes | None] | None] = field(default_factory=dict)
    port: Any = None
    number: int = 0
    connections: list[BackendConnection] = field(default_factory=list)

    def got(self, seen: Seen) -> None:
        self.seen.append(seen)
        sent = self.answers.get(seen.path, answer())
        if callable(sent):
            sent = sent(seen)
        if sent is not None:
            seen.connection.write(sent)

    def asked(self, path: str) -> list[Seen]:
        return [each for each in self.seen if each.path == path]


@implementer(IOpenSSLContextFactory)
class _Context:
    def __init__(self, issued: Issued, clients: Issued) -> None:
        self._context = SSL.Context(SSL.TLS_SERVER_METHOD)
        self._context.use_certificate(issued.certificate)
        self._context.use_privatekey(issued.key)
        store = self._context.get_cert_store()
        assert store is not None
        store.add_cert(crypto.X509.from_cryptography(clients.certificate))
        self._context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT)

    def getContext(self) -> SSL.Context:  # noqa: N802 - Twisted's name
        return self._context


class RawClient(Protocol):
    """A client of the control plane that writes bytes and collects what comes."""

    def __init__(self) -> None:
        self.got = bytearray()
        self.reason: Any = None

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        self.got += data

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802 - Twisted's name
        self.reason = reason.value

    def write(self, data: bytes) -> None:
        transport: Any = self.transport
        transport.write(data)

    def end(self) -> None:
        transport: Any = self.transport
        transport.abortConnection()

    def pause(self) -> None:
        transport: Any = self.transport
        transport.pauseProducing()

    def resume(self) -> None:
        transport: Any = self.transport
        transport.resumeProducing()

    @property
    def head(self) -> str:
        return self.got[: self.got.find(b"\r\n\r\n")].decode()

    @property
    def body(self) -> bytes:
        return bytes(self.got[self.got.find(b"\r\n\r\n") + 4 :])


class Cluster:
    """Everything together; made by the fixture ``cluster``."""

    def __init__(self, reactor: Any, directory: Path) -> None:
        self.reactor = reactor
        self.serving = authority("serving-ca")
        self.proxies = authority("front-proxy-ca")
        proxy = self.proxies.leaf("front-proxy-client", eku=CLIENT).save(directory, "proxy")
        own = self.serving.leaf("control-plane", eku=SERVER, san=["localhost", "127.0.0.1"]).save(directory, "own")
        self.aggregator = Aggregator(certificate=proxy.certificate, key=proxy.key, reactor=reactor)
        self.server = Server(
            Api(Group("", SERVICE), Group("apiregistration.k8s.io", API_SERVICE)),
            MemoryBackend(reactor),
            reactor,
            auth=RequestAuth(
                UnionAuthenticator([Loopback("secret"), Everybody()]), TrustSettings(), AllowAll(), "secret"
            ),
            builtin=[self.aggregator],
            front=self.aggregator.front,
        )
        self.client = Client(self.server.transport())
        self.listener = Listener(
            reactor,
            self.server.handler,
            tls=ServingCertificate(own.certificate, own.key),
            interface="127.0.0.1",
            port=0,
        )
        self.tls = UpstreamTls(
            "localhost",
            ca=self.serving.pem,
            certificate=proxy.certificate.read_bytes(),
            key=proxy.key.read_bytes(),
            insecure=False,
            clock=reactor,
        )
        self.number = 0
        self.backends: list[Backend] = []

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 10.0) -> T:
        return drive(self.reactor, work, timeout=seconds)

    def until(self, condition: Callable[[], Any], seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "nothing happened in time"
            self.reactor.iterate(0.01)

    def turn(self, times: int = 20) -> None:
        """Let happen what is about to."""
        for _ in range(times):
            self.reactor.iterate(0.002)

    def start(self) -> None:
        self.run(self.server.start())
        self.number = self.listener.start()[1]

    def stop(self) -> None:
        self.aggregator.stop()
        self.run(self.listener.drain(0.0))
        self.run(self.server.stop())
        for backend in self.backends:
            self.close(backend)
        self.turn()

    def close(self, backend: Backend) -> None:
        backend.port.stopListening()
        for connection in backend.connections:
            if not connection.closed:
                connection.end()
        self.turn()

    def backend(
        self,
        port: int = 0,
        *,
        name: str = "api.shop.svc",
        issuer: Issued | None = None,
        clients: Issued | None = None,
        **limits: bool,
    ) -> Backend:
        """Start an extension server whose certificate is for ``name``; ``limits``: ``expired``, ``not_yet_valid``."""
        backend = Backend()
        leaf = (issuer or self.serving).leaf(name, eku=SERVER, san=[name], **limits)  # type: ignore[arg-type]  # only these two

        def made() -> BackendConnection:
            connection = BackendConnection(backend)
            backend.connections.append(connection)
            return connection

        factory: Any = Factory
        inner = factory.forProtocol(made)
        context: Any = _Context(leaf, clients or self.proxies)
        wrapped: Any = TLSMemoryBIOFactory(context, False, inner, clock=self.reactor)
        inner.noisy = wrapped.noisy = False
        backend.port = self.reactor.listenTCP(port, wrapped, interface="127.0.0.1")
        backend.number = backend.port.getHost().port
        self.backends.append(backend)
        return backend

    def register(self, port: int, *, name: str = NAME, ca: Issued | None = None, **spec: Any) -> None:
        """Make the Service, if it is not there, and the APIService of ``version.group``."""
        service: Obj = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "api", "namespace": "shop"},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        if not self.run(self.client.list(SERVICES))["items"]:
            self.run(self.client.create(SERVICES, service, namespace="shop"))
        version, _, group = name.partition(".")
        trust = {"caBundle": base64.b64encode((ca or self.serving).pem).decode()}
        self.run(
            self.client.create(
                API_SERVICES,
                {
                    "apiVersion": "apiregistration.k8s.io/v1",
                    "kind": "APIService",
                    "metadata": {"name": name},
                    "spec": {
                        "group": group,
                        "version": version,
                        "groupPriorityMinimum": 1000,
                        "versionPriority": 15,
                        "service": {"namespace": "shop", "name": "api", "port": port},
                        **trust,
                        **spec,
                    },
                },
            )
        )

    def condition(self, name: str = NAME) -> dict[str, Any]:
        """The condition Available as it is stored; empty if there is none."""
        obj = self.run(self.client.get(API_SERVICES, name))
        found: list[dict[str, Any]] = (obj.get("status") or {}).get("conditions") or [{}]
        return found[0]

    def available(self, name: str = NAME) -> None:
        self.until(lambda: self.condition(name).get("status") == "True")
        self.turn()

    def connect(self) -> RawClient:
        """A client whose TLS is done."""
        made: Any = Factory
        factory = made.forProtocol(RawClient)
        tls: Any = self.tls
        wrapped: Any = TLSMemoryBIOFactory(tls, True, factory, clock=self.reactor)
        factory.noisy = wrapped.noisy = False
        endpoint: Any = TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.number)

        async def connected() -> RawClient:
            protocol = await endpoint.connect(wrapped)
            client: RawClient = protocol.wrappedProtocol
            return client

        return self.run(connected())

    def ask(self, request: bytes, until: bytes = b"") -> RawClient:
        """Send bytes; the client once an answer is there: whole if it has a length, or up to ``until``."""
        client = self.connect()
        client.write(request)

        def there() -> bool:
            if client.reason is not None:
                return True
            if until:
                return until in client.got
            if b"\r\n\r\n" not in client.got:
                return False
            lengths = [line for line in client.head.split("\r\n") if line.lower().startswith("content-length: ")]
            if lengths:
                return len(client.body) >= int(lengths[0].split(" ")[1])
            return client.got.endswith(b"0\r\n\r\n") or "chunked" not in client.head

        self.until(there)
        return client

    def get(self, path: str, *headers: str) -> RawClient:
        lines = "".join(f"{header}\r\n" for header in headers)
        return self.ask(f"GET {path} HTTP/1.1\r\nHost: front\r\n{lines}\r\n".encode())

    def read(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """An in-process GET."""

        async def answered() -> tuple[int, dict[str, str], bytes]:
            reply = await self.server.transport().send(ClientRequest("GET", path, headers=headers))
            return reply.status, dict(reply.headers), await reply.read()

        return self.run(answered())


def wait(reactor: Any, seconds: float) -> Deferred[None]:
    """A Deferred that fires later."""
    later: Deferred[None] = Deferred()
    reactor.callLater(seconds, later.callback, None)
    return later
