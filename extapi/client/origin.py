"""A server, and the kept-alive HTTP/1.1 connections to it, for who passes requests on: bytes in, an answer in pieces out.

Leaner than :mod:`extapi.client.http`: requests come as bytes, and a connection may be upgraded. Bounds connections and
the time they take to be there; a request's deadline is the caller's. Must not know Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet import error as network
from twisted.internet.defer import CancelledError
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.protocol import Factory
from twisted.protocols.tls import TLSMemoryBIOFactory

from extapi.client.answer import Answer
from extapi.client.base import ConnectionLost, TransportError
from extapi.client.tls import UpstreamTls
from extapi.client.wire import Wire

CONNECT, HANDSHAKE = 10.0, 10.0
"""Seconds for TCP to connect, and for TLS after that."""
IDLE, IDLE_SECONDS = 32, 30.0
"""Connections kept while nothing travels on them, and for how many seconds; servers close them after 60 or more."""
CONNECTIONS = 2000
"""Connections to one server; a request beyond is refused."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK = ("127.0.0.1", "::1")


class Origin:
    """The server at ``host`` (a name or IP address) and ``port``, and the connections to it.

    ``reactor`` provides IReactorTCP, IReactorTime and host name resolution.
    """

    def __init__(self, reactor: Any, host: str, port: int, tls: UpstreamTls) -> None:
        self._reactor = reactor
        self.host = host
        self.port = port
        self.tls = tls
        self._idle: list[Wire] = []
        self._open: set[Wire] = set()
        self._connecting = 0
        self._sweep: Any = None
        self._closed = False
        self._retired = False

    async def ask(self, method: str, request: bytes, *, alone: bool = False) -> Answer:
        """Send a whole request (head and body); the answer, once its head is there.

        ``alone``: on a connection of its own. A kept connection that the server has just closed is replaced once where
        that cannot do anything twice. Raises :class:`TransportError`. Cancelling ends the connection.
        """
        while self._idle and not alone:
            try:
                return await self._idle.pop().ask(method, request)
            except ConnectionLost:
                if method not in _SAFE:
                    raise
        wire = await self._connect()
        return await wire.ask(method, request, alone=alone)

    def close(self) -> None:
        """End every connection."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for wire in list(self._open):
            wire.abort()

    def retire(self) -> None:
        """Keep no connection any more: idle ones end now, the others after their answer. Requests are still taken."""
        self._retired = True
        for wire in self._idle[:]:
            wire.abort()

    def later(self, seconds: float, call: Callable[[], None]) -> Any:
        """Have something called later."""
        return self._reactor.callLater(seconds, call)

    def keep(self, wire: Wire) -> None:
        """The connection is free."""
        if self._closed or self._retired or len(self._idle) >= IDLE:
            wire.abort()
            return
        wire.since = self._reactor.seconds()
        self._idle.append(wire)
        if self._sweep is None:
            self._sweep = self._reactor.callLater(IDLE_SECONDS, self._swept)

    def forget(self, wire: Wire) -> None:
        """The connection has ended."""
        self._open.discard(wire)
        if wire in self._idle:
            self._idle.remove(wire)

    def sentence(self, error: BaseException | None) -> str:
        """What went wrong, in the words of Go's net and tls packages where they are known."""
        host = _LOOPBACK[0] if self.host == "localhost" else f"[{self.host}]" if ":" in self.host else self.host
        where = f"{host}:{self.port}"
        if isinstance(error, network.ConnectionRefusedError):
            return f"dial tcp {where}: connect: connection refused"
        if isinstance(error, network.DNSLookupError):
            return f"dial tcp: lookup {self.host}: no such host"
        if isinstance(error, network.TimeoutError):
            return f"dial tcp {where}: i/o timeout"
        if self.tls.problem:
            return f"tls: failed to verify certificate: x509: {self.tls.problem}"
        if type(error).__module__.startswith("OpenSSL") and error is not None and error.args and error.args[0]:
            return f"tls: {error.args[0][-1][-1]}"
        return " ".join(str(error).split())

    async def _connect(self) -> Wire:
        if self._closed:
            raise TransportError("closed")
        if len(self._open) + self._connecting >= CONNECTIONS:
            raise TransportError(f"more than {CONNECTIONS} connections to {self.host}:{self.port}")
        self._connecting += 1
        try:
            wire = await self._dialled()
        finally:
            self._connecting -= 1
        self._open.add(wire)
        late = self._reactor.callLater(HANDSHAKE, self._late, wire)
        try:
            await wire.secured
        except CancelledError:
            wire.abort()
            raise
        finally:
            if late.active():
                late.cancel()
        return wire

    async def _dialled(self) -> Wire:
        factory: Any = Factory
        made = factory.forProtocol(lambda: Wire(self))
        made.noisy = False
        first: Exception | None = None
        for endpoint in self._endpoints():
            wrapped = TLSMemoryBIOFactory(self.tls, True, made, clock=self._reactor)  # type: ignore[arg-type]  # Twisted's annotation wants a wrapping factory
            wrapped.noisy = False
            try:
                protocol = await endpoint.connect(wrapped)
            except (network.ConnectError, network.DNSLookupError, network.TimeoutError, ValueError) as error:
                first = first or error
                continue
            except network.ConnectingCancelledError as error:
                raise CancelledError from error  # as of every other Deferred; this one has an error of its own
            wire: Wire = protocol.wrappedProtocol
            return wire
        raise TransportError(self.sentence(first)) from first

    def _endpoints(self) -> list[Any]:
        four: Any = TCP4ClientEndpoint
        six: Any = TCP6ClientEndpoint
        if self.host == "localhost":  # RFC 6761, 6.3; asking the resolver takes a thread
            return [
                four(self._reactor, _LOOPBACK[0], self.port, CONNECT),
                six(self._reactor, _LOOPBACK[1], self.port, CONNECT),
            ]
        if self.host.replace(".", "").isdigit():
            return [four(self._reactor, self.host, self.port, CONNECT)]
        if ":" in self.host:
            return [six(self._reactor, self.host, self.port, CONNECT)]
        named: Any = HostnameEndpoint
        return [named(self._reactor, self.host, self.port, timeout=CONNECT)]

    def _late(self, wire: Wire) -> None:
        if not wire.secured.called:
            wire.secured.errback(TransportError("net/http: TLS handshake timeout"))
        wire.abort()

    def _swept(self) -> None:
        self._sweep = None
        now = self._reactor.seconds()
        for wire in [each for each in self._idle if now - each.since >= IDLE_SECONDS]:
            wire.abort()
        if self._idle:
            self._sweep = self._reactor.callLater(IDLE_SECONDS / 2, self._swept)
