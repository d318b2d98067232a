"""IP addresses as ``net/netip`` reads and writes them, with its error texts.

Python's ``ipaddress`` says other things about what is wrong, and accepts less: no zone with every character, for one.
Numbers are those of the whole address.

Source: ``net/netip`` ParseAddr and Addr.String.
"""

from __future__ import annotations

import re
from string import hexdigits
from typing import Final

from extapi.errors import go_quote

_HEX: Final = frozenset(hexdigits)
_FIRST: Final = re.compile("[.:%]")
_DIGITS: Final = frozenset("0123456789")


class AddressError(ValueError):
    """Text that is no address. ``str`` is Go's text."""

    def __init__(self, text: str, reason: str, at: str = "") -> None:
        super().__init__(f"ParseAddr({go_quote(text)}): {reason}{f' (at {go_quote(at)})' if at else ''}")


def parse_address(text: str) -> tuple[int, int, str]:
    """The number of an address, how many bits it has (32 or 128), and its zone.

    Raises:
        AddressError: It is no address.
    """
    char = _FIRST.search(text)
    if char is None:
        raise AddressError(text, "unable to parse IP")
    if char[0] == ".":
        return _ipv4(text, text), 32, ""
    if char[0] == ":":
        number, zone = _ipv6(text)
        return number, 128, zone
    raise AddressError(text, "missing IPv6 address")


def _ipv4(whole: str, text: str) -> int:
    """The number of four fields; ``whole`` is what errors quote."""
    number = value = digits = fields = 0
    for index, char in enumerate(text):
        if char in _DIGITS:
            if digits == 1 and value == 0:
                raise AddressError(whole, "IPv4 field has octet with leading zero")
            value = value * 10 + int(char)
            digits += 1
            if value > 255:
                raise AddressError(whole, "IPv4 field has value >255")
        elif char == ".":
            if index in {0, len(text) - 1} or text[index - 1] == ".":
                raise AddressError(whole, "IPv4 field must have at least one digit", text[index:])
            if fields == 3:
                raise AddressError(whole, "IPv4 address too long")
            number = number << 8 | value
            fields += 1
            value = digits = 0
        else:
            raise AddressError(whole, "unexpected character", text[index:])
    if fields < 3:
        raise AddressError(whole, "IPv4 address too short")
    return number << 8 | value


def _ipv6(whole: str) -> tuple[int, str]:
    text, mark, zone = whole.partition("%")
    if mark and not zone:
        raise AddressError(whole, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = -1
    if text.startswith("::"):
        ellipsis = 0
        text = text[2:]
        if not text:
            return 0, zone
    while len(groups) < 8:
        length = _group(whole, text)
        if text[length : length + 1] == ".":
            if ellipsis < 0 and len(groups) != 6:
                raise AddressError(whole, "embedded IPv4 address must replace the final 2 fields of the address", text)
            if len(groups) > 6:
                raise AddressError(whole, "too many hex fields to fit an embedded IPv4 at the end of the address", text)
            number = _ipv4(whole, text)
            groups += (number >> 16, number & 0xFFFF)
            text = ""
            break
        groups.append(int(text[:length], 16))
        text = text[length:]
        if not text:
            break
        if text[0] != ":":
            raise AddressError(whole, "unexpected character, want colon", text)
        if len(text) == 1:
            raise AddressError(whole, "colon must be followed by more characters", text)
        text = text[1:]
        if text[0] == ":":
            if ellipsis >= 0:
                raise AddressError(whole, "multiple :: in address", text)
            ellipsis = len(groups)
            text = text[1:]
            if not text:
                break
    if text:
        raise AddressError(whole, "trailing garbage after address", text)
    if len(groups) < 8:
        if ellipsis < 0:
            raise AddressError(whole, "address string too short")
        groups[ellipsis:ellipsis] = [0] * (8 - len(groups))
    elif ellipsis >= 0:
        raise AddressError(whole, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << 16 | group
    return number, zone


def _group(whole: str, text: str) -> int:
    """How many hexadecimal digits stand at the start of ``text``."""
    length = 0
    for char in text:
        if char not in _HEX:
            break
        if length > 3:
            raise AddressError(whole, "each group must have 4 or less digits", text)
        length += 1
    if not length:
        raise AddressError(whole, "each colon-separated field must have at least one digit", text)
    return length


def written(number: int, bits: int) -> str:
    """The canonical text of an address (RFC 5952)."""
    if bits == 32:
        return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))
    groups = [number >> shift & 0xFFFF for shift in range(112, -1, -16)]
    start, length = _zeros(groups)
    if not length:
        return ":".join(f"{group:x}" for group in groups)
    before = ":".join(f"{group:x}" for group in groups[:start])
    after = ":".join(f"{group:x}" for group in groups[start + length :])
    return f"{before}::{after}"


def _zeros(groups: list[int]) -> tuple[int, int]:
    """Where the longest run of at least two zeros begins, and its length; the first one of several."""
    best = (0, 1)
    start = 0
    for index, group in enumerate([*groups, 1]):
        if group:
            if index - start > best[1]:
                best = (start, index - start)
            start = index + 1
    return best if best[1] > 1 else (0, 0)
