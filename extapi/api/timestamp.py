"""Times as the Kubernetes API writes them: RFC 3339, whole seconds, UTC, ending in ``Z``.

Reading follows Go's ``time.Parse`` with its error texts, as far as clients can meet them (``meta/v1`` Time). Reads no
clock: who needs the present hands it in.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from extapi.errors import go_quote

_CANONICAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)
_LAYOUT = "2006-01-02T15:04:05Z07:00"

# The layout's elements in order, each with what it matches; Go names the element that it could not find.
_ELEMENTS = (
    ("2006", re.compile("[0-9]{4}")),
    ("-", re.compile("-")),
    ("01", re.compile("[0-9]{2}")),
    ("-", re.compile("-")),
    ("02", re.compile("[0-9]{2}")),
    ("T", re.compile("T")),
    ("15", re.compile("[0-9]{1,2}")),
    (":", re.compile(":")),
    ("04", re.compile("[0-9]{2}")),
    (":", re.compile(":")),
    ("05", re.compile("[0-9]{2}")),
    ("", re.compile("(?:[.,][0-9]+)?")),
    ("Z07:00", re.compile("Z|[+-][0-9]{2}:[0-9]{2}")),
)


def format_timestamp(seconds: float) -> str:
    """The time ``seconds`` after 1970-01-01T00:00:00Z, as the API writes it; fractions are cut off."""
    return _written(datetime.fromtimestamp(int(seconds), UTC))


def canonical_timestamp(text: str) -> str:
    """The same time as the API writes it. Raises ValueError as :func:`parse_timestamp`."""
    return _written(parse_timestamp(text))


def parse_timestamp(text: str) -> datetime:
    """The time in UTC, without fractions of a second. Raises ValueError with Go's text."""
    if _CANONICAL.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass  # a number is out of range; which one is found below
    year, month, day, hour, minute, second, zone = _numbers(text)
    where = f"parsing time {go_quote(text)}:"
    for name, value, low, high in (
        ("month", month, 1, 12),
        ("hour", hour, 0, 23),
        ("minute", minute, 0, 59),
        ("second", second, 0, 59),
        ("time zone offset hour", abs(zone) // 100, 0, 24),
        ("time zone offset minute", abs(zone) % 100, 0, 60),
    ):
        if not low <= value <= high:
            raise ValueError(f"{where} {name} out of range")
    if not year >= 1:
        raise ValueError(f"{where} year out of range")
    try:
        local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{where} day out of range") from None
    offset = timedelta(hours=abs(zone) // 100, minutes=abs(zone) % 100)
    try:
        return local - offset if zone > 0 else local + offset
    except OverflowError:
        raise ValueError(f"{where} year out of range") from None


def _written(time: datetime) -> str:
    return f"{time.year:04}-{time.month:02}-{time.day:02}T{time.hour:02}:{time.minute:02}:{time.second:02}Z"


def _numbers(text: str) -> tuple[int, ...]:
    """Year, month, day, hour, minute, second, and the zone as ``±hhmm`` in one number."""
    position = 0
    numbers = []
    for name, pattern in _ELEMENTS:
        found = pattern.match(text, position)
        if found is None:
            rest = go_quote(text[position:])
            raise ValueError(
                f"parsing time {go_quote(text)} as {go_quote(_LAYOUT)}: cannot parse {rest} as {go_quote(name)}"
            )
        position = found.end()
        if name == "Z07:00":
            numbers.append(0 if found[0] == "Z" else int(found[0].replace(":", "")))
        elif name not in {"-", "T", ":", ""}:
            numbers.append(int(found[0]))
    if position < len(text):
        raise ValueError(f"parsing time {go_quote(text)}: extra text: {go_quote(text[position:])}")
    return tuple(numbers)
