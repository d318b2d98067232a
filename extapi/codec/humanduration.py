"""Durations as kubectl prints ages: ``5m30s``, ``2d4h`` (behaviour J44). Knows no clock.

Source: ``k8s.io/apimachinery/pkg/util/duration``.
"""

from __future__ import annotations

__all__ = ["human_duration"]

_MINUTE = 60
_HOUR = 3600
_DAY = 24
_YEAR = 365 * 24
_LONGEST = 2**63 // 10**9
"""The longest duration in Go, 292 years in seconds: longer ones are cut to it."""


def human_duration(seconds: float) -> str:
    """A duration in seconds, to two or three digits: ``90s``, ``5m30s``, ``3h``, ``2d4h``, ``3y20d``.

    Negative ones are ``0s`` up to two seconds, because clocks differ, and ``<invalid>`` beyond.
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
