"""Durations: read and printed as Go does.

Source: ``time.Duration``, ``k8s.io/kube-openapi/pkg/validation/strfmt`` ParseDuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Final

from extapi.api.duration import BadDuration, parse_duration as parse_go_duration
from extapi.api.strconv import parse_int
from extapi.schema.cel.values.values import Duration

_SECOND: Final = 10**9
_UNITS: Final = (
    (("ns", "nano"), 1),
    (("us", "\u00b5s", "micro"), 10**3),
    (("ms", "milli"), 10**6),
    (("s", "sec"), _SECOND),
    (("m", "min"), 60 * _SECOND),
    (("h", "hr", "hour"), 3600 * _SECOND),
    (("d", "day"), 24 * 3600 * _SECOND),
    (("w", "wk", "week"), 7 * 24 * 3600 * _SECOND),
)
"""Names of each unit; the last one is the beginning of longer names."""
_UNIT: Final = 8
"""Characters of a unit that count: no name is longer."""
_LONG: Final = 64
"""Characters from which a duration is looked over before it is read: a client may send a million, for one unit of cost."""
_WRITTEN: Final = re.compile(
    r"[-+]?(?>(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)|[-+]?0"
)
_LOOSE: Final = re.compile(r"(?<![0-9])([0-9]++)[ \t\n\f\r]*+([A-Za-z\u00b5]++)")
_WRAP: Final = 2**64
_WHOLE: Final = {"h": 3600 * _SECOND, "m": 60 * _SECOND, "s": _SECOND}
_FEW: Final = 6
"""So many digits of hours are far from too many."""


def parse_duration(text: str) -> Duration:
    """Read a duration such as ``1h30m``.

    Source: ``time.ParseDuration``.

    Raises:
        ValueError: It is none; the message is Go's, but for what is wrong with a long one.
    """
    number, unit = text[:-1], _WHOLE.get(text[-1:])
    if unit is not None and len(number) <= _FEW and number.isdigit() and number.isascii():
        return Duration(int(number) * unit)  # what most durations look like
    if len(text) < _LONG:
        return Duration(parse_go_duration(text))
    if not _WRITTEN.fullmatch(text):
        raise BadDuration(text)
    return _parse_long(text, parse_go_duration)


def parse_loose_duration(text: str) -> Duration:
    """Read a value of the format duration: also ``3 weeks``, with anything between numbers.

    Raises:
        ValueError: It is none; the message is Go's.
    """
    try:
        return parse_duration(text)
    except BadDuration:
        return Duration(_sum(text)) if len(text) < _LONG else _parse_long(text, _sum)


@lru_cache(maxsize=16)
def _parse_long(text: str, parse: Callable[[str], int]) -> Duration:
    """A rule may ask for the same long text again and again, and each time costs one unit."""
    return Duration(parse(text))


def _sum(text: str) -> int:
    total, known = 0, False
    for number, unit in _LOOSE.findall(text):
        factor = _factor(number)
        for multiplier in _multipliers(unit[:_UNIT].lower()):
            known = True
            total += factor * multiplier
    if not known:
        raise ValueError(f"unable to parse {text} as duration")
    # Go lets the sum overflow.
    return (total + _WRAP // 2) % _WRAP - _WRAP // 2


def _factor(number: str) -> int:
    try:
        return parse_int(number)
    except ValueError as error:
        raise ValueError(str(error).replace("strconv.ParseInt", "strconv.Atoi", 1)) from None


@lru_cache(maxsize=256)
def _multipliers(unit: str) -> tuple[int, ...]:
    """What the unit counts, once per name that fits, as in Go: ``sec`` is a second."""
    return tuple(
        multiplier
        for names, multiplier in _UNITS
        for name in names
        if unit == name or (name == names[-1] and unit.startswith(name))
    )


def format_duration(value: int) -> str:
    """In seconds: ``90s``, ``0.001s``.

    Source: ``cel-go/common/types`` Duration.ConvertToType.
    """
    sign = -1 if value < 0 else 1
    whole, part = divmod(abs(value), _SECOND)
    seconds = float(sign * whole) + float(sign * part) / 1e9
    if not part:
        return f"{sign * whole}s"
    return f"{Decimal(repr(seconds)).normalize():f}s"


def show_duration(value: int) -> str:
    """As Go prints a duration: ``1h30m0s``, ``1.5ms``.

    Source: ``time.Duration.String``.
    """
    if value == 0:
        return "0s"
    sign, rest = ("-", -value) if value < 0 else ("", value)
    if rest < _SECOND:
        for unit, size in (("ns", 1), ("\u00b5s", 10**3), ("ms", 10**6)):
            if rest < size * 1000:
                return f"{sign}{_decimal(rest, size)}{unit}"
    seconds, part = divmod(rest, 60 * _SECOND)
    text = f"{_decimal(part, _SECOND)}s"
    if seconds:
        hours, minutes = divmod(seconds, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return sign + text


def _decimal(number: int, size: int) -> str:
    whole, part = divmod(number, size)
    if not part:
        return str(whole)
    digits_ = str(part).rjust(len(str(size)) - 1, "0").rstrip("0")
    return f"{whole}.{digits_}"
