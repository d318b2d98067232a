"""URLs as Go's ``net/url`` reads them, with its error texts.

Works on bytes, since escapes may stand for bytes that are not UTF-8. :mod:`extapi.schema.uri` knows which URLs are
valid; this also knows their parts, and what is wrong with others.

Source: ``net/url`` Parse, ParseRequestURI and URL.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits, hexdigits
from typing import Final, NamedTuple

from extapi.api.percent import BadEscape, unescaped
from extapi.api.strconv import only_digits
from extapi.errors import go_quote
from extapi.schema.cel.library.addresses import AddressError, parse_address

_CONTROL: Final = bytes((*range(0x20), 0x7F))
_PLAIN: Final = f"{ascii_letters}{digits}-_.~".encode()
_IN_PATH: Final = _PLAIN + b"$&+,/:;=@"
_IN_HOST: Final = _PLAIN + b"!$&'()*+,;=:[]<>\""
_IN_FRAGMENT: Final = _PLAIN + b"$&+,/:;=?@!()*"
_IN_USER: Final = _PLAIN + b"$&+,;="
_ALSO_VALID: Final = b"!$&'()*+,;=:@[]%"
"""What a path or a fragment may have as it is, although Go would escape some of it."""
_IN_SCHEME: Final = f"{ascii_letters}{digits}+-."
_IN_USERINFO: Final = _PLAIN + b":!$&'()*+,;=%@"
_HEX: Final = frozenset(hexdigits.encode())
_NOT_UTF8: Final = re.compile(r"\\udc([89a-f][0-9a-f])")
_MOST_PARAMETERS: Final = 10_000


class _Problem(ValueError):
    """What is wrong with a URL, without the URL."""


class URLError(ValueError):
    """Text that is no URL. ``str`` is Go's text."""

    def __init__(self, text: str, problem: object) -> None:
        super().__init__(f"parse {go_quote(text)}: {problem}")


class ParsedURL(NamedTuple):
    """The parts of a URL, of which some are not there. Bytes have their escapes resolved."""

    scheme: str = ""
    opaque: str = ""
    user: tuple[bytes, bytes | None] | None = None
    """Name and password."""
    host: bytes = b""
    path: bytes = b""
    raw_path: bytes = b""
    """The path as it was written, if Go would write it otherwise."""
    fragment: bytes = b""
    raw_fragment: bytes = b""
    raw_query: str = ""
    force_query: bool = False
    """Whether there is a question mark, and no query."""
    omit_host: bool = False

    def escaped_path(self) -> str:
        """The path with escapes, as it was written if that is valid."""
        if self.raw_path and not self.raw_path.translate(None, _IN_PATH + _ALSO_VALID):
            return text_of(self.raw_path)
        return "*" if self.path == b"*" else _escaped(self.path, _IN_PATH)

    def escaped_fragment(self) -> str:
        """The fragment with escapes, as it was written if that is valid."""
        if self.raw_fragment and not self.raw_fragment.translate(None, _IN_FRAGMENT + _ALSO_VALID):
            return text_of(self.raw_fragment)
        return _escaped(self.fragment, _IN_FRAGMENT)

    def hostname_and_port(self) -> tuple[str, str]:
        """The host without port and brackets, and the port without its colon."""
        host, colon, port = text_of(self.host).rpartition(":")
        if not colon or (port and not only_digits(port)):
            host, port = text_of(self.host), ""
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        return host, port

    def query(self) -> dict[str, list[str]]:
        """The parameters, without those that are malformed; none at all if there are too many."""
        found: dict[str, list[str]] = {}
        parts = self.raw_query.split("&")
        if len(parts) > _MOST_PARAMETERS:
            return found
        for part in parts:
            if not part or ";" in part:
                continue
            name, _, value = part.replace("+", " ").partition("=")
            try:
                key, item = (text_of(unescaped(each.encode(errors="surrogatepass"))) for each in (name, value))
            except BadEscape:
                continue
            found.setdefault(key, []).append(item)
        return found

    def user_information(self) -> str:
        """The user with escapes, and the password behind a colon; empty if there is none."""
        if self.user is None:
            return ""
        name, password = self.user
        return _escaped(name, _IN_USER) + ("" if password is None else f":{_escaped(password, _IN_USER)}")

    def __str__(self) -> str:
        """The URL, assembled again."""
        parts = [f"{self.scheme}:" if self.scheme else ""]
        if self.opaque:
            parts.append(self.opaque)
        else:
            parts.append(self._authority())
            path = self.escaped_path()
            if path and path[0] != "/" and self.host:
                path = f"/{path}"
            if not any(parts) and ":" in path.partition("/")[0]:
                path = f"./{path}"
            parts.append(path)
        if self.force_query or self.raw_query:
            parts.append(f"?{self.raw_query}")
        if self.fragment:
            parts.append(f"#{self.escaped_fragment()}")
        return "".join(parts)

    def _authority(self) -> str:
        if not (self.scheme or self.host or self.user):
            return ""
        if self.omit_host and not self.host and self.user is None:
            return ""
        found = "//" if self.host or self.path or self.user is not None else ""
        if self.user is not None:
            found += f"{self.user_information()}@"
        return found + _escaped(self.host, _IN_HOST)


def text_of(data: bytes) -> str:
    """Text, with U+FFFD for what is not UTF-8."""
    return data.decode("utf-8", "replace")


def _escaped(data: bytes, plain: bytes) -> str:
    if not data.translate(None, plain):
        return data.decode("ascii")
    return "".join(chr(each) if each in plain else f"%{each:02X}" for each in data)


def parse_url(text: str) -> ParsedURL:
    """Read a URL, which may be relative.

    Raises:
        URLError: It is none.
    """
    rest, _, fragment = text.partition("#")
    url = _parsed(rest, rest, request=False)
    if not fragment:
        return url
    raw = fragment.encode(errors="surrogatepass")
    try:
        plain = _unescaped(raw)
    except _Problem as problem:
        raise URLError(text, problem) from None
    same = _escaped(plain, _IN_FRAGMENT).encode() == raw
    return url._replace(fragment=plain, raw_fragment=b"" if same else raw)


def uri_problem(text: str) -> str | None:
    """What is wrong with an absolute URI or an absolute path, which has no fragment.

    Source: ``net/url`` ParseRequestURI.
    """
    try:
        _parsed(text, text, request=True)
    except URLError as error:
        return str(error)
    return None


def _parsed(text: str, quoted: str, *, request: bool) -> ParsedURL:
    try:
        return _parse(text, request=request)
    except (_Problem, AddressError) as problem:
        raise URLError(quoted, problem) from None


def _parse(text: str, *, request: bool) -> ParsedURL:
    if len(text.encode(errors="surrogatepass").translate(None, _CONTROL)) != len(text.encode(errors="surrogatepass")):
        raise _Problem("net/url: invalid control character in URL")
    if not text and request:
        raise _Problem("empty url")
    if text == "*":
        return ParsedURL(path=b"*")
    scheme, rest = _scheme(text)
    scheme = scheme.lower()
    force_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    url = ParsedURL(scheme=scheme, raw_query=query, force_query=force_query)
    if not rest.startswith("/"):
        if scheme:
            return url._replace(opaque=rest)
        if request:
            raise _Problem("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise _Problem("first path segment in URL cannot contain colon")
    if (scheme or (not request and not rest.startswith("///"))) and rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        user, host = _authority(scheme, authority)
        url = url._replace(user=user, host=host)
    elif scheme and rest.startswith("/"):
        url = url._replace(omit_host=True)
    raw = rest.encode(errors="surrogatepass")
    path = _unescaped(raw)
    same = _escaped(path, _IN_PATH).encode() == raw
    return url._replace(path=path, raw_path=b"" if same else raw)


def _scheme(text: str) -> tuple[str, str]:
    """The scheme, or nothing, and what follows its colon."""
    rest = text.lstrip(_IN_SCHEME)
    length = len(text) - len(rest)
    if length and text[0] not in ascii_letters:
        return "", text
    if not rest.startswith(":"):
        return "", text
    if not length:
        raise _Problem("missing protocol scheme")
    return text[:length], rest[1:]


def _authority(scheme: str, authority: str) -> tuple[tuple[bytes, bytes | None] | None, bytes]:
    info, at, host = authority.rpartition("@")
    found = _host(scheme, host)
    if not at:
        return None, found
    raw = info.encode(errors="surrogatepass")
    if raw.translate(None, _IN_USERINFO):
        raise _Problem("net/url: invalid userinfo")
    name, colon, password = raw.partition(b":")
    return (_unescaped(name), _unescaped(password) if colon else None), found


def _host(scheme: str, host: str) -> bytes:
    bracket = host.rfind("[")
    if bracket > 0:
        raise _Problem("invalid IP-literal")
    if bracket == 0:
        return _literal(host)
    if ":" in host:
        start = host.find(":") if scheme in {"http", "https"} else host.rfind(":")
        _check_port(host[start:])
    return _unescaped_host(host)


def _literal(host: str) -> bytes:
    """An address in brackets (RFC 3986, section 3.2.2), with a zone after ``%25`` (RFC 6874), and a port."""
    end = host.rfind("]")
    if end < 0:
        raise _Problem("missing ']' in host")
    _check_port(host[end + 1 :])
    name = host[1:end]
    start = name.find("%25")
    if start < 0:
        plain = _unescaped_host(name)
    else:
        plain = _unescaped_host(name[:start]) + _unescaped_host(name[start:], zone=True)
    try:
        _, bits, _ = parse_address(text_of(plain))
    except AddressError as error:
        raise _Problem(f"invalid host: {error}") from None
    if bits == 32:
        raise _Problem("invalid IP-literal")
    return b"[" + plain + b"]" + host[end + 1 :].encode()


def _check_port(text: str) -> None:
    if text and (text[0] != ":" or (len(text) > 1 and not only_digits(text[1:]))):
        raise _Problem(f"invalid port {go_quote(text)} after host")


def _unescaped(data: bytes) -> bytes:
    try:
        return unescaped(data)
    except BadEscape:
        at = data.find(b"%")
        while len(data) > at + 2 and _HEX.issuperset(data[at + 1 : at + 3]):
            at = data.find(b"%", at + 3)
        raise _Problem(f"invalid URL escape {_quoted(data[at : at + 3])}") from None


def _quoted(data: bytes) -> str:
    """Bytes as Go's ``%q`` prints them, which may not be UTF-8."""
    shown = go_quote(data.decode(errors="surrogateescape"))
    return _NOT_UTF8.sub(r"\\x\1", shown)


def _unescaped_host(text: str, *, zone: bool = False) -> bytes:
    """A host without its escapes, of which only those of ``%`` and of bytes that are not ASCII are allowed.

    A zone may escape what a host may have without escapes, and spaces.
    """
    data = text.encode(errors="surrogatepass")
    index = 0
    while index < len(data):
        each = data[index]
        if each != 0x25:
            if each < 0x80 and each not in _IN_HOST:
                raise _Problem(f"invalid character {go_quote(chr(each))} in host name")
            index += 1
            continue
        escape = data[index : index + 3]
        byte = _unescaped(escape)[0]
        if escape != b"%25":
            allowed = byte == 0x20 or byte in _IN_HOST if zone else byte >= 0x80
            if not allowed:
                raise _Problem(f"invalid URL escape {go_quote(escape.decode())}")
        index += 3
    return unescaped(data)
