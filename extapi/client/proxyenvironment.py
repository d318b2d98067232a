"""Which proxy the environment names for a server: ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY``, as Go reads them.

client-go asks the environment where a kubeconfig has no ``proxy-url``, and in a pod. The rules are those of
golang.org/x/net/http/httpproxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from extapi.client.proxy import ProxyError, ProxyURL, parse_proxy

_VARIABLES = {"https": ("HTTPS_PROXY", "https_proxy"), "http": ("HTTP_PROXY", "http_proxy")}
_PORTS = {"https": 443, "http": 80}

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def environment_proxy(server: str, environ: Mapping[str, str]) -> ProxyURL | None:
    """The proxy for ``server``, a URL; None: connect to it.

    Raises:
        ProxyError: The environment names no URL of a proxy; the text names the variable.
    """
    split = urlsplit(server)
    variable = next((name for name in _VARIABLES.get(split.scheme, ()) if environ.get(name)), None)
    if variable is None or not split.hostname:
        return None
    exceptions = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if not _wanted(_ascii(split.hostname), split.port or _PORTS[split.scheme], exceptions):
        return None
    try:
        return parse_proxy(_completed(environ[variable]))
    except ProxyError as error:
        raise ProxyError(f"the environment variable {variable} {error}") from error


def _completed(value: str) -> str:
    """``host``, ``host:port`` and ``user:password@host`` are those of an HTTP proxy."""
    try:
        split = urlsplit(value)
    except ValueError:
        return value  # parsing it again says what is wrong
    if not split.scheme or not split.netloc:
        return f"http://{value}"
    # Names are the proxy's to resolve either way.
    return f"socks5{value[7:]}" if split.scheme == "socks5h" else value


def _wanted(host: str, port: int, exceptions: str) -> bool:
    """Whether ``NO_PROXY`` lets requests to a host (in lower case) and port go through a proxy. This host never does."""
    address = _address(host.partition("%")[0])  # without the zone
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    entries = [each for entry in exceptions.split(",") if (each := entry.strip().lower())]
    return "*" not in entries and not any(_matches(entry, host, port, address) for entry in entries)


def _matches(entry: str, host: str, port: int, address: _Address | None) -> bool:
    """Whether one entry of ``NO_PROXY`` is about the host; ``address``: what the host is, if not a name."""
    network = _network(entry)
    if network is not None:
        return address is not None and address in network
    name, its_port = _host_port(entry)
    if not name or its_port not in ("", str(port)):
        return False
    if (single := _address(name)) is not None:
        return single == address
    if address is not None:
        return False
    name = _ascii(name.removeprefix("*") if name.startswith("*.") else name)
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _host_port(entry: str) -> tuple[str, str]:
    """Host and port of ``host``, ``host:port`` and ``[address]:port``; an IPv6 address alone stands without brackets."""
    host, colon, port = entry.rpartition(":")
    if not colon:
        return entry, ""
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1], port
    return (entry, "") if ":" in host or "]" in port else (host, port)


def _address(text: str) -> _Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    # Go takes an IPv4 address and its form in IPv6 for the same.
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    _, slash, bits = entry.partition("/")
    if not slash or not bits.isdecimal():  # Go knows no netmasks here
        return None
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None


def _ascii(name: str) -> str:
    """A name as DNS has it; one that cannot be put so stays."""
    try:
        return name if name.isascii() else ".".join(label.encode("idna").decode() for label in name.split("."))
    except UnicodeError:
        return name
