"""A resolver of names with the addresses that a test gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IHostnameResolver
from zope.interface import implementer


@implementer(IHostnameResolver)
class Names:
    """``asked``: the names that were asked for."""

    def __init__(self, reactor: Any, **addresses: Sequence[str]) -> None:
        self._addresses = addresses
        self.asked: list[str] = []
        reactor.installNameResolver(self)

    def resolveHostName(  # noqa: N802 - Twisted's, as are the names of its arguments
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        *_: Any,
        **__: Any,
    ) -> Any:
        receiver, name, port = resolutionReceiver, hostName, portNumber
        self.asked.append(name)
        receiver.resolutionBegan(None)
        for address in self._addresses.get(name, ()):
            kind: Any = IPv6Address if ":" in address else IPv4Address
            receiver.addressResolved(kind("TCP", address, port))
        receiver.resolutionComplete()
