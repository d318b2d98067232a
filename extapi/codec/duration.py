"""Spans of time as kubectl's users read them.

Responsible for: the text of an age. Knows no clock: both ends are arguments.
Source: spec J44; ``k8s.io/apimachinery/pkg/util/duration``.
"""

from __future__ import annotations

__all__ = ["human_duration"]

_MINUTE = 60
_HOUR = 3600
_DAY = 24
_YEAR = 365 * 24
_LONGEST = 2**63 // 10**9
"""Seconds that Go's Duration holds: longer spans are cut to it, to 292 years."""


def human_duration(seconds: float) -> str:
    """Two or three figures of a span in seconds: ``90s``, ``5m30s``, ``3h``, ``2d4h``, ``3y20d``.

    Up to two seconds in the future are ``0s``, as clocks differ; beyond that ``<invalid>``.
    """
    whole = int(min(seconds, _LONGEST))
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    minutes = whole // _MINUTE
    if minutes < 10:
        return _pair(minutes, "m", whole % _MINUTE, "s")
    if minutes < 180:
        return f"{minutes}m"
    hours = whole // _HOUR
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 8 * _DAY:
        return _pair(hours // _DAY, "d", hours % _DAY, "h")
    if hours < 2 * _YEAR:
        return f"{hours // _DAY}d"
    if hours < 8 * _YEAR:
        return _pair(hours // _YEAR, "y", hours // _DAY % 365, "d")
    return f"{hours // _YEAR}y"


def _pair(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"
