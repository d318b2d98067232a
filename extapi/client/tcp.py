"""The way to a host by TCP, of whichever family its addresses are.

Must not know what is spoken there.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint


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
    return kind(reactor, host, port, timeout=timeout)
