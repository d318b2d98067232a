"""The proxy between a client and a server: what its URL says.

Must not know who names it (a kubeconfig, or the environment: ``proxyenvironment``) or how it is asked (``tunnel``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from extapi.client.authority import authority

_PORTS = {"http": 80, "https": 443, "socks5": 1080}
_BYTES = "surrogateescape"
"""How bytes that are no UTF-8 are kept in texts."""
_WORD = 255
"""Bytes of a user name or a password in SOCKS5 (RFC 1929)."""


class ProxyError(ValueError):
    """That is no URL of a proxy. The text does not repeat it: it may hold a password."""


@dataclass(frozen=True, slots=True)
class ProxyURL:
    """One proxy. As text it is its URL without user and password, for messages."""

    scheme: str
    """``http``, ``https`` (both are asked to CONNECT) or ``socks5``."""
    host: str
    """A name or an IP address, the latter without brackets."""
    port: int
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def login(self) -> tuple[bytes, bytes]:
        """User and password, byte for byte what the URL's percent-encoding stood for; not every proxy takes UTF-8."""
        return self.username.encode(errors=_BYTES), self.password.encode(errors=_BYTES)

    def __str__(self) -> str:
        return f"{self.scheme}://{authority(self.host, self.port)}"


def parse_proxy(url: str) -> ProxyURL:
    """The proxy of a URL such as ``http://user:password@proxy.example.com:3128``.

    Schemes and default ports are those of client-go's clientcmd and of Go's net/http.

    Raises:
        ProxyError: It is no such URL.
    """
    try:
        split = urlsplit(url)
        scheme, host, port = split.scheme, split.hostname, split.port
    except ValueError as error:
        raise ProxyError("is no URL, such as http://proxy.example.com:3128") from error
    if scheme not in _PORTS:
        # Without "//" what stands before the colon may be anything.
        found = f' "{scheme}"' if split.netloc else ""
        raise ProxyError(f"has an unsupported scheme{found}, must be http, https, or socks5")
    if not host or " " in host:
        raise ProxyError("names no host, such as http://proxy.example.com:3128 does")
    username, password = (unquote(word or "", errors=_BYTES) for word in (split.username, split.password))
    proxy = ProxyURL(scheme, host, port or _PORTS[scheme], username, password)
    if scheme == "socks5" and any(proxy.login) and (not username or max(map(len, proxy.login)) > _WORD):
        raise ProxyError(f"needs a user, and neither user nor password of more than {_WORD} bytes (RFC 1929)")
    return proxy
