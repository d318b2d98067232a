"""Doubles as ``string.format`` writes them: for the locale en_US, with all the oddities of Go's package for it.

Precisions are cut to the few bits that the package has for them. With ``%e`` cel-go passes the precision as a width, so
there are always six digits.

Source: ``cel-go/ext`` stringFormatter, ``golang.org/x/text/message`` and ``golang.org/x/text/internal/number``.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

_TOO_LARGE: Final = 1_000_000
_NO_VERB: Final = "%!(NOVERB)"
_SUPERSCRIPTS: Final = str.maketrans(
    "0123456789-", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b"
)


def plain_double(value: float) -> str:
    """With six decimals, as in lists and maps; what is not finite between quotes."""
    if math.isfinite(value):
        return f"{value:.6f}"
    return '"NaN"' if math.isnan(value) else '"+Inf"' if value > 0 else '"-Inf"'


def fixed_point(value: float, precision: int) -> str:
    """``%f``: with commas between thousands."""
    if _is_too_large(precision):
        return _NO_VERB
    if not math.isfinite(value):
        return _not_finite(value)
    most, least = (precision + 2**15) % 2**16 - 2**15, precision % 256
    magnitude = abs(value)
    digits = f"{Decimal(repr(magnitude)):f}" if most < 0 else f"{magnitude:.{most}f}"
    whole, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0").ljust(least, "0")
    return f"{'-' if value < 0 else ''}{int(whole):,}{'.' if fraction else ''}{fraction}"


def scientific(value: float, width: int) -> str:
    """``%e``: six decimals, and spaces before them up to a width."""
    if _is_too_large(width):
        return _NO_VERB
    return (_scientific(value) if math.isfinite(value) else _not_finite(value)).rjust(width % 2**16)


def _scientific(value: float) -> str:
    digits, _, exponent = f"{abs(value):.6e}".partition("e")
    power = int(exponent)
    shown = f"{'-' if power < 0 else ''}{abs(power):02d}".translate(_SUPERSCRIPTS)
    return f"{'-' if value < 0 else ''}{digits}\u00d710{shown}"


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "\u221e" if value > 0 else "-\u221e"


def _is_too_large(number: int) -> bool:
    """Whether Go gives up reading a number: before its last digit it is above a million."""
    return number // 10 > _TOO_LARGE
