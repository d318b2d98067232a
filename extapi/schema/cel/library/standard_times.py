"""What a timestamp is in a time zone, and how long a duration is: ``getFullYear``, ``getHours``.

Source: ``github.com/google/cel-go/common/stdlib``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.values import zones


def _timestamp(function: str, identifier: str, call: Callable[..., Any]) -> tuple[Overload, Overload]:
    zoned = "timestamp_to_seconds_tz" if identifier == "timestamp_to_seconds" else f"{identifier}_with_tz"
    return (
        overload(identifier, f".{function}(timestamp) -> int", call),
        overload(zoned, f".{function}(timestamp, string) -> int", call),
    )


def _parts(size: int) -> Callable[[int], int]:
    """Whole parts of that many nanoseconds in a duration, rounded towards zero."""

    def call(value: int) -> int:
        return int(value) // size if value >= 0 else -(-int(value) // size)

    return call


TIMES: Final[tuple[Overload, ...]] = (
    *_timestamp("getFullYear", "timestamp_to_year", zones.year),
    *_timestamp("getMonth", "timestamp_to_month", zones.month),
    *_timestamp("getDayOfYear", "timestamp_to_day_of_year", zones.day_of_year),
    *_timestamp("getDayOfMonth", "timestamp_to_day_of_month", zones.day_of_month),
    *_timestamp("getDate", "timestamp_to_day_of_month_1_based", zones.date),
    *_timestamp("getDayOfWeek", "timestamp_to_day_of_week", zones.day_of_week),
    *_timestamp("getHours", "timestamp_to_hours", zones.hours),
    overload("duration_to_hours", ".getHours(duration) -> int", _parts(3600 * 10**9)),
    *_timestamp("getMinutes", "timestamp_to_minutes", zones.minutes),
    overload("duration_to_minutes", ".getMinutes(duration) -> int", _parts(60 * 10**9)),
    *_timestamp("getSeconds", "timestamp_to_seconds", zones.seconds),
    overload("duration_to_seconds", ".getSeconds(duration) -> int", _parts(10**9)),
    *_timestamp("getMilliseconds", "timestamp_to_milliseconds", zones.milliseconds),
    overload("duration_to_milliseconds", ".getMilliseconds(duration) -> int", _parts(10**6)),
)
"""Functions of timestamps and durations."""
