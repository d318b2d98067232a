"""URIs as ``net/url.ParseRequestURI`` accepts them: absolute, or an absolute path.

Splits and compares, and normalizes nothing: ``urllib.parse`` normalizes hosts that are not ASCII, which takes quadratic
time. Knows no schemas.
"""

from __future__ import annotations

import ipaddress
from string import ascii_letters, digits

from extapi.api.percent import BadEscape, unescaped
from extapi.api.strconv import only_digits

_CONTROL = frozenset(map(chr, (*range(0x20), 0x7F)))
_IN_SCHEME = f"{ascii_letters}{digits}+-."
_IN_USER = f"{ascii_letters}{digits}-._~!$&'()*+,;=:@%"
_IN_HOST = frozenset(f"{ascii_letters}{digits}-_.~!$&'()*+,;=:[]<>\"".encode())
"""ASCII characters of hosts. Others are not allowed even when escaped, except ``%``."""
_STRICT = frozenset({"http", "https"})
"""Schemes whose hosts have no colon but the one before the port."""
_LONGEST_IP = 45


def is_uri(text: str) -> bool:
    """Whether the text is an absolute URI or an absolute path."""
    if not text or not _CONTROL.isdisjoint(text):
        return False
    if text == "*":
        return True
    scheme, rest = _scheme(text)
    if scheme is None:
        return False
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        return bool(scheme)  # opaque, as in urn:a:b
    if scheme and rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        if not _is_authority(scheme.lower(), authority):
            return False
    return _unescaped(rest) is not None


def _scheme(text: str) -> tuple[str | None, str]:
    """The scheme and what follows the colon.

    The scheme is "" if there is none, and None for a colon without a scheme.
    """
    rest = text.lstrip(_IN_SCHEME)
    scheme = text[: len(text) - len(rest)]
    if scheme and scheme[0] not in ascii_letters:
        return "", text
    if rest.startswith(":"):
        return scheme or None, rest[1:]
    return "", text


def _is_authority(scheme: str, authority: str) -> bool:
    user, found, host = authority.rpartition("@")
    if found and (user.strip(_IN_USER) or _unescaped(user) is None):
        return False
    return _is_literal(host) if host.startswith("[") else _is_host(scheme, host)


def _is_host(scheme: str, host: str) -> bool:
    if "[" in host:
        return False
    first = host.find(":")
    port = first if scheme in _STRICT else host.rfind(":")
    return (first < 0 or _is_port(host[port:])) and _host(host) is not None


def _is_literal(host: str) -> bool:
    """An IPv6 address in brackets (RFC 3986, section 3.2.2), with a zone after ``%25`` (RFC 6874), and a port."""
    literal, found, port = host.rpartition("]")
    literal = literal[1:]
    if not found or "[" in literal or not (not port or _is_port(port)):
        return False
    address, mark, zone = literal.partition("%25")
    return _is_ipv6(_host(address) or b"") and (not mark or _is_zone(zone))


def _is_ipv6(address: bytes) -> bool:
    if len(address) > _LONGEST_IP or b"%" in address:
        return False
    try:
        ipaddress.IPv6Address(address.decode("ascii"))
    except ValueError:
        return False
    return True


def _is_zone(zone: str) -> bool:
    """A zone may escape the characters that a host has unescaped, and space and ``%``."""
    start, *escapes = zone.encode("utf-8", "surrogatepass").split(b"%")
    plain = b"".join((start, *(each[2:] for each in escapes)))
    found = _unescaped("".join(f"%{each[:2].decode('latin-1')}" for each in escapes))
    return bool(zone) and _is_plain(plain) and found is not None and _IN_HOST.issuperset(found.translate(None, b" %"))


def _is_plain(text: bytes) -> bool:
    """Whether all ASCII characters are allowed in hosts."""
    return _IN_HOST.issuperset(byte for byte in text if byte < 0x80)


def _is_port(text: str) -> bool:
    return text[0] == ":" and (len(text) == 1 or only_digits(text[1:]))


def _host(text: str) -> bytes | None:
    """A host without its escapes; None if it is not valid. Only ``%`` and what is not ASCII may be escaped."""
    pieces = text.encode("utf-8", "surrogatepass").split(b"%")
    for index, piece in enumerate(pieces):
        if index and piece[:1] not in _HIGH and piece[:2] != b"25":
            return None
        if not _is_plain(piece[2:] if index else piece):
            return None
    return _unescaped(text)


_HIGH = frozenset((b"8", b"9", b"a", b"b", b"c", b"d", b"e", b"f", b"A", b"B", b"C", b"D", b"E", b"F"))
"""The first digits of escapes of non-ASCII bytes."""


def _unescaped(text: str) -> bytes | None:
    try:
        return unescaped(text.encode("utf-8", "surrogatepass"))
    except BadEscape:
        return None
