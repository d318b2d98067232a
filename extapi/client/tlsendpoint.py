"""TLS on top of a way to a server, whatever that is: TCP, or a tunnel through a proxy.

Must not know which certificates count (``tls``), nor what is spoken.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.protocols.tls import TLSMemoryBIOFactory
from zope.interface import implementer


@implementer(IStreamClientEndpoint)
class TlsEndpoint:
    """Connects by TLS.

    Args:
        reactor: Provides IReactorTime.
        way: The endpoint below.
        options: The TLS of the connection.
    """

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
