"""A proxy on the reactor of a test: it answers as it is told, and then carries bytes to one port, whoever was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.tls import TLSMemoryBIOFactory

from extapi.client.proxy import ProxyURL
from tests.certificates import Issued
from tests.unit.client.conftest import Turning, context_of

OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"
FULL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
SOCKS_NO_PASSWORD = b"\x05\x00"
SOCKS_PASSWORD = b"\x05\x02"
SOCKS_OPEN = b"\x05\x00\x00\x01\x7f\x00\x00\x01\x04\x38"


class Near(Protocol):
    """The connection of a client: each thing it says gets the next of ``answers``, what follows is carried on."""

    def __init__(self, turning: Turning, answers: Sequence[bytes], target: int) -> None:
        self.full = False
        """Whether the proxy has no tunnel for this client, and says so."""
        self._turning = turning
        self._answers = list(answers)
        self._target = target
        self._waiting: list[bytes] = []
        self.heard: list[bytes] = []
        self.carried = b""
        self.far: Far | None = None
        self.closed = False

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        if self.full:
            self.send(FULL)
            return
        if self._answers:
            self.heard.append(data)
            self.send(self._answers.pop(0))
            return
        self.carried += data
        if self.far is not None:
            self.far.send(data)
            return
        self._waiting.append(data)
        if len(self._waiting) == 1 and self._target:
            factory: Any = Factory
            made = factory.forProtocol(lambda: Far(self))
            made.noisy = False
            made.clientConnectionFailed = made.clientConnectionLost = made.startedConnecting = lambda *_: None
            self._turning.reactor.connectTCP("127.0.0.1", self._target, made)

    def reached(self, far: Far) -> None:
        """The server is there."""
        self.far = far
        for data in self._waiting:
            far.send(data)

    def send(self, data: bytes) -> None:
        transport: Any = self.transport
        transport.write(data)

    def abort(self) -> None:
        transport: Any = self.transport
        transport.abortConnection()

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802 - Twisted's name
        self.closed = True
        if self.far is not None:
            self.far.end()


class Far(Protocol):
    """The connection to the server."""

    def __init__(self, near: Near) -> None:
        self._near = near

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        self._near.reached(self)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        self._near.send(data)

    def send(self, data: bytes) -> None:
        transport: Any = self.transport
        transport.write(data)

    def end(self) -> None:
        transport: Any = self.transport
        transport.loseConnection()


class Middle:
    """A listening proxy; ``answers``: of each connection. ``target``: the port that it carries to, on loopback.

    ``limit``: tunnels that may be open at a time, as long as it is set.
    """

    def __init__(self, turning: Turning, answers: Sequence[bytes], target: int = 0, tls: Issued | None = None) -> None:
        self.connections: list[Near] = []
        self.limit: int | None = None

        def made() -> Near:
            near = Near(turning, answers, target)
            near.full = self.limit is not None and self.open >= self.limit
            self.connections.append(near)
            return near

        self._turning = turning
        untyped: Any = Factory
        factory: Any = untyped.forProtocol(made)
        factory.noisy = False
        if tls is not None:
            context: Any = context_of(tls)
            factory = TLSMemoryBIOFactory(context, False, factory, clock=turning.reactor)
            factory.noisy = False
        self._port: Any = turning.reactor.listenTCP(0, factory, interface="127.0.0.1")

    @property
    def port(self) -> int:
        return int(self._port.getHost().port)

    def proxy(self, scheme: str = "http", username: str = "", password: str = "") -> ProxyURL:
        """Its address."""
        return ProxyURL(scheme, "127.0.0.1", self.port, username, password)

    @property
    def open(self) -> int:
        """The tunnels that are open."""
        return sum(not (each.closed or each.full) for each in self.connections)

    @property
    def heard(self) -> list[bytes]:
        """What the only client said to it."""
        (only,) = self.connections
        return only.heard

    def close(self) -> None:
        """Listen no more, and wait until its clients have gone."""
        self._turning.wait(self._port.stopListening())
        self._turning.until(lambda: all(each.closed for each in self.connections))
