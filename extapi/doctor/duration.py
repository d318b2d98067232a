"""Spans of time in words. Pure."""

from __future__ import annotations

import datetime as dt

_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def spell(duration: dt.timedelta) -> str:
    """``40 seconds``, ``3 hours``: in the largest unit of which there are at least two, without a sign."""
    seconds = abs(duration.total_seconds())
    for name, size in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {name}s"
    return "1 second" if seconds >= 1 else "0 seconds"


def day(moment: dt.datetime) -> str:
    """A time as the API writes it."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
