"""URLs as ``net/url.Parse`` reads them, with its errors. Splits and compares; knows no fields.

Of hosts in brackets it says only that they are wrong, not why.
"""

from __future__ import annotations

from string import ascii_letters, digits
from typing import Final, NamedTuple

from extapi.api.percent import BadEscape, unescaped
from extapi.api.strconv import only_digits
from extapi.fielderrors import go_quote
from extapi.schema.uri import is_uri

_CONTROL: Final = frozenset(map(chr, (*range(0x20), 0x7F)))
_IN_SCHEME: Final = f"{ascii_letters}{digits}+-."
_IN_USER: Final = f"{ascii_letters}{digits}-._~!$&'()*+,;=:@%"
_IN_HOST: Final = frozenset(f"{ascii_letters}{digits}-_.~!$&'()*+,;=:[]<>\"")


class URLError(ValueError):
    """A URL that Go refuses; the text is Go's."""


class URL(NamedTuple):
    """The parts of a URL, as they were written."""

    scheme: str
    user: str | None
    host: str
    query: str
    fragment: str


def parse_url(text: str) -> URL:
    """Split a URL.

    Raises:
        URLError: It is not valid.
    """
    rest, _, fragment = text.partition("#")
    try:
        url = _parse(rest)
    except URLError as error:
        raise URLError(f"parse {go_quote(rest)}: {error}") from None
    try:
        _unescape(fragment)
    except URLError as error:
        raise URLError(f"parse {go_quote(text)}: {error}") from None
    return url._replace(fragment=fragment)


def _parse(text: str) -> URL:
    if not _CONTROL.isdisjoint(text):
        raise URLError("net/url: invalid control character in URL")
    if text == "*":
        return URL("", None, "", "", "")
    scheme, rest = _scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(scheme, None, "", query, "")
        if ":" in rest.partition("/")[0]:
            raise URLError("first path segment in URL cannot contain colon")
    user, host = None, ""
    if (scheme or not rest.startswith("///")) and rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        user, host = _authority(scheme, authority)
    _unescape(rest)
    return URL(scheme, user, host, query, "")


def _scheme(text: str) -> tuple[str, str]:
    rest = text.lstrip(_IN_SCHEME)
    scheme = text[: len(text) - len(rest)]
    if not rest.startswith(":") or (scheme and scheme[0] not in ascii_letters):
        return "", text
    if not scheme:
        raise URLError("missing protocol scheme")
    return scheme.lower(), rest[1:]


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    user, found, host = authority.rpartition("@")
    _host(scheme, host)
    if found:
        if user.strip(_IN_USER):
            raise URLError("net/url: invalid userinfo")
        _unescape(user)
    return user if found else None, host


def _host(scheme: str, host: str) -> None:
    if host.rfind("[") > 0:
        raise URLError("invalid IP-literal")
    if host.startswith("["):
        if "]" not in host:
            raise URLError("missing ']' in host")
        port = host[host.rfind("]") + 1 :]
        _check_port(port)
        if not is_uri(f"https://{host}"):
            raise URLError("invalid host")
        return
    first = host.find(":")
    if first >= 0:
        _check_port(host[first if scheme in {"http", "https"} else host.rfind(":") :])
    for index, piece in enumerate(host.split("%")):
        if index:
            _unescape(f"%{piece[:2]}")
            if piece[0] in "01234567" and piece[:2] != "25":
                raise URLError(f"invalid URL escape {go_quote('%' + piece[:2])}")
        for char in piece[2:] if index else piece:
            if char.isascii() and char not in _IN_HOST:
                raise URLError(f"invalid character {go_quote(char)} in host name")


def _check_port(port: str) -> None:
    if port and (port[0] != ":" or (len(port) > 1 and not only_digits(port[1:]))):
        raise URLError(f"invalid port {go_quote(port)} after host")


def _unescape(text: str) -> None:
    try:
        unescaped(text.encode("utf-8", "surrogatepass"))
    except BadEscape as error:
        raise URLError(f"invalid URL escape {go_quote(str(error))}") from None
