"""Times as the Kubernetes API writes them: RFC 3339, whole seconds, UTC, ending in ``Z``.

Parsing follows Go's ``time.Parse``, with the error texts that clients can meet (``meta/v1`` Time). Reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from extapi.api.strconv import has_pattern, only_digits
from extapi.errors import go_quote

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_CANONICAL = b"0000-00-00T00:00:00Z"


def format_timestamp(seconds: float) -> str:
    """The time ``seconds`` after 1970-01-01T00:00:00Z as the API writes it; fractions are cut off."""
    return _second(int(seconds))


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    """Most calls are about the present second."""
    return _written(datetime.fromtimestamp(seconds, UTC))


def format_micro_timestamp(seconds: float) -> str:
    """The time with microseconds, as ``meta/v1`` MicroTime is written: ``2006-01-02T15:04:05.000000Z``."""
    time = datetime.fromtimestamp(seconds, UTC)
    return f"{_written(time)[:-1]}.{time.microsecond:06}Z"


def canonical_timestamp(text: str) -> str:
    """A time as the API writes it.

    Raises:
        ValueError: See :func:`parse_timestamp`.
    """
    if len(text) == len(_CANONICAL) and _is_canonical(text):
        return text
    return _written(parse_timestamp(text))


@lru_cache(maxsize=1024)
def _is_canonical(text: str) -> bool:
    """A write reads the times of all managers, and nearly all have been read before. ``text`` is short."""
    if not has_pattern(text, _CANONICAL):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False  # a number is out of range
    return True


def parse_timestamp(text: str) -> datetime:
    """Read a time; in UTC, without fractions of a second.

    Raises:
        ValueError: The text is not a time; the message is Go's.
    """
    if has_pattern(text, _CANONICAL):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass  # a number is out of range; the code below finds out which
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
    return f"{time.isoformat()[:19]}Z"


def _numbers(text: str) -> tuple[int, ...]:
    """Year, month, day, hour, minute, second, and the zone as ``±hhmm`` in one number."""
    position = 0
    numbers = []
    for name, ends in _ELEMENTS:
        end = ends(text, position)
        if end < 0:
            rest = go_quote(text[position:])
            raise ValueError(
                f"parsing time {go_quote(text)} as {go_quote(_LAYOUT)}: cannot parse {rest} as {go_quote(name)}"
            )
        found = text[position:end]
        position = end
        if name == "Z07:00":
            numbers.append(0 if found == "Z" else int(found.replace(":", "")))
        elif name not in {"-", "T", ":", ""}:
            numbers.append(int(found))
    if position < len(text):
        raise ValueError(f"parsing time {go_quote(text)}: extra text: {go_quote(text[position:])}")
    return tuple(numbers)


_Ends = Callable[[str, int], int]
"""Where an element that begins at a position of the text ends; -1 if it is not there."""


def _digits(least: int, most: int) -> _Ends:
    def ends(text: str, at: int) -> int:
        found = text[at : at + most]
        for length in range(most, least - 1, -1):
            if len(found) >= length and only_digits(found[:length]):
                return at + length
        return -1

    return ends


def _literal(char: str) -> _Ends:
    return lambda text, at: at + 1 if text.startswith(char, at) else -1


def _fraction(text: str, at: int) -> int:
    """A point or comma followed by digits, or nothing."""
    if text[at : at + 1] not in (".", ","):
        return at
    rest = text[at + 1 :]
    digits = len(rest) - len(rest.lstrip("0123456789"))
    return at + 1 + digits if digits else at


def _zone(text: str, at: int) -> int:
    if text.startswith("Z", at):
        return at + 1
    offset = text[at : at + 6]
    return at + 6 if has_pattern(offset, b"+00:00") or has_pattern(offset, b"-00:00") else -1


# The elements of the layout in order, each with the function that finds its end; Go's errors name the missing element.
_ELEMENTS = (
    ("2006", _digits(4, 4)),
    ("-", _literal("-")),
    ("01", _digits(2, 2)),
    ("-", _literal("-")),
    ("02", _digits(2, 2)),
    ("T", _literal("T")),
    ("15", _digits(1, 2)),
    (":", _literal(":")),
    ("04", _digits(2, 2)),
    (":", _literal(":")),
    ("05", _digits(2, 2)),
    ("", _fraction),
    ("Z07:00", _zone),
)
