"""Percent-decoding (RFC 3986, section 2.1) as Go's ``net/url`` does it: an escape without two digits is an error.

Knows only bytes: what they mean, and which of them are allowed, is up to the caller.
"""

from __future__ import annotations

from string import hexdigits


class BadEscape(ValueError):
    """``%`` without two hexadecimal digits. The text is ``%`` and the two bytes after it, as far as there are any."""


def unescaped(text: bytes) -> bytes:
    """``text`` with each escape replaced by its byte.

    Raises:
        BadEscape: An escape has no two digits.
    """
    start, *rest = text.split(b"%")
    try:
        return start + b"".join([_BYTES[piece[:2]] + piece[2:] for piece in rest])
    except KeyError:
        at = next(at for at, piece in enumerate(rest) if piece[:2] not in _BYTES)
        follows = b"%".join(rest[at : at + 3])[:2]
        raise BadEscape(f"%{follows.decode('utf-8', 'replace')}") from None


def unescaped_leniently(text: str) -> str:
    """``text`` decoded, with U+FFFD for what is not UTF-8; unchanged if an escape is broken."""
    if "%" not in text:
        return text
    try:
        return unescaped(text.encode()).decode("utf-8", "replace")
    except BadEscape:
        return text


_BYTES = {(high + low).encode(): bytes((int(high + low, 16),)) for high in hexdigits for low in hexdigits}
