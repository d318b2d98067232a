"""The HTTP agent of one server: treq on a pool of kept-alive connections, each TCP, through a proxy or not, and TLS.

Twisted's own agent would reach for the global reactor in two places: the TLS transport's clock and the body producer's
cooperator. Here both are handed what they need. Imported only where something is sent: treq is heavy. Must not know
tokens, nor how long a request may take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hyperlink import EncodedURL
from treq.client import HTTPClient
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.web.client import Agent, HTTPConnectionPool
from twisted.web.iweb import IAgentEndpointFactory, IBodyProducer
from zope.interface import implementer

from extapi.client.proxy import ProxyURL
from extapi.client.tcp import tcp_endpoint
from extapi.client.tls import TlsPolicy
from extapi.client.tlsendpoint import TlsEndpoint
from extapi.client.tunnel import CONNECT_TIMEOUT, tunnel_endpoint

IDLE_CONNECTIONS = 16
"""Connections kept open while nothing travels on them."""

IDLE_TIMEOUT = 60
"""Seconds after which an idle connection is closed; kube-apiserver closes it after 90."""


class ServerAgent:
    """Sends requests to one server.

    Args:
        reactor: Provides IReactorTCP and IReactorTime, and resolves names.
        policy: The TLS of the connections.
        proxy: The proxy on the way; None: none.
    """

    def __init__(self, reactor: Any, policy: TlsPolicy, proxy: ProxyURL | None) -> None:
        self._reactor = reactor
        self._pool = HTTPConnectionPool(reactor)  # type: ignore[no-untyped-call]  # Twisted leaves it untyped
        self._pool.maxPersistentPerHost = IDLE_CONNECTIONS
        self._pool.cachedConnectionTimeout = IDLE_TIMEOUT
        endpoints = Endpoints(reactor, policy, proxy)
        agent = Agent.usingEndpointFactory(reactor, endpoints, pool=self._pool)  # type: ignore[no-untyped-call]  # Twisted leaves it untyped
        producer: Any = BytesProducer
        self._client = HTTPClient(agent, data_to_body_producer=producer)

    def request(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Deferred[Any]:
        """The response, its body still on the connection; redirects are not followed. To be cancelled."""
        fields: dict[bytes | str, bytes | str] = dict(headers.items())
        # A host that is no DNS name is found out at once: maybeDeferred makes a failure like others of it.
        sending: Deferred[Any] = maybeDeferred(
            self._client.request,
            method,
            _ServerURL.from_text(url),
            headers=fields,
            data=body,
            allow_redirects=False,
            unbuffered=True,
            reactor=self._reactor,
        )
        return sending

    async def close(self) -> None:
        """Close the idle connections."""
        await self._pool.closeCachedConnections()  # type: ignore[no-untyped-call]  # Twisted leaves it untyped


class _ServerURL(EncodedURL):
    """A percent-encoded URL. hyperlink takes an IPv6 address for a name that IDNA could encode, and fails."""

    def to_uri(self) -> EncodedURL:
        """The URL in ASCII."""
        return self if ":" in self.host else super().to_uri()


@implementer(IAgentEndpointFactory)
class Endpoints:
    """Makes the endpoint of each new connection."""

    def __init__(self, reactor: Any, policy: TlsPolicy, proxy: ProxyURL | None = None) -> None:
        self._reactor = reactor
        self._policy = policy
        self._proxy = proxy

    def endpointForURI(self, uri: Any) -> Any:  # noqa: N802 - Twisted's name
        """The endpoint of the server that a URI names."""
        host = uri.host.decode("ascii").strip("[]")
        if self._proxy is None:
            way = tcp_endpoint(self._reactor, host, uri.port, timeout=CONNECT_TIMEOUT)
        else:
            way = tunnel_endpoint(self._reactor, self._proxy, self._policy.proxy_options, host, uri.port)
        if uri.scheme != b"https":
            return way
        return TlsEndpoint(self._reactor, way, self._policy.options(host))


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
