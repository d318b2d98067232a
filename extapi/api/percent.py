"""Percent-encoding (RFC 3986, section 2.1), undone as Go's ``net/url`` undoes it: an escape without two digits is an error.

Knows bytes; what they mean, and which of them a place allows, is the caller's to know.
"""

from __future__ import annotations

from string import hexdigits


class BadEscape(ValueError):
    """``%`` without two hexadecimal digits; the text is ``%`` and the two bytes after it, as far as there are any."""


def unescaped(text: bytes) -> bytes:
    """``text`` with each escape replaced by its byte. Raises :class:`BadEscape`."""
    start, *rest = text.split(b"%")
    pieces = [start]
    for at, piece in enumerate(rest):
        byte = _BYTES.get(piece[:2])
        if byte is None:
            follows = b"%".join(rest[at : at + 3])[:2]
            raise BadEscape(f"%{follows.decode('utf-8', 'replace')}")
        pieces += (byte, piece[2:])
    return b"".join(pieces)


def unescaped_leniently(text: str) -> str:
    """``text`` decoded, with U+FFFD for what is no UTF-8 then; as it is where an escape is broken."""
    if "%" not in text:
        return text
    try:
        return unescaped(text.encode()).decode("utf-8", "replace")
    except BadEscape:
        return text


_BYTES = {(high + low).encode(): bytes((int(high + low, 16),)) for high in hexdigits for low in hexdigits}
