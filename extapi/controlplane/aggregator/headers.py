"""Which headers pass, and which are set: of requests to a backend, and of its answers (spec D7, D8).

What a client says about who it is never passes. Hop-by-hop headers, and those that ``Connection`` names, are taken off
before ours are set: a client that names our identity headers there takes away only its own.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from functools import lru_cache
from string import ascii_letters, digits
from urllib.parse import quote, urlencode

from extapi.api.user import User
from extapi.client.base import TransportError
from extapi.listener.call import Call

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
    {"host", "content-length", "expect", "authorization", "audit-id"}
    | {"x-forwarded-for", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto"}
)
_IDENTITY = ("x-remote-", "impersonate-")
_CORS = frozenset(f"access-control-allow-{name}" for name in ("credentials", "headers", "methods", "origin"))
_IN_KEY = frozenset(f"!#$&'*+-.^_`|~{digits}{ascii_letters}".encode())
"""Bytes of a key of ``extra`` that stand as they are in a header's name: those of a token, without the percent sign."""
_ENCODED = [chr(byte) if byte in _IN_KEY else f"%{byte:02X}" for byte in range(0x100)]
_BROKEN = frozenset(map(chr, range(0x20))) - {"\t"} | {"\x7f"}
"""What no value of a header may hold (Go's ``httpguts.ValidHeaderFieldValue``): the backend would refuse it, or worse."""


def identity(user: User) -> Headers:
    """Who asks, as a backend that trusts the front proxy reads it (client-go's ``SetAuthProxyHeaders``)."""
    headers = [("X-Remote-User", user.name)]
    if user.uid:
        headers.append(("X-Remote-Uid", user.uid))
    headers += [("X-Remote-Group", group) for group in user.groups]
    for key, values in user.extra.items():
        name = "X-Remote-Extra-" + "".join([_ENCODED[byte] for byte in key.encode()])
        headers += [(name, value) for value in values]
    return headers


def request_headers(call: Call, host: str, *, upgrade: str = "") -> Headers:
    """What is sent on. ``host``: of the backend, with the port. ``upgrade``: the protocol that is asked for, if one is."""
    dropped = _HOP | _OURS | _named(call.headers.get("connection", ()))
    headers = [("Host", host)]
    for name, values in call.headers.items():
        if name not in dropped and not name.replace("_", "-").startswith(_IDENTITY):
            headers += [(_canonical(name), value) for value in values]
    if upgrade:
        headers += [("Connection", "Upgrade"), ("Upgrade", upgrade)]
    else:
        headers += [
            ("X-Forwarded-Uri", _cleaned(escaped_path(call))),
            ("X-Forwarded-Host", host),
            ("X-Forwarded-Proto", "https"),
        ]
    if not call.peer.loopback:
        before = call.headers.get("x-forwarded-for", ())
        headers.append(("X-Forwarded-For", ", ".join((*before, call.peer.address))))
    headers.append(("Audit-Id", call.audit_id))
    return headers + identity(call.user or User("system:anonymous"))


def request_target(call: Call) -> str:
    """Path and query as Go writes them again: the query's parameters sorted by name."""
    query = urlencode(sorted(call.query.items()), doseq=True) if call.query else ""
    return f"{escaped_path(call)}?{query}" if query else escaped_path(call)


def escaped_path(call: Call) -> str:
    """The decoded path, encoded once more (Go's ``URL.EscapedPath``)."""
    return quote(call.info.path, safe="/$&+,:;=@")


def request_bytes(method: str, target: str, headers: Headers, body: bytes = b"") -> bytes:
    """A whole request. Raises :class:`TransportError` for a value that no header can have."""
    lines = [f"{method} {target} HTTP/1.1\r\n"]
    for name, value in headers:
        if not _BROKEN.isdisjoint(value):
            raise TransportError(f'net/http: invalid header field value for "{name}"')
        lines.append(f"{name}: {value}\r\n")
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body)}\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("utf-8", "replace") + body


def answer_headers(headers: Headers, *, upgraded: bool = False) -> Headers:
    """What of a backend's answer reaches the client; lengths and the like are the listener's business."""
    dropped = (
        _HOP | _CORS | {"content-length"} | _named(value for name, value in headers if name.lower() == "connection")
    )
    if upgraded:
        dropped -= {"upgrade"}
    passed = ((name, name.lower(), value) for name, value in headers)
    return [(_canonical(name), value) for name, lower, value in passed if lower not in dropped]


@lru_cache(maxsize=256)
def _canonical(name: str) -> str:
    """As Go writes names of headers: ``Etag``, ``Content-Type``."""
    return "-".join(part.capitalize() for part in name.split("-"))


def _named(connection: Iterable[str]) -> frozenset[str]:
    return frozenset(name.strip().lower() for value in connection for name in value.split(","))


def _cleaned(path: str) -> str:
    """As Go's ``path.Join`` leaves it, with the slash at the end that was there."""
    clean = posixpath.normpath(path)
    clean = "/" + clean.lstrip("/")
    return clean + "/" if path.endswith("/") and clean != "/" else clean
