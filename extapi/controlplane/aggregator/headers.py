"""Which headers are passed on and which are set, in requests to a backend and in its responses (behaviour D7, D8).

What a client says about its identity never passes: authentication and impersonation have removed those headers, and
every spelling of them, before a request gets here. Hop-by-hop headers, and those that ``Connection`` names, are removed
before the user's identity is set: a client that names identity headers there removes nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from functools import lru_cache
from string import ascii_letters, digits
from urllib.parse import quote, urlencode

from extapi import TransportError, User
from extapi.http.request import Request

Headers = list[tuple[str, str]]

_HOP = frozenset(
    {
        "connection",
        "proxy-connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OURS = frozenset(
    {"host", "content-length", "expect", "audit-id"}
    | {"x-forwarded-for", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto"}
)
_CORS = frozenset(f"access-control-allow-{name}" for name in ("credentials", "headers", "methods", "origin"))
_IN_KEY = frozenset(f"!#$&'*+-.^_`|~{digits}{ascii_letters}".encode())
"""Bytes in a key of ``extra`` that need no escape in a header's name: those of a token, without the percent sign."""
_ENCODED = [chr(byte) if byte in _IN_KEY else f"%{byte:02X}" for byte in range(0x100)]
_BROKEN = frozenset(map(chr, range(0x20))) - {"\t"} | {"\x7f"}
"""Characters that no header value may have (Go's ``httpguts.ValidHeaderFieldValue``)."""


def identity(user: User) -> Headers:
    """The headers that tell a backend who the user is (client-go's ``SetAuthProxyHeaders``)."""
    headers = [("X-Remote-User", user.name)]
    if user.uid:
        headers.append(("X-Remote-Uid", user.uid))
    headers += [("X-Remote-Group", group) for group in user.groups]
    for key, values in user.extra.items():
        name = "X-Remote-Extra-" + "".join([_ENCODED[byte] for byte in key.encode()])
        headers += [(name, value) for value in values]
    return headers


def request_headers(request: Request, host: str, *, upgrade: str = "") -> Headers:
    """The headers to send to a backend.

    Args:
        request: The client's request.
        host: The backend's host and port.
        upgrade: The protocol to upgrade to, if any.
    """
    dropped = _HOP | _OURS | _named(request.headers.get("connection", ()))
    headers = [("Host", host)]
    for name, values in request.headers.items():
        if name not in dropped:
            headers += [(_canonical(name), value) for value in values]
    if upgrade:
        headers += [("Connection", "Upgrade"), ("Upgrade", upgrade)]
    else:
        headers += [
            ("X-Forwarded-Uri", _cleaned(escaped_path(request))),
            ("X-Forwarded-Host", host),
            ("X-Forwarded-Proto", "https"),
        ]
    if not request.peer.loopback:
        before = request.headers.get("x-forwarded-for", ())
        headers.append(("X-Forwarded-For", ", ".join((*before, request.peer.address))))
    headers.append(("Audit-Id", request.audit_id))
    return headers + identity(request.user or User("system:anonymous"))


def request_target(request: Request) -> str:
    """Path and query as Go writes them: with the parameters sorted by name."""
    query = urlencode(sorted(request.query.items()), doseq=True) if request.query else ""
    return f"{escaped_path(request)}?{query}" if query else escaped_path(request)


def escaped_path(request: Request) -> str:
    """The decoded path, encoded again (Go's ``URL.EscapedPath``)."""
    return quote(request.info.path, safe="/$&+,:;=@")


def request_bytes(method: str, target: str, headers: Headers, body: bytes | None = b"") -> bytes:
    """The bytes of a whole request; of its head only, if ``body`` is None: then the headers say how the body ends.

    Raises:
        TransportError: A header has an invalid value.
    """
    lines = [f"{method} {target} HTTP/1.1\r\n"]
    for name, value in headers:
        if not _BROKEN.isdisjoint(value):
            raise TransportError(f'net/http: invalid header field value for "{name}"')
        lines.append(f"{name}: {value}\r\n")
    if body is None:
        body = b""
    elif body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body)}\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("utf-8", "replace") + body


def response_headers(headers: Headers, *, upgraded: bool = False) -> Headers:
    """The headers of a backend's response that are passed on to the client; the listener adds lengths and the like."""
    dropped = (
        _HOP | _CORS | {"content-length"} | _named(value for name, value in headers if name.lower() == "connection")
    )
    if upgraded:
        dropped -= {"upgrade"}
    passed = ((name, name.lower(), value) for name, value in headers)
    return [(_canonical(name), value) for name, lower, value in passed if lower not in dropped]


@lru_cache(maxsize=256)
def _canonical(name: str) -> str:
    """A header's name as Go writes it: ``Etag``, ``Content-Type``."""
    return "-".join(part.capitalize() for part in name.split("-"))


def _named(connection: Iterable[str]) -> frozenset[str]:
    return frozenset(name.strip().lower() for value in connection for name in value.split(","))


def _cleaned(path: str) -> str:
    """The path as Go's ``path.Join`` cleans it, but with its trailing slash."""
    clean = posixpath.normpath(path)
    clean = "/" + clean.lstrip("/")
    return clean + "/" if path.endswith("/") and clean != "/" else clean
