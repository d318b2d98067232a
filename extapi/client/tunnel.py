"""A connection through a proxy, which only carries what travels on it: TLS to the server, as a rule.

Bounds the time until the proxy has answered. Must not know what is said to it (``proxyhandshake``), nor requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from twisted.internet import error as network
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.python.failure import Failure
from zope.interface import implementer

from extapi.client.body import innermost
from extapi.client.proxy import ProxyURL
from extapi.client.proxyhandshake import ProxyBusyError, ProxyHandshakeError, connect, said, socks5
from extapi.client.tcp import tcp_endpoint
from extapi.client.tls import sentence
from extapi.client.tlsendpoint import TlsEndpoint
from extapi.clock import stop_timer

CONNECT_TIMEOUT = 10.0
"""Seconds for TCP to connect."""

ANSWER_TIMEOUT = 20.0
"""Seconds for a proxy to answer; it connects to the server meanwhile."""


class TunnelError(Exception):
    """There is no way through the proxy; the text says what it did."""


class TunnelBusy(TunnelError):
    """The proxy has no room for another connection now."""


def tunnel_endpoint(reactor: Any, proxy: ProxyURL, tls: Callable[[str], Any], host: str, port: int) -> TunnelEndpoint:
    """The way to a server through a proxy, which may want TLS itself.

    Args:
        reactor: Provides IReactorTCP and IReactorTime, and resolves names.
        proxy: The proxy.
        tls: Makes the TLS to a proxy of that name, for an ``https`` proxy.
        host: The server: a name, which only the proxy resolves, or an IP address.
        port: The server's.
    """
    near = tcp_endpoint(reactor, proxy.host, proxy.port, timeout=CONNECT_TIMEOUT)
    if proxy.scheme == "https":
        near = TlsEndpoint(reactor, near, tls(proxy.host))
    return TunnelEndpoint(reactor, near, proxy, host, port)


@implementer(IStreamClientEndpoint)
class TunnelEndpoint:
    """Connects to a server through a proxy.

    Args:
        reactor: Provides IReactorTime.
        near: The endpoint of the proxy itself.
        proxy: What to say to it.
        host: The server: a name, which only the proxy resolves, or an IP address.
        port: The server's.

    Attributes:
        proxy: What to say to the proxy.
    """

    def __init__(self, reactor: Any, near: Any, proxy: ProxyURL, host: str, port: int) -> None:
        self._reactor = reactor
        self._near = near
        self.proxy = proxy
        self._host = host
        self._port = port

    def connect(self, factory: Any) -> Deferred[Any]:
        """The protocol of ``factory``, connected to the server; the Deferred fails with :class:`TunnelError`."""
        return Deferred.fromCoroutine(self._connected(factory))

    async def _connected(self, factory: Any) -> Any:
        untyped: Any = Factory
        made = untyped.forProtocol(Tunnel)
        made.noisy = False
        try:
            tunnel: Tunnel = await self._near.connect(made)
        except (CancelledError, network.ConnectingCancelledError):
            raise
        except Exception as error:
            why = ", ".join(sentence(each) for each in innermost(error))
            raise TunnelError(f"no connection to the proxy: {why}") from error
        late = self._reactor.callLater(ANSWER_TIMEOUT, tunnel.fail, f"did not answer within {ANSWER_TIMEOUT:g} seconds")
        ask = socks5 if self.proxy.scheme == "socks5" else connect
        try:
            await ask(tunnel, self.proxy, self._host, self._port)
            tunnel.check_silent()
        except ProxyHandshakeError as error:
            tunnel.abort()
            kind = TunnelBusy if isinstance(error, ProxyBusyError) else TunnelError
            raise kind(f"the proxy {error}") from error
        except CancelledError:
            tunnel.abort()
            raise
        finally:
            stop_timer(late)
        return tunnel.carry(factory)


class Tunnel(Protocol):
    """The connection to a proxy: first the handshake (:class:`extapi.client.proxyhandshake.ProxyStream`), then its owner's bytes."""

    def __init__(self) -> None:
        self._buffer = b""
        self._failure = ""
        self._waiting: Deferred[None] | None = None
        self._factory: Any = None
        self._carried: Any = None

    def write(self, data: bytes) -> None:
        """Send."""
        self._transport().write(data)

    async def exactly(self, size: int) -> bytes:
        """The next ``size`` bytes.

        Raises:
            ProxyHandshakeError: They do not come.
        """
        while len(self._buffer) < size:
            await self._more()
        return self._take(size)

    async def head(self, pattern: re.Pattern[bytes], limit: int, start: bytes) -> bytes:
        """What comes up to ``pattern``, with it.

        Raises:
            ProxyHandshakeError: It does not come within ``limit`` bytes, or does not begin with ``start``.
        """
        while (end := pattern.search(self._buffer, 0, limit)) is None:
            begun = self._buffer[: len(start)]
            if not start.startswith(begun):
                raise ProxyHandshakeError(f"does not speak HTTP: it answered {said(self._buffer)}")
            if len(self._buffer) >= limit:
                raise ProxyHandshakeError(f"answered with a head of more than {limit} bytes")
            await self._more()
        return self._take(end.end())

    def check_silent(self) -> None:
        """See that nothing came after the answer: both TLS and HTTP let the client speak first.

        Raises:
            ProxyHandshakeError: Something did.
        """
        if self._buffer:
            raise ProxyHandshakeError(f"sent {len(self._buffer)} bytes after its answer, before the server could speak")

    def carry(self, factory: Any) -> Any:
        """From now on all that comes is for the protocol of ``factory``, which is the result."""
        factory.doStart()
        self._factory = factory
        self._carried = carried = factory.buildProtocol(self._transport().getPeer())
        carried.makeConnection(self._transport())
        return carried

    def abort(self) -> None:
        """End it now."""
        self._transport().abortConnection()

    def fail(self, why: str) -> None:
        """The handshake has failed; ``why`` goes on after "the proxy"."""
        self._failure = self._failure or why
        self._wake()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Something came."""
        if self._carried is not None:
            self._carried.dataReceived(data)
            return
        self._buffer += data
        self._wake()

    def connectionLost(self, reason: Failure | None = None) -> None:  # noqa: N802 - Twisted's name
        """The end."""
        if self._carried is not None:
            self._carried.connectionLost(reason)
            self._factory.doStop()
            return
        cause = reason.value if reason is not None else None
        if cause is None or isinstance(cause, network.ConnectionDone | network.ConnectionLost):
            self.fail("closed the connection instead of answering")
        else:
            self.fail(f"ended the connection: {sentence(cause)}")

    async def _more(self) -> None:
        """Until more has come."""
        if not self._failure:
            self._waiting = Deferred()
            await self._waiting
        if self._failure:
            raise ProxyHandshakeError(self._failure)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(None)

    def _take(self, size: int) -> bytes:
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _transport(self) -> Any:
        return self.transport
