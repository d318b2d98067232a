"""How the HTTP agent reaches a server: TCP, and TLS on it where the address says https.

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

from extapi.client.tls import TlsPolicy

CONNECT_TIMEOUT = 10.0
"""Seconds for TCP to connect."""


@implementer(IAgentEndpointFactory)
class Endpoints:
    """Makes the endpoint of each new connection."""

    def __init__(self, reactor: Any, policy: TlsPolicy) -> None:
        self._reactor = reactor
        self._policy = policy

    def endpointForURI(self, uri: Any) -> Any:  # noqa: N802 - Twisted's name
        """The endpoint of the server that a URI names."""
        host = uri.host.decode("ascii").strip("[]")
        untyped: Any = HostnameEndpoint
        tcp = untyped(self._reactor, host, uri.port, timeout=CONNECT_TIMEOUT)
        if uri.scheme != b"https":
            return tcp
        return _TlsEndpoint(self._reactor, tcp, self._policy.options(host))


@implementer(IStreamClientEndpoint)
class _TlsEndpoint:
    def __init__(self, reactor: Any, tcp: Any, options: Any) -> None:
        self._reactor = reactor
        self._tcp = tcp
        self._options = options

    def connect(self, factory: Any) -> Deferred[Any]:
        """Connect; the protocol of ``factory`` comes out, on top of TLS."""
        wrapped = TLSMemoryBIOFactory(self._options, isClient=True, wrappedFactory=factory, clock=self._reactor)
        connecting: Deferred[Any] = self._tcp.connect(wrapped)
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
