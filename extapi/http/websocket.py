"""Whether a request asks for another protocol, and the handshake of a WebSocket (RFC 6455, section 4).

Source: ``golang.org/x/net/websocket``, which kube-apiserver uses, and ``k8s.io/streaming/pkg/httpstream``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from string import ascii_letters, digits

from extapi.http.request import Request
from extapi.http.response import Response, http_error

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_VERSION = "13"
_IN_SCHEME = frozenset(ascii_letters + digits + "+-.")

Choose = Callable[[list[str]], str | None]
"""Chooses among the subprotocols that a client offers; empty for none, None to refuse the client."""


class HandshakeRefused(Exception):
    """The client does not get a WebSocket; :attr:`response` says why."""

    def __init__(self, status: int, text: str = "", *headers: tuple[str, str]) -> None:
        super().__init__(text or str(status))
        self.response = http_error(status, text, *headers, close=True) if text else Response(status, close=True)


def is_upgrade(request: Request) -> bool:
    """Whether a request asks for another protocol, and its connection can have one.

    Source: ``k8s.io/streaming/pkg/httpstream`` IsUpgradeRequest.
    """
    asks = any("upgrade" in value.lower() for value in request.headers.get("connection", ()))
    return asks and bool(request.header("upgrade")) and not request.peer.loopback


def is_websocket(request: Request) -> bool:
    """Whether a request asks for a WebSocket.

    Source: ``k8s.io/streaming/pkg/httpstream/wsstream`` IsWebSocketRequest.
    """
    return request.header("upgrade").lower() == "websocket" and is_upgrade(request)


def handshake(request: Request, choose: Choose) -> list[tuple[str, str]]:
    """The headers of the 101 that answers a request for a WebSocket.

    Args:
        request: The request.
        choose: Chooses the subprotocol.

    Raises:
        HandshakeRefused: The request is malformed, or none of its subprotocols is spoken here.

    Source: ``golang.org/x/net/websocket`` hybiServerHandshaker.
    """
    if request.method != "GET":
        raise HandshakeRefused(405, "bad method")
    key = request.header("sec-websocket-key")
    if not key:
        raise HandshakeRefused(400, "mismatch challenge/response")
    if request.header("sec-websocket-version") != _VERSION:
        raise HandshakeRefused(400, "missing or bad WebSocket Version", ("Sec-WebSocket-Version", _VERSION))
    offered = [
        name.strip()
        for value in request.headers.get("sec-websocket-protocol", ())
        for name in value.split(",")
        if name.strip()
    ]
    chosen = choose(offered)
    if chosen is None:
        raise HandshakeRefused(403)
    accept = base64.b64encode(hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()).decode()
    headers = [("Upgrade", "websocket"), ("Sec-WebSocket-Accept", accept)]
    return [*headers, ("Sec-WebSocket-Protocol", chosen)] if chosen else headers


def check_origin(request: Request) -> None:
    """Check that there is an Origin, and that it is a URI. Which one is not compared with anything.

    Raises:
        HandshakeRefused: There is none, or it is not a URI.

    Source: ``golang.org/x/net/websocket`` checkOrigin.
    """
    origin = request.header("origin")
    scheme, colon, _ = origin.partition(":")
    absolute = bool(colon and scheme and scheme[0] in ascii_letters and _IN_SCHEME.issuperset(scheme))
    if not (absolute or origin.startswith("/")) or not origin.isprintable():
        raise HandshakeRefused(403)
