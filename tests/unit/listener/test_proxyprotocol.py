"""Headers of the PROXY protocol, as in the examples of HAProxy's doc/proxy-protocol.txt, on connections of a listener."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from OpenSSL import SSL
from twisted.logger import formatEvent, globalLogPublisher

from extapi.listener.connection import Connection
from extapi.listener.proxyprotocol import EVERY
from extapi.listener.state import ListenerState
from extapi.listener.tls import ServingCertificate
from tests.certificates import authority
from tests.wire.harness import SelectClock

V1 = b"PROXY TCP4 192.0.2.7 192.0.2.9 56324 443\r\n"
V2 = b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x07\xc0\x00\x02\x09\xdc\x04\x01\xbb"


class Port:
    """What listens, without a listening socket; ``told``: the lines of the log."""

    def __init__(self, context: SSL.Context) -> None:
        self.reactor = SelectClock()
        self.told: list[str] = []
        self._context = context
        self._shared = ListenerState(self.reactor, self._unasked)

    async def _unasked(self, _request: Any) -> Any:
        raise AssertionError("no request arrives")

    def note(self, event: Any) -> None:
        self.told.append(formatEvent(event))

    def gets(self, data: bytes) -> None:
        """A connection that begins with ``data``, and ends by that."""
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(data)
            made = Connection(self._shared, self._context, ours, "203.0.113.5")
            self.reactor.until(lambda: made.stream.gone)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    leaf = authority("ca").leaf("localhost", san=["localhost"])
    made = Port(ServingCertificate(*leaf.save(tmp_path, "server")).context)
    observer: Any = made.note
    globalLogPublisher.addObserver(observer)
    yield made
    globalLogPublisher.removeObserver(observer)


@pytest.mark.parametrize(
    "header",
    [
        V1,
        b"PROXY TCP6 2001:db8::7 2001:db8::9 56324 443\r\n",
        b"PROXY UNKNOWN\r\n",
        V2,
        V1 + b"\x16\x03\x01\x02\x00\x01",
    ],
)
def test_a_header_is_named_in_the_log_with_the_peer(port: Port, header: bytes) -> None:
    port.gets(header)
    (line,) = port.told
    assert "from 203.0.113.5 begins with a header of the PROXY protocol" in line


def test_a_load_balancer_that_checks_all_the_time_gets_a_line_per_minute(port: Port) -> None:
    for _ in range(3):
        port.gets(V1)
    assert len(port.told) == 1
    port.reactor.advance(EVERY)
    port.gets(V2)
    assert "(2 more since the last line)" in port.told[1]


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"PROXYING IS FUN\r\n", b"\r\n\r\n\r\n\r\n\r\n\r\n\r\n"])
def test_other_bytes_that_are_no_tls_are_refused_in_silence(port: Port, data: bytes) -> None:
    port.gets(data)
    assert port.told == []
