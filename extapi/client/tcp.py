"""The way to a host by TCP, of whichever family its addresses are.

Must not know what is spoken there.
"""

from __future__ import annotations

import socket
from typing import Any, Final

from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.interfaces import IStreamClientEndpoint
from zope.interface import implementer

IDLE: Final = 15
INTERVAL: Final = 5
COUNT: Final = 3
"""Seconds without a word until the peer's kernel is asked whether it is there, between two such questions, and how many go without
an answer until the connection is lost (Go asks after 15, too: net.KeepAliveConfig)."""
_UNACKNOWLEDGED: Final = IDLE + INTERVAL * COUNT
"""Seconds that what was sent may be without an acknowledgement. Linux has a quarter of an hour."""


def tcp_endpoint(reactor: Any, host: str, port: int, *, timeout: float) -> Any:
    """The endpoint of a host. A name's addresses of both families are tried, each a moment after the one before (RFC 8305).

    Nothing is resolved for an address: HostnameEndpoint would start a thread for it, too. A reactor's own ``connectTCP``
    takes names as well, and knows their IPv4 addresses alone.

    Args:
        reactor: Provides IReactorTCP and IReactorTime, and resolves names.
        host: A name or an IP address, the latter without brackets.
        port: The port.
        timeout: Seconds for one address.
    """
    kind: Any = HostnameEndpoint
    if isIPAddress(host):
        kind = TCP4ClientEndpoint
    elif isIPv6Address(host):
        kind = TCP6ClientEndpoint
    return _Guarded(kind(reactor, host, port, timeout=timeout))


@implementer(IStreamClientEndpoint)
class _Guarded:
    """An endpoint whose connections do not stay when the other side has vanished."""

    def __init__(self, endpoint: Any) -> None:
        self._endpoint = endpoint

    def connect(self, factory: Any) -> Deferred[Any]:
        """Connect."""
        connecting: Deferred[Any] = self._endpoint.connect(factory)
        return connecting.addCallback(_guard)


def _guard(protocol: Any) -> Any:
    handle = protocol.transport.getHandle()
    options = [(socket.SOL_SOCKET, "SO_KEEPALIVE", 1)]
    options += [(socket.IPPROTO_TCP, "TCP_KEEPIDLE", IDLE), (socket.IPPROTO_TCP, "TCP_KEEPINTVL", INTERVAL)]
    options += [
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", COUNT),
        (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", _UNACKNOWLEDGED * 1000),
    ]
    for level, name, value in options:
        if isinstance(handle, socket.socket) and hasattr(socket, name):  # not each system has all of them
            handle.setsockopt(level, getattr(socket, name), value)
    return protocol
