"""Digits in text: integers as Go's ``strconv`` reads them, with its error texts, and patterns made of digits.

Integers have ASCII digits only, any number of leading zeros, and fit into 64 bits. Python's ``int`` is no substitute:
it accepts more (spaces, underscores, digits of any script) and raises after 4,300 digits.

Source: ``strconv.ParseInt`` and ``ParseUint`` with base 10 and 64 bits.
"""

from __future__ import annotations

from extapi.errors import go_quote

__all__ = ["has_pattern", "only_digits", "parse_int", "parse_uint"]

_DIGITS = 20
"""Digits of the longest 64-bit integer, without leading zeros."""


def parse_int(text: str) -> int:
    """Read an int64.

    Raises:
        ValueError: The text is not one; the message is Go's.
    """
    digits = text[1:] if text[:1] in {"+", "-"} else text
    number = _number(text, digits, "ParseInt")
    if text.startswith("-"):
        number = -number
    if not -(2**63) <= number < 2**63:
        raise _error("ParseInt", text, "value out of range")
    return number


def parse_uint(text: str) -> int:
    """Read a uint64, which has no sign.

    Raises:
        ValueError: The text is not one; the message is Go's.
    """
    number = _number(text, text, "ParseUint")
    if number >= 2**64:
        raise _error("ParseUint", text, "value out of range")
    return number


def only_digits(text: str) -> bool:
    """Whether the text has digits from 0 to 9, and nothing else."""
    return text.isascii() and text.isdigit()


def has_pattern(text: str, pattern: bytes) -> bool:
    """Whether the text is ``pattern`` with any digits in place of its zeros."""
    return len(text) == len(pattern) and text.isascii() and text.encode().translate(_AS_ZEROS) == pattern


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
