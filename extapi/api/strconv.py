"""Digits in text: integers as Go's ``strconv`` reads them, with its error texts, and forms that are made of digits.

ASCII digits only, however many zeros precede them, within 64 bits. Python's ``int`` is no substitute: it reads more
(spaces, underscores, digits of any script), and raises after 4,300 digits, which made a 500 of a resourceVersion.
Source: ``strconv.ParseInt`` and ``ParseUint`` with base 10 and 64 bits.
"""

from __future__ import annotations

from extapi.errors import go_quote

__all__ = ["has_form", "only_digits", "parse_int", "parse_uint"]

_DIGITS = 20
"""Digits of the longest integer of 64 bits; zeros before it do not count."""


def parse_int(text: str) -> int:
    """An int64. Raises ``ValueError`` with Go's text."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    number = _number(text, digits, "ParseInt")
    if text.startswith("-"):
        number = -number
    if not -(2**63) <= number < 2**63:
        raise _error("ParseInt", text, "value out of range")
    return number


def parse_uint(text: str) -> int:
    """A uint64; a sign is none of its syntax. Raises ``ValueError`` with Go's text."""
    number = _number(text, text, "ParseUint")
    if number >= 2**64:
        raise _error("ParseUint", text, "value out of range")
    return number


def only_digits(text: str) -> bool:
    """Whether there are digits from 0 to 9 and nothing else."""
    return text.isascii() and text.isdigit()


def has_form(text: str, form: bytes) -> bool:
    """Whether the text is ``form``, with any digits in place of its zeros."""
    return len(text) == len(form) and text.isascii() and text.encode().translate(_AS_ZEROS) == form


_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")


def _number(text: str, digits: str, function: str) -> int:
    if not only_digits(digits):
        raise _error(function, text, "invalid syntax")
    if len(digits) > _DIGITS:
        digits = digits.lstrip("0") or "0"
        if len(digits) > _DIGITS:
            raise _error(function, text, "value out of range")
    return int(digits)


def _error(function: str, text: str, why: str) -> ValueError:
    return ValueError(f"strconv.{function}: parsing {go_quote(text)}: {why}")
