"""The values of literals."""

from __future__ import annotations

import math
import re
from typing import Final

from extapi.schema.cel.values.values import INT_MAX, INT_MIN, UINT_MAX, UInt

_DIGITS: Final = 20
"""More digits, without leading zeros, are too large for 64 bits."""

_SAFE_DIGITS: Final = 19
"""Fewer digits fit into 64 bits."""
_LAST_CHARACTER: Final = 0x10FFFF
_SIMPLE: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    '"': '"',
    "'": "'",
    "\\": "\\",
    "?": "?",
    "`": "`",
}
_HEX: Final = "[0-9a-fA-F]"
_ESCAPE: Final = re.compile(rf"\\(?:[xX]({_HEX}{{2}})|u({_HEX}{{4}})|U({_HEX}{{8}})|([0-3][0-7]{{2}})|(.))")


class LiteralError(ValueError):
    """A literal without a value. ``str`` is cel-go's text."""


def read_int(text: str) -> int:
    """The value of an int's text, which may begin with a minus.

    Raises:
        LiteralError: It has more than 64 bits.

    Source: ``cel-go/parser`` VisitInt.
    """
    if len(text) < _SAFE_DIGITS and text.isdecimal():
        return int(text)
    negative = text.startswith("-")
    value = _natural(text[1:] if negative else text)
    if value is not None:
        value = -value if negative else value
        if INT_MIN <= value <= INT_MAX:
            return value
    raise LiteralError("invalid int literal")


def read_uint(text: str) -> UInt:
    """The value of a uint's text, with its u.

    Raises:
        LiteralError: It has more than 64 bits.

    Source: ``cel-go/parser`` VisitUint.
    """
    value = _natural(text[:-1])
    if value is None or value > UINT_MAX:
        raise LiteralError("invalid uint literal")
    return UInt(value)


def read_double(text: str) -> float:
    """The value of a double's text, which may begin with a minus.

    Raises:
        LiteralError: It is larger than any double.

    Source: ``cel-go/parser`` VisitDouble.
    """
    value = float(text)
    if math.isinf(value):
        raise LiteralError("invalid double literal")
    return value


def _natural(text: str) -> int | None:
    """The number, or None if it is too large. Python takes quadratic time for long ones, or refuses them."""
    base = 10
    if text.startswith("0x"):
        base = 16
        text = text[2:]
    if len(text) > _DIGITS:
        text = text.lstrip("0") or "0"
        if len(text) > _DIGITS:
            return None
    return int(text, base)


def read_string(text: str) -> str:
    """The value of a string's text.

    Raises:
        LiteralError: An escape is not that of a character.

    Source: ``cel-go/parser`` unescape.
    """
    raw, body = _body(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_character, body)


def read_bytes(text: str) -> bytes:
    """The value of a bytes literal's text.

    Raises:
        LiteralError: It has an escape with u or U, which are for characters.

    Source: ``cel-go/parser`` unescape.
    """
    raw, body = _body(text[1:])
    if raw or "\\" not in body:
        return _encode(body)
    parts: list[bytes] = []
    end = 0
    for match in _ESCAPE.finditer(body):
        parts.append(_encode(body[end : match.start()]))
        end = match.end()
        byte, short, long, octal, simple = match.groups()
        if short is not None or long is not None:
            raise LiteralError("unable to unescape string")
        parts.append(_SIMPLE[simple].encode() if simple else bytes((int(byte, 16) if byte else int(octal, 8),)))
    parts.append(_encode(body[end:]))
    return b"".join(parts)


def _character(match: re.Match[str]) -> str:
    byte, short, long, octal, simple = match.groups()
    if simple is not None:
        return _SIMPLE[simple]
    code = int(octal, 8) if octal is not None else int(byte or short or long, 16)
    if code > _LAST_CHARACTER or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _encode(text: str) -> bytes:
    """UTF-8; half a surrogate pair, which JSON can bring, is what Go reads it as."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _body(text: str) -> tuple[bool, str]:
    """Whether the string is raw, and what stands between its quotes, with newlines made uniform."""
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if len(text) >= 6 and text[:3] in {'"""', "'''"} else 1
    body = text[quotes:-quotes]
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    return raw, body
