"""An upstream server and the kept-alive HTTP/1.1 connections to it: requests as bytes, responses in pieces.

For servers that an object names: the backends of APIServices and conversion webhooks. Leaner than
:mod:`extapi.client.http`, able to upgrade a connection, and stricter: heads are bounded, too. Bounds the number of
connections and the time to establish one; the deadline of a request is the caller's. Errors have the words of Go. Knows
nothing of Kubernetes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from twisted.internet import error as network
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.protocol import Factory
from twisted.protocols.tls import TLSMemoryBIOFactory

from extapi.client.authority import authority
from extapi.client.body import innermost
from extapi.client.tcp import tcp_endpoint
from extapi.client.tls import UpstreamTls
from extapi.client.transport import ConnectionLost, TransportError
from extapi.client.tunnel import TunnelEndpoint, TunnelError
from extapi.client.upstreamconnection import ArrivingBody, UpstreamConnection
from extapi.client.upstreamresponse import UpstreamResponse
from extapi.clock import Late, in_time, stop_timer

CONNECT, HANDSHAKE = 10.0, 10.0
"""Seconds for TCP to connect, and for TLS after that."""
IDLE, IDLE_SECONDS = 32, 30.0
"""Idle connections to keep, and seconds to keep them; servers close theirs after 60 or more."""
CONNECTIONS = 2000
"""Connections per server; further requests fail."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK = ("127.0.0.1", "::1")
_ANSWERED = (network.ConnectionRefusedError, network.TimeoutError)


class Upstream:
    """The server at ``host`` (a name or IP address) and ``port``, and the connections to it.

    ``reactor`` provides IReactorTCP, IReactorTime and host name resolution. ``way``: through a proxy, if there is one.
    """

    def __init__(
        self, reactor: Any, host: str, port: int, tls: UpstreamTls, *, way: TunnelEndpoint | None = None
    ) -> None:
        self._reactor = reactor
        self._way = way
        self.host = host
        self.port = port
        self.tls = tls
        self._idle: list[UpstreamConnection] = []
        self._open: set[UpstreamConnection] = set()
        self._connecting = 0
        self._sweep: Any = None
        self._closed = False
        self._retired = False
        self._patient: deque[Deferred[None]] = deque()
        """Who waits for a connection that is kept, in the order in which they came."""

    async def send(
        self,
        method: str,
        request: bytes,
        *,
        dedicated: bool = False,
        upload: ArrivingBody | None = None,
        patience: float = 0.0,
    ) -> UpstreamResponse:
        """Send a whole request, head and body, and wait for the head of the response.

        If the server closed an idle connection just before it was used, the request is sent again on another one,
        provided that its method is safe. Cancelling ends the connection.

        Args:
            method: The method in ``request``.
            request: The bytes to send.
            dedicated: Use a new connection and never reuse it; needed to upgrade.
            upload: The body, if it is still arriving and ``request`` is only the head. Also uses a connection of its own.
            patience: Seconds to wait for a connection that is in use, if none is idle, before there is another one. Many short
                requests at once then need few connections, each of which costs both sides milliseconds.

        Raises:
            TransportError: No response arrived.
        """
        if patience and not self._idle and (self._open or self._connecting):
            await self._kept(patience)
        while self._idle and not dedicated and upload is None:
            try:
                return await self._idle.pop().send(method, request)
            except ConnectionLost:
                if method not in _SAFE:
                    raise
        connection = await self._connect()
        return await connection.send(method, request, dedicated=dedicated, upload=upload)

    def close(self) -> None:
        """End every connection."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for connection in list(self._open):
            connection.abort()

    def retire(self) -> None:
        """Keep no connections any more: idle ones end now, the others after their response. Requests still work."""
        self._retired = True
        for connection in self._idle[:]:
            connection.abort()

    # -- for connections

    def call_later(self, seconds: float, call: Callable[[], None]) -> Any:
        """Call in ``seconds`` seconds."""
        return self._reactor.callLater(seconds, call)

    def keep(self, connection: UpstreamConnection) -> None:
        """Take back a connection that is free for another request."""
        if self._closed or self._retired or len(self._idle) >= IDLE:
            connection.abort()
            return
        connection.since = self._reactor.seconds()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = self._reactor.callLater(IDLE_SECONDS, self._swept)
        if self._patient:
            self._patient.popleft().callback(None)

    def forget(self, connection: UpstreamConnection) -> None:
        """Drop a connection that has ended."""
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def describe(self, error: BaseException | None, host: str = "") -> str:
        """Describe a network error, in the words of Go's net and tls packages where it has some.

        Args:
            error: The error.
            host: The address that was dialled; the server's host if that is what was dialled.
        """
        where = authority(host or self.host, self.port)
        if isinstance(error, network.ConnectionRefusedError):
            return f"dial tcp {where}: connect: connection refused"
        if isinstance(error, network.DNSLookupError):
            return f"dial tcp: lookup {self.host}: no such host"
        if isinstance(error, network.ConnectError) and isinstance(error.osError, int):
            return f"dial tcp {where}: connect: {os.strerror(error.osError).lower()}"  # Go's words differ in this alone
        if isinstance(error, network.TimeoutError):
            return f"dial tcp {where}: i/o timeout"
        if self.tls.problem:
            return f"tls: failed to verify certificate: x509: {self.tls.problem}"
        if type(error).__module__.startswith("OpenSSL") and error is not None and error.args and error.args[0]:
            return f"tls: {error.args[0][-1][-1]}"
        return ", ".join(" ".join(str(each).split()) for each in innermost(error)) if error is not None else "EOF"

    async def _kept(self, seconds: float) -> None:
        """Wait until a connection is kept, whose turn it is then to be used; or for ``seconds`` seconds."""
        waiting: Deferred[None] = Deferred(self._patient.remove)
        self._patient.append(waiting)
        with suppress(Late):
            await in_time(self._reactor, seconds, waiting)

    async def _connect(self) -> UpstreamConnection:
        if self._closed:
            raise TransportError("closed")
        if len(self._open) + self._connecting >= CONNECTIONS:
            raise TransportError(f"more than {CONNECTIONS} connections to {authority(self.host, self.port)}")
        self._connecting += 1
        try:
            connection = await self._dialled()
        finally:
            self._connecting -= 1
        self._open.add(connection)
        late = self._reactor.callLater(HANDSHAKE, self._late, connection)
        try:
            await connection.secured
        except CancelledError:
            connection.abort()
            raise
        finally:
            stop_timer(late)
        return connection

    async def _dialled(self) -> UpstreamConnection:
        factory: Any = Factory
        made = factory.forProtocol(lambda: UpstreamConnection(self))
        made.noisy = False
        failures: list[tuple[str, Exception]] = []
        for host, endpoint in self._endpoints():
            wrapped = TLSMemoryBIOFactory(self.tls, True, made, clock=self._reactor)  # type: ignore[arg-type]  # Twisted's annotation wants a wrapping factory
            wrapped.noisy = False
            try:
                protocol = await endpoint.connect(wrapped)
            except TunnelError as error:
                raise TransportError(f"through the proxy {endpoint.proxy}: {error}") from error
            except (network.ConnectError, network.DNSLookupError, network.TimeoutError, ValueError) as error:
                failures.append((host, error))
                continue
            except network.ConnectingCancelledError as error:
                raise CancelledError from error  # like any other Deferred; this one has its own error
            connection: UpstreamConnection = protocol.wrappedProtocol
            return connection
        # Go tries addresses that cannot be reached from here last (RFC 6724, section 6, rule 1), and tells of the first one.
        failures.sort(key=lambda each: not isinstance(each[1], _ANSWERED))
        host, first = failures[0]
        raise TransportError(self.describe(first, host)) from first

    def _endpoints(self) -> list[tuple[str, Any]]:
        """The hosts to dial, one after the other, and how."""
        if self._way is not None:
            return [(self.host, self._way)]
        # RFC 6761, section 6.3; asking the resolver takes a thread
        hosts = _LOOPBACK if self.host == "localhost" else (self.host,)
        return [(host, tcp_endpoint(self._reactor, host, self.port, timeout=CONNECT)) for host in hosts]

    def _late(self, connection: UpstreamConnection) -> None:
        if not connection.secured.called:
            connection.secured.errback(TransportError("net/http: TLS handshake timeout"))
        connection.abort()

    def _swept(self) -> None:
        self._sweep = None
        now = self._reactor.seconds()
        for connection in [each for each in self._idle if now - each.since >= IDLE_SECONDS]:
            connection.abort()
        if self._idle:
            self._sweep = self._reactor.callLater(IDLE_SECONDS / 2, self._swept)
