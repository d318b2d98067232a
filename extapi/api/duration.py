"""Durations as Go writes them: ``1h30m``, ``-1.5h``, ``250ms``.

Source: ``time.ParseDuration``, with its error texts.
"""

from __future__ import annotations

from extapi.api.strconv import parse_uint

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek letter mu: Go takes both
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_DIGITS = frozenset("0123456789")
_NUMBER = _DIGITS | {"."}
_LIMIT = 1 << 63
"""Go counts nanoseconds in 64 bits: -2^63 is a duration, 2^63 is not."""
_LONGEST = 256
"""Characters of a duration that a client or a flag gives; a longer one is refused unread."""


class BadDuration(ValueError):
    """The text is not a duration. Its message is built only when it is read: that takes longer than the check."""

    def __init__(self, text: str, *, unit: str | None = None) -> None:
        super().__init__(text)
        self._text = text
        self._unit = unit

    def __str__(self) -> str:
        """Go's text."""
        if self._unit is None:
            return f'time: invalid duration "{_quoted(self._text)}"'
        if not self._unit:
            return f'time: missing unit in duration "{_quoted(self._text)}"'
        return f'time: unknown unit "{_quoted(self._unit)}" in duration "{_quoted(self._text)}"'


def parse_duration(text: str) -> int:
    """The duration in nanoseconds.

    Raises:
        BadDuration: The text is not a duration, or is out of range.
    """
    signed = text[:1] in ("-", "+")
    at, end = int(signed), len(text)
    if at == end:
        raise BadDuration(text)
    if end == at + 1 and text[at] == "0":
        return 0
    total = 0
    while at < end:
        whole, at = run(text, at, _DIGITS)
        number = _whole(text, whole)
        fraction = ""
        if at < end and text[at] == ".":
            fraction, at = run(text, at + 1, _DIGITS)
        if not whole and not fraction:
            raise BadDuration(text)
        start = at
        while at < end and text[at] not in _NUMBER:
            at += 1
        unit = _UNITS.get(text[start:at])
        if unit is None:
            raise BadDuration(text, unit=text[start:at])
        value = number * unit
        if value <= _LIMIT and fraction:
            value += _part(fraction, unit)
        total += value
        if value > _LIMIT or total > _LIMIT:
            raise BadDuration(text)
    if text[0] == "-":
        return -total
    if total == _LIMIT:
        raise BadDuration(text)
    return total


def parse_seconds(text: str) -> float:
    """Seconds, of a text that anybody may have sent.

    Raises:
        BadDuration: The text is no duration, or is too long for one.
    """
    if len(text) > _LONGEST:
        raise BadDuration(text)
    return parse_duration(text) / 1e9


def run(text: str, at: int, chars: frozenset[str]) -> tuple[str, int]:
    """The run of these characters at ``at``, which may be empty, and where it ends."""
    start, end = at, len(text)
    while at < end and text[at] in chars:
        at += 1
    return text[start:at], at


def _whole(text: str, digits: str) -> int:
    """The value of the digits before the point; no digits are 0."""
    try:
        number = parse_uint(digits or "0")
    except ValueError:  # out of range
        raise BadDuration(text) from None
    if number > _LIMIT:
        raise BadDuration(text)
    return number


def _part(fraction: str, unit: int) -> int:
    """The value of the digits after the point, in nanoseconds.

    Like Go it drops digits that no longer fit into 63 bits.
    """
    number, scale = 0, 1.0
    for digit in fraction:
        longer = number * 10 + int(digit)
        if number > (_LIMIT - 1) // 10 or longer > _LIMIT:
            break
        number, scale = longer, scale * 10
    return int(float(number) * (float(unit) / scale))


def _quoted(text: str) -> str:
    r"""The text as Go's ``time.quote`` writes it: quotes and backslashes escaped, non-printable ASCII as ``\xNN``."""
    out = []
    for byte in text.encode("utf-8", "surrogatepass"):
        if byte in b'"\\':
            out.append("\\" + chr(byte))
        elif 0x20 <= byte < 0x7F:
            out.append(chr(byte))
        else:
            out.append(f"\\x{byte:02x}")
    return "".join(out)
