"""How the HTTP agent reaches a server: TCP, through a proxy or not, and TLS on it where the address says https.

Twisted's own agent would reach for the global reactor in two places: the TLS transport's clock and the body producer's
cooperator. Here both are handed what they need. Must not know requests.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.web.iweb import IAgentEndpointFactory, IBodyProducer
from zope.interface import implementer

from extapi.client.proxy import Proxy
from extapi.client.tls import TlsPolicy
from extapi.client.tunnel import TunnelEndpoint

CONNECT_TIMEOUT = 10.0
"""Seconds for TCP to connect."""


@implementer(IAgentEndpointFactory)
class Endpoints:
    """Makes the endpoint of each new connection."""

    def __init__(self, reactor: Any, policy: TlsPolicy, proxy: Proxy | None = None) -> None:
        self._reactor = reactor
        self._policy = policy
        self._proxy = proxy

    def endpointForURI(self, uri: Any) -> Any:  # noqa: N802 - Twisted's name
        """The endpoint of the server that a URI names."""
        host = uri.host.decode("ascii").strip("[]")
        proxy = self._proxy
        if proxy is None:
            way = self._tcp(host, uri.port)
        else:
            near = self._tcp(proxy.host, proxy.port)
            if proxy.scheme == "https":
                near = _TlsEndpoint(self._reactor, near, self._policy.proxy_options(proxy.host))
            way = TunnelEndpoint(self._reactor, near, proxy, host, uri.port)
        if uri.scheme != b"https":
            return way
        return _TlsEndpoint(self._reactor, way, self._policy.options(host))

    def _tcp(self, host: str, port: int) -> Any:
        untyped: Any = HostnameEndpoint
        return untyped(self._reactor, host, port, timeout=CONNECT_TIMEOUT)


@implementer(IStreamClientEndpoint)
class _TlsEndpoint:
    def __init__(self, reactor: Any, way: Any, options: Any) -> None:
        self._reactor = reactor
        self._way = way
        self._options = options

    def connect(self, factory: Any) -> Deferred[Any]:
        """Connect; the protocol of ``factory`` comes out, on top of TLS."""
        wrapped = TLSMemoryBIOFactory(self._options, isClient=True, wrappedFactory=factory, clock=self._reactor)
        factory.noisy = wrapped.noisy = False  # Twisted would log each connection
        connecting: Deferred[Any] = self._way.connect(wrapped)
        return connecting.addCallback(lambda protocol: protocol.wrappedProtocol)


@implementer(IBodyProducer)
class BytesProducer:
    """A request's body that is all there: written at once."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.length = len(data)

    def startProducing(self, consumer: Any) -> Deferred[None]:  # noqa: N802 - Twisted's name
        """Write it."""
        consumer.write(self._data)
        return succeed(None)

    def pauseProducing(self) -> None:  # noqa: N802 - Twisted's name
        """Nothing is left to pause."""

    def resumeProducing(self) -> None:  # noqa: N802 - Twisted's name
        """Nothing is left to resume."""

    def stopProducing(self) -> None:  # noqa: N802 - Twisted's name
        """Nothing is left to stop."""
