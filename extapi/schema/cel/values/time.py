"""Points in time: read and printed as Go's ``time`` package does.

A time is a :class:`~extapi.schema.cel.values.values.Timestamp`. Texts are read by the rules of Go's layouts, which accept
more than RFC 3339 says: an hour of one digit, a comma before the fraction, an offset of 24 hours.

Source: ``time.Parse``, ``time.Time.Format``.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final, NamedTuple

from extapi.schema.cel.values.values import Timestamp

NANOSECONDS: Final = 10**9
"""In a second."""
DAY: Final = 86_400
"""Seconds of a day."""

_Layout = tuple[tuple[bytes, str], ...]
"""What stands before each element, and the element as Go writes it."""
_DATE: Final[_Layout] = ((b"", "2006"), (b"-", "01"), (b"-", "02"))
_LOCAL: Final[_Layout] = (*_DATE, (b"T", "15"), (b":", "04"), (b":", "05"))
_ZONED: Final[_Layout] = (*_LOCAL, (b"", "Z07:00"))

_COMMON: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}+)[0-9]*+)?(?:Z|([-+])([0-9]{2}):([0-9]{2}))"
)
"""What nearly every time looks like; all others take the long way."""
_USUAL: Final = len("2006-01-02T15:04:05Z")
_MONTHS: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Civil(NamedTuple):
    """A day of the calendar."""

    year: int
    month: int
    day: int
    yearday: int
    """1 to 366."""


def parse_timestamp(text: str) -> Timestamp:
    """Read a time with its zone.

    Source: ``time.Parse(time.RFC3339, text)``.

    Raises:
        ValueError: It is none; the message is Go's.
    """
    # Positions 7, 10, 13, 16 and 19: whatever else stands there, Python might read, and Go not.
    if len(text) == _USUAL and text[7::3] == "-T::Z" and text[11:13] < "24":
        try:
            return Timestamp(int(dt.datetime.fromisoformat(text).timestamp()) * NANOSECONDS)
        except ValueError:
            pass
    match = _COMMON.fullmatch(text)
    if match is not None:
        year, month, day, hour, minute, second, fraction, sign, zone_hour, zone_minute = match.groups()
        numbers = int(year), int(month), int(day), int(hour), int(minute), int(second)
        offset = 0 if sign is None else int(zone_hour) * 3600 + int(zone_minute) * 60
        if _valid(*numbers) and (sign is None or (zone_hour <= "24" and zone_minute <= "60")):
            return _timestamp(
                *numbers, int(fraction.ljust(9, "0")) if fraction else 0, -offset if sign == "-" else offset
            )
    return _parse(text, _ZONED)


def parse_date_time(text: str) -> Timestamp:
    """Read a value of the format date-time. No text is 1970, and the zone may be missing.

    Source: ``k8s.io/kube-openapi/pkg/validation/strfmt`` ParseDateTime.

    Raises:
        ValueError: It is none; the message is Go's.
    """
    if not text:
        return Timestamp(0)
    try:
        return parse_timestamp(text)
    except ValueError:
        return _parse(text, _LOCAL)


def parse_date(text: str) -> Timestamp:
    """Read a value of the format date.

    Source: ``time.Parse("2006-01-02", text)``.

    Raises:
        ValueError: It is none; the message is Go's.
    """
    return _parse(text, _DATE)


def format_timestamp(value: Timestamp) -> str:
    """RFC 3339, with as many digits of the second as it has.

    Source: ``time.Time.Format(time.RFC3339Nano)``.
    """
    date, clock = _written(value)
    if not value.offset:
        return f"{date}T{clock}Z"
    sign, hours, minutes = _offset(value.offset)
    return f"{date}T{clock}{sign}{hours:02d}:{minutes:02d}"


def show_timestamp(value: Timestamp) -> str:
    """As Go prints a time: ``2023-01-01 00:00:00 +0000 UTC``.

    Source: ``time.Time.String``.
    """
    date, clock = _written(value)
    if not value.offset:
        return f"{date} {clock} +0000 UTC"
    sign, hours, minutes = _offset(value.offset)
    zone = f"{sign}{hours:02d}{minutes:02d}"
    return f"{date} {clock} {zone} {zone}"


def civil(days: int) -> Civil:
    """The day that is so many days after 1970-01-01."""
    # Years begin in March here, so that the day that may be missing is the last one.
    era, of_era = divmod(days + 719_468, 146_097)
    of_era_year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * of_era_year + of_era_year // 4 - of_era_year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = of_era_year + era * 400 + (month <= 2)
    return Civil(year, month, of_year - (153 * shifted + 2) // 5 + 1, days - days_until(year, 1, 1) + 1)


def days_until(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to that day."""
    year -= month <= 2
    era, of_era_year = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era_year * 365 + of_era_year // 4 - of_era_year // 100 + of_year - 719_468


def _written(value: Timestamp) -> tuple[str, str]:
    seconds, nanoseconds = divmod(int(value), NANOSECONDS)
    days, second = divmod(seconds + value.offset, DAY)
    year, month, day, _ = civil(days)
    fraction = f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
    sign = "-" if year < 0 else ""
    date = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"
    return date, f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}{fraction}"


def _offset(seconds: int) -> tuple[str, int, int]:
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return "-" if seconds < 0 else "+", hours, minutes


def _days_in(month: int, year: int) -> int:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _MONTHS[month] + leap


def _valid(year: int, month: int, day: int, hour: int, minute: int, second: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= _days_in(month, year) and hour < 24 and minute < 60 and second < 60


def _timestamp(
    year: int, month: int, day: int, hour: int, minute: int, second: int, nanosecond: int, offset: int
) -> Timestamp:
    seconds = days_until(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset
    result = Timestamp(seconds * NANOSECONDS + nanosecond)
    if offset:
        result.offset = offset
    return result


class _Bad(Exception):
    """An element that cannot be read."""


def _parse(text: str, layout: _Layout) -> Timestamp:
    """Read a time element by element, as ``time.parse`` does."""
    whole = rest = text.encode("utf-8", "surrogatepass")
    found = {"01": 1, "02": 1, "15": 0, "04": 0, "05": 0}
    nanosecond = offset = 0
    for before, element in layout:
        if not rest.startswith(before):
            raise _cannot(whole, layout, rest, before.decode())
        hold = rest = rest[len(before) :]
        out_of_range = ""
        try:
            if element == "2006":
                found[element], rest = _year(rest)
            elif element == "Z07:00":
                offset, rest, out_of_range = _zone(rest)
            else:
                found[element], rest = _number(rest, fixed=element != "15")
                out_of_range = _out_of_range(element, found[element])
                if element == "05" and not out_of_range:
                    nanosecond, rest = _fraction(rest)
        except _Bad:
            raise _cannot(whole, layout, hold, element) from None
        if out_of_range:
            raise _TimeError(whole, f": {out_of_range} out of range")
    if rest:
        raise _TimeError(whole, ": extra text: ", rest)
    if not 1 <= found["02"] <= _days_in(found["01"], found["2006"]):
        raise _TimeError(whole, ": day out of range")
    return _timestamp(
        found["2006"], found["01"], found["02"], found["15"], found["04"], found["05"], nanosecond, offset
    )


def _year(rest: bytes) -> tuple[int, bytes]:
    digits = rest[:4]
    if len(digits) < 4 or not digits.isdigit():
        raise _Bad
    return int(digits), rest[4:]


def _number(rest: bytes, *, fixed: bool) -> tuple[int, bytes]:
    """One or two digits; two if ``fixed``."""
    if rest[:2].isdigit() and len(rest) > 1:
        return int(rest[:2]), rest[2:]
    if fixed or not rest[:1].isdigit():
        raise _Bad
    return int(rest[:1]), rest[1:]


def _out_of_range(element: str, number: int) -> str:
    if element == "01":
        return "" if 1 <= number <= 12 else "month"
    if element == "15":
        return "" if number < 24 else "hour"
    if element == "04":
        return "" if number < 60 else "minute"
    if element == "05":
        return "" if number < 60 else "second"
    return ""


def _fraction(rest: bytes) -> tuple[int, bytes]:
    """A fraction that the layout does not have, in nanoseconds."""
    if rest[:1] not in (b".", b",") or not rest[1:2].isdigit():
        return 0, rest
    after = rest[1:].lstrip(b"0123456789")
    digits = rest[1 : len(rest) - len(after)]
    return int(digits[:9].ljust(9, b"0")), after


def _zone(rest: bytes) -> tuple[int, bytes, str]:
    """``Z``, or an offset in seconds; and what is out of range."""
    if rest.startswith(b"Z"):
        return 0, rest[1:], ""
    if len(rest) < 6 or rest[3:4] != b":":
        raise _Bad
    # Go tells an offset out of range from a bad one even if the sign is bad.
    out_of_range, bad, hours, minutes = "", False, 0, 0
    try:
        hours, _ = _number(rest[1:3], fixed=True)
        minutes, _ = _number(rest[4:6], fixed=True)
    except _Bad:
        bad = True
    if hours > 24:
        out_of_range = "time zone offset hour"
    if minutes > 60:
        out_of_range = "time zone offset minute"
    if not out_of_range and (bad or rest[:1] not in (b"+", b"-")):
        raise _Bad
    offset = hours * 3600 + minutes * 60
    return -offset if rest[:1] == b"-" else offset, rest[6:], out_of_range


class _TimeError(ValueError):
    """A text that is no time. The message is built only when it is read: that takes longer than the check."""

    def __init__(self, whole: bytes, before: str, part: bytes | None = None, after: str = "") -> None:
        super().__init__()
        self._parts = whole, before, part, after

    def __str__(self) -> str:
        """Go's text."""
        whole, before, part, after = self._parts
        return f"parsing time {_quote(whole)}{before}{'' if part is None else _quote(part)}{after}"


def _cannot(whole: bytes, layout: _Layout, rest: bytes, element: str) -> ValueError:
    written = "".join(before.decode() + each for before, each in layout)
    return _TimeError(whole, f' as "{written}": cannot parse ', rest, f' as "{element}"')


_QUOTED: Final = {
    **{byte: f"\\x{byte:02x}" for byte in (*range(0x20), *range(0x80, 0x100))},
    ord('"'): '\\"',
    ord("\\"): "\\\\",
}


def _quote(text: bytes) -> str:
    r"""Go's ``time.quote``: quotes and backslashes escaped, what is not ASCII as ``\xNN``."""
    return f'"{text.decode("latin-1").translate(_QUOTED)}"'
