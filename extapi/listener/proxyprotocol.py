"""The PROXY protocol, which load balancers put in front of TLS if they are told to: recognized, refused, and named in the log.

Without a name for it, an operator would see connections that end at once, and no reason. Knows sockets, and nothing of TLS or HTTP.

Source: HAProxy's ``doc/proxy-protocol.txt``, sections 2.1 and 2.2.
"""

from __future__ import annotations

import socket
from typing import Any

from twisted.internet.error import ConnectionLost
from twisted.logger import Logger

EVERY = 60.0
"""Seconds between lines: a load balancer that checks a server's health connects every few seconds."""

_RECORD_HEADER = 5
"""Bytes that OpenSSL has read when it finds that they are no TLS (RFC 8446, 5.1)."""
_HEADERS = (b"PROXY TCP4 ", b"PROXY TCP6 ", b"PROXY UNKNOWN", b"\r\n\r\n\0\r\nQUIT\n")
_FOLLOWING = tuple(each[_RECORD_HEADER:] for each in _HEADERS)
_LONGEST = max(map(len, _FOLLOWING))


class ProxyHeader(ConnectionLost):
    """The connection began with a header of the PROXY protocol, and has ended."""


def refused(sock: socket.socket) -> ConnectionLost:
    """Why a handshake failed, by what follows the bytes that OpenSSL could not read.

    Args:
        sock: The connection, of which OpenSSL has read the header of a record.
    """
    try:
        following = sock.recv(_LONGEST, socket.MSG_PEEK)
    except OSError:  # nothing follows, or the peer has left
        following = b""
    return ProxyHeader() if following.startswith(_FOLLOWING) else ConnectionLost()


class ProxyHeaderLog:
    """Tells the operator of such connections: at once of the first one, then with their number once a minute.

    Args:
        clock: Times the lines.
    """

    _log = Logger()

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._told: float | None = None
        self._untold = 0

    def seen(self, address: str) -> None:
        """A connection from ``address`` began with such a header."""
        now = self._clock.seconds()
        if self._told is not None and 0 <= now - self._told < EVERY:
            self._untold += 1
            return
        self._log.warn(
            "a connection from {address} begins with a header of the PROXY protocol instead of TLS, and is refused{more}: switch "
            "the PROXY protocol off in the load balancer there (HAProxy: send-proxy; nginx: proxy_protocol; cloud providers: an "
            "annotation of the Service)",
            address=address,
            more=f" ({self._untold} more since the last line)" if self._untold else "",
        )
        self._told, self._untold = now, 0
