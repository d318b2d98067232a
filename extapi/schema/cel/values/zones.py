"""Time zones, and what a time is in one of them: its year, its hour.

Source: ``github.com/google/cel-go/common/stdlib`` inTimeZone, ``time.LoadLocation``.
"""

from __future__ import annotations

import datetime as dt
import os
import zoneinfo
from contextlib import suppress
from functools import cache, lru_cache
from importlib import resources
from typing import Final

from extapi.api.strconv import parse_int
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values.time import DAY, NANOSECONDS, Civil, civil
from extapi.schema.cel.values.values import Timestamp

_WRAP: Final = 2**64
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_UTC: Final = frozenset(("", "UTC", "Local"))
"""Names of UTC; a server's local time is that, too."""


def offset_at(value: Timestamp, zone: str) -> int:
    """Seconds east of UTC at that time.

    Args:
        value: The time.
        zone: A name such as ``America/New_York``, or an offset such as ``-08:00``.

    Raises:
        EvaluationError: There is no such zone.
    """
    hours, colon, minutes = zone.partition(":")
    if colon:
        return _fixed(zone, hours, minutes)
    if zone in _UTC:
        return 0
    return _offset(value, _named(zone))


def _fixed(zone: str, hours: str, minutes: str) -> int:
    hour, minute = _number(hours), _number(minutes)
    offset = hour * 60 - minute if zone.startswith("-") else hour * 60 + minute
    # Go multiplies 64-bit nanoseconds, and lets them overflow.
    nanoseconds = _wrapped(_wrapped(offset) * 60 * NANOSECONDS)
    return -(-nanoseconds // NANOSECONDS) if nanoseconds < 0 else nanoseconds // NANOSECONDS


def _wrapped(number: int) -> int:
    return (number + _WRAP // 2) % _WRAP - _WRAP // 2


def _number(text: str) -> int:
    try:
        return parse_int(text)
    except ValueError as error:
        raise EvaluationError(str(error).replace("strconv.ParseInt", "strconv.Atoi", 1)) from None


def _named(name: str) -> zoneinfo.ZoneInfo:
    if ".." in name or name[0] in "/\\":
        raise EvaluationError("time: invalid location name")
    files, folders = _names()
    if name in folders:
        raise EvaluationError("is a directory")
    if name not in files:
        raise EvaluationError(f"unknown time zone {name}")
    return _load(name)


@lru_cache(maxsize=64)
def _load(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except ValueError:  # a file beside the zones
        raise EvaluationError("malformed time zone information") from None
    except OSError:
        raise EvaluationError(f"unknown time zone {name}") from None


@cache
def _names() -> tuple[frozenset[str], frozenset[str]]:
    """The names of all zones, and of groups of zones.

    A look at the disk for each unknown name would take far longer than its cost allows.
    """
    found: set[str] = set()
    folders: set[str] = set()
    for root in zoneinfo.TZPATH:
        for folder, _, files in os.walk(root):
            prefix = os.path.relpath(folder, root)
            folders.add(prefix)
            found.update(files if prefix == "." else (f"{prefix}/{each}" for each in files))
    with suppress(ModuleNotFoundError, OSError):
        found.update(resources.files("tzdata").joinpath("zones").read_text().split())
    return frozenset(found), frozenset(folders)


def _offset(value: Timestamp, zone: zoneinfo.ZoneInfo) -> int:
    seconds = int(value) // NANOSECONDS
    try:
        offset = (_EPOCH + dt.timedelta(seconds=seconds)).astimezone(zone).utcoffset()
    except OverflowError:  # at the ends of the calendar, where Python has no local time
        nearer = DAY if seconds < 0 else -DAY
        offset = (_EPOCH + dt.timedelta(seconds=seconds + nearer)).astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _date(value: Timestamp, zone: str) -> Civil:
    return civil((int(value) // NANOSECONDS + offset_at(value, zone)) // DAY)


def _clock(value: Timestamp, zone: str) -> int:
    return (int(value) // NANOSECONDS + offset_at(value, zone)) % DAY


def year(value: Timestamp, zone: str = "") -> int:
    """The year."""
    return _date(value, zone).year


def month(value: Timestamp, zone: str = "") -> int:
    """The month, from 0."""
    return _date(value, zone).month - 1


def day_of_year(value: Timestamp, zone: str = "") -> int:
    """The day of the year, from 0."""
    return _date(value, zone).yearday - 1


def day_of_month(value: Timestamp, zone: str = "") -> int:
    """The day of the month, from 0."""
    return _date(value, zone).day - 1


def date(value: Timestamp, zone: str = "") -> int:
    """The day of the month, from 1."""
    return _date(value, zone).day


def day_of_week(value: Timestamp, zone: str = "") -> int:
    """The day of the week; Sunday is 0."""
    return ((int(value) // NANOSECONDS + offset_at(value, zone)) // DAY + 4) % 7


def hours(value: Timestamp, zone: str = "") -> int:
    """The hour."""
    return _clock(value, zone) // 3600


def minutes(value: Timestamp, zone: str = "") -> int:
    """The minute."""
    return _clock(value, zone) // 60 % 60


def seconds(value: Timestamp, zone: str = "") -> int:
    """The second."""
    return _clock(value, zone) % 60


def milliseconds(value: Timestamp, zone: str = "") -> int:
    """The millisecond."""
    offset_at(value, zone)
    return int(value) % NANOSECONDS // 10**6
