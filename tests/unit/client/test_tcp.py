from __future__ import annotations

import socket
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError
from twisted.internet.protocol import Factory, Protocol

from extapi.client.tcp import tcp_endpoint
from extapi.privatereactor import drive, private_reactor
from tests.unit.client.names import Names

OPTIONS = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
]


class Listening:
    """A port on ::1, and 127.0.0.1 with the same number, where nothing listens."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self.arrived: list[str] = []
        self.socket_options: list[int] = []
        listening = self

        class Served(Protocol):
            transport: Any

            def connectionMade(self) -> None:  # noqa: N802 - Twisted's
                listening.arrived.append(self.transport.getPeer().host)

        self._port = reactor.listenTCP(0, Factory.forProtocol(Served), interface="::1")

    def reached(self, host: str) -> str:
        """The address at which a host is reached."""

        async def connected() -> str:
            port = self._port.getHost().port
            way = tcp_endpoint(self._reactor, host, port, timeout=10)
            protocol = await way.connect(Factory.forProtocol(Protocol))
            address = str(protocol.transport.getPeer().host)
            self.socket_options = [protocol.transport.getHandle().getsockopt(*each) for each in OPTIONS]
            lost: Deferred[None] = Deferred()
            protocol.connectionLost = lambda _: lost.callback(None)
            protocol.transport.loseConnection()
            await lost
            return address

        return str(drive(self._reactor, connected()))


def test_all_addresses_of_a_name_are_tried_and_none_is_looked_up_of_an_address() -> None:
    with private_reactor() as reactor:
        names = Names(reactor, six=["::1"], both=["127.0.0.1", "::1"])
        listening = Listening(reactor)
        assert [listening.reached(host) for host in ("six", "both", "::1")] == ["::1"] * 3
        assert names.asked == ["six", "both"]
        with pytest.raises(DNSLookupError):
            listening.reached("none")


def test_a_peer_that_has_vanished_is_noticed_within_half_a_minute() -> None:
    """tcp(7). Linux alone would wait for two hours, and for a quarter of an hour with something under way."""
    with private_reactor() as reactor:
        listening = Listening(reactor)
        listening.reached("::1")
        assert listening.socket_options == [1, 15, 30_000]
