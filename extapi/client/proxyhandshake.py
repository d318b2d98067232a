"""The handshake with a proxy that is to connect to a server: CONNECT (RFC 9110, 9.3.6) or SOCKS5 (RFC 1928, RFC 1929).

Reads and writes through a :class:`ProxyStream`. Must not know sockets, nor what travels afterwards.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from typing import Protocol

from extapi.client.authority import authority
from extapi.client.proxy import ProxyURL

HEAD = 64 * 1024
"""Bytes of the head of a proxy's answer."""

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/1\.\d ([1-9]\d\d)(?: ([^\r\n]*))?\r?\n")
_CHALLENGE = re.compile(rb"(?im)^proxy-authenticate:([^\r\n]*)")
_BUSY = (429, 503)
_SAID = 60
"""Characters of what a proxy said that go into a message."""

_NO_PASSWORD, _PASSWORD = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_REFUSALS = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "TTL expired",
    7: "command not supported",
    8: "address type not supported",
}
"""The replies of RFC 1928, 6."""


class ProxyHandshakeError(Exception):
    """The proxy does not connect us; the text goes on after "the proxy"."""


class ProxyBusyError(ProxyHandshakeError):
    """The proxy has no room for another connection now."""


class ProxyStream(Protocol):
    """The connection to a proxy."""

    def write(self, data: bytes) -> None:
        """Send."""
        ...

    async def exactly(self, size: int) -> bytes:
        """The next ``size`` bytes.

        Raises:
            ProxyHandshakeError: They do not come.
        """
        ...

    async def head(self, pattern: re.Pattern[bytes], limit: int, start: bytes) -> bytes:
        """What comes up to ``pattern``, with it; nothing beyond is taken.

        Raises:
            ProxyHandshakeError: It does not come within ``limit`` bytes, or does not begin with ``start``.
        """
        ...


async def connect(stream: ProxyStream, proxy: ProxyURL, host: str, port: int) -> None:
    """Have an HTTP proxy connect to ``host``, a name or an IP address.

    Raises:
        ProxyHandshakeError: It does not.
    """
    where = authority(host, port)
    fields = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
    if any(proxy.login):
        fields.append(f"Proxy-Authorization: Basic {base64.b64encode(b':'.join(proxy.login)).decode()}")
    stream.write("".join(f"{field}\r\n" for field in (*fields, "")).encode())
    head = await stream.head(_HEAD_END, HEAD, b"HTTP/")
    status = _STATUS.match(head)
    if status is None:
        raise ProxyHandshakeError(f"answered CONNECT {where} with no HTTP/1.1: {said(head)}")
    code, reason = int(status[1]), _printable(status[2] or b"")
    # RFC 9110, 9.3.6: any 2xx opens the tunnel, and has no body whatever its fields say.
    if not 200 <= code < 300:
        kind = ProxyBusyError if code in _BUSY else ProxyHandshakeError
        wanted = f"; {_login_advice(proxy, head)}" if code == 407 else ""
        raise kind(f"answered CONNECT {where} with {f'{code} {reason}'.strip()}{wanted}")


async def socks5(stream: ProxyStream, proxy: ProxyURL, host: str, port: int) -> None:
    """Have a SOCKS5 proxy connect to ``host``; a name is the proxy's to resolve.

    Raises:
        ProxyHandshakeError: It does not.
    """
    named = bool(proxy.username)
    stream.write(bytes([5, 2, _NO_PASSWORD, _PASSWORD] if named else [5, 1, _NO_PASSWORD]))
    version, method = await stream.exactly(2)
    _check(version, 5)
    if method == _PASSWORD and named:
        user, password = proxy.login
        stream.write(bytes([1, len(user)]) + user + bytes([len(password)]) + password)
        version, status = await stream.exactly(2)
        _check(version, 1)
        if status != 0:
            raise ProxyHandshakeError("refused user and password")
    elif method != _NO_PASSWORD:
        raise ProxyHandshakeError(
            "takes none of our ways to log in" if named else "wants a user and a password in its URL"
        )
    stream.write(b"\x05\x01\x00" + _address(host) + port.to_bytes(2, "big"))
    version, reply, _, kind = await stream.exactly(4)
    _check(version, 5)
    if reply != 0:
        why = _REFUSALS.get(reply, f"reply {reply}")
        raise ProxyHandshakeError(f"did not connect to {authority(host, port)}: {why}")
    if kind not in (_IPV4, _NAME, _IPV6):
        raise ProxyHandshakeError(f"answered with an address of the unknown type {kind}")
    # Where it connected from: of no interest, but it has to be taken.
    size = {_IPV4: 4, _IPV6: 16}.get(kind) or (await stream.exactly(1))[0]
    await stream.exactly(size + 2)


def _login_advice(proxy: ProxyURL, head: bytes) -> str:
    """What to do about 407 (RFC 9110, 11.7.1). A challenge names its scheme first; those of one header follow commas."""
    challenges = b",".join(_CHALLENGE.findall(head)).decode("latin-1").split(",")
    schemes = [word for each in challenges if (word := each.strip().partition(" ")[0]) and "=" not in word]
    if schemes and "basic" not in map(str.lower, schemes):
        return (
            f"it wants {_printable(' or '.join(schemes).encode())}, and only Basic is supported: let it take Basic, or this host "
            "without a login"
        )
    if proxy.username:
        return "it does not take the user and password in its URL"
    return "its URL has to hold a user and a password"


def said(data: bytes) -> str:
    """The beginning of what a proxy said, for a message."""
    return repr(data[:_SAID].decode("latin-1"))


def _printable(data: bytes) -> str:
    return "".join(each for each in data.decode("utf-8", "replace") if each.isprintable())[:_SAID].strip()


def _check(version: int, wanted: int) -> None:
    if version != wanted:
        raise ProxyHandshakeError(f"does not speak SOCKS5: it answered with version {version} instead of {wanted}")


def _address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode()  # at most 253 bytes: that is what DNS allows, and what a URL is held to
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if address.version == 4 else _IPV6]) + address.packed
