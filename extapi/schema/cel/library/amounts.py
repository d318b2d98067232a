"""The amount of a quantity, in the two forms that Go has: an int64 with an exponent, or a decimal of any length.

Which form it is in can be seen: a decimal is never an integer, and becomes another double. So this follows Go's steps
where :mod:`extapi.api.quantity` need not. Digits and exponents are bounded where Go would compute gigabytes of zeros.

Source: ``k8s.io/apimachinery/pkg/api/resource`` ParseQuantity, int64Amount and infDecAmount.
"""

from __future__ import annotations

import re
from math import inf
from typing import Final

from extapi.api.strconv import parse_int
from extapi.schema.cel.values.values import INT_MAX, INT_MIN

_FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_WRONG: Final = "unable to parse quantity's suffix"
_NUMBER_WRONG: Final = "unable to parse numeric part of quantity"
_OUT_OF_RANGE: Final = "quantities are too far apart to be added"

# Possessive, so that it is linear.
_WRITTEN: Final = re.compile(r"([+-]?+)0*+([0-9]*+)(\.?+)([0-9]*+)([eEinumkKMGTP]*+[-+]?+[0-9]*+)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NANO: Final = -9
_INT64_DIGITS: Final = 18
_DIGITS_PER_BIT: Final = 0.30103
MOST_DIGITS: Final = 4000
"""Digits of a number, and zeros that are written out."""


class Amount:
    """``mantissa`` times 10 to the power of ``exponent``.

    ``decimal`` tells the form: a decimal, or an int64 with its exponent.
    """

    __slots__ = ("decimal", "exponent", "mantissa")

    def __init__(self, mantissa: int, exponent: int, *, decimal: bool = False) -> None:
        self.mantissa = mantissa
        self.exponent = exponent
        self.decimal = decimal

    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.mantissa > 0) - (self.mantissa < 0)

    def as_int64(self) -> int | None:
        """The amount as an int64; None for decimals, and if it has none."""
        if self.decimal or self.exponent < 0:
            return None
        if not self.mantissa:
            return 0
        if self.exponent > _INT64_DIGITS:
            return None
        number: int = self.mantissa * 10**self.exponent
        return number if INT_MIN <= number <= INT_MAX else None

    def as_float(self) -> float:
        """A double that is close.

        Source: ``Quantity.AsApproximateFloat64``.
        """
        try:
            base = float(self.mantissa)
        except OverflowError:
            base = inf if self.mantissa > 0 else -inf
        return base * _power(self.exponent) if self.exponent else base

    def compare(self, other: Amount) -> int:
        """-1, 0 or 1, exactly."""
        sign = self.sign()
        if sign != other.sign() or not sign:
            return (sign > other.sign()) - (sign < other.sign())
        left, right = self._magnitude(), other._magnitude()
        if left != right:
            return sign if left > right else -sign
        # as many digits before the point: the exponents are no further apart than the mantissas are long
        shift = self.exponent - other.exponent
        first: int = self.mantissa * 10 ** max(shift, 0)
        second: int = other.mantissa * 10 ** max(-shift, 0)
        return (first > second) - (first < second)

    def _magnitude(self) -> int:
        """How many digits are before the point; below 0, how many zeros follow it."""
        number = abs(self.mantissa)
        digits = max(int((number.bit_length() - 1) * _DIGITS_PER_BIT) - 1, 0)
        while number >= 10**digits:
            digits += 1
        return digits + self.exponent

    def normalized(self) -> tuple[int, int]:
        """The same for equal amounts."""
        if not self.mantissa:
            return 0, 0
        number, exponent = self.mantissa, self.exponent
        for zeros in (1024, 128, 16, 1):
            power = 10**zeros
            while number % power == 0:
                number //= power
                exponent += zeros
        return number, exponent

    def plus(self, other: Amount) -> Amount:
        """The sum.

        Raises:
            ValueError: It would have too many digits.

        Source: ``Quantity.Add``.
        """
        return self._int64_sum(other) or self._decimal_sum(other)

    def minus(self, other: Amount) -> Amount:
        """The difference.

        Raises:
            ValueError: It would have too many digits.

        Source: ``Quantity.Sub``.
        """
        negative = Amount(-other.mantissa, other.exponent, decimal=other.decimal)
        # an int64 has no negative of the smallest one, which Go then adds as it is
        wrapped = other if other.mantissa == INT_MIN and not other.decimal else negative
        return self._int64_sum(wrapped) or self._decimal_sum(negative)

    def _int64_sum(self, other: Amount) -> Amount | None:
        if self.decimal or other.decimal:
            return None
        if not other.mantissa:
            return self
        if not self.mantissa:
            return other
        exponent = min(self.exponent, other.exponent)
        if max(self.exponent, other.exponent) - exponent > _INT64_DIGITS:
            return None
        left, right = self._scaled(exponent), other._scaled(exponent)
        total = left + right
        fits = all(INT_MIN <= each <= INT_MAX for each in (left, right, total))
        return Amount(total, exponent) if fits else None

    def _decimal_sum(self, other: Amount) -> Amount:
        exponent = min(self.exponent, other.exponent)
        return Amount(self._scaled(exponent) + other._scaled(exponent), exponent, decimal=True)

    def _scaled(self, exponent: int) -> int:
        """The mantissa that goes with a smaller exponent."""
        if not self.mantissa:
            return 0
        if self.exponent - exponent > MOST_DIGITS:
            raise ValueError(_OUT_OF_RANGE)
        scaled: int = self.mantissa * 10 ** (self.exponent - exponent)
        return scaled


def _power(exponent: int) -> float:
    """10 to a power, as precise as Go's ``math.Pow10``."""
    if exponent > 308:
        return inf
    if exponent < -323:
        return 0.0
    high, low = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(f"1e{high * 32}") * float(f"1e{low}")
    return float(f"1e-{high * 32}") / float(f"1e{low}")


def parse_amount(text: str) -> Amount:
    """Read a quantity's text.

    Raises:
        ValueError: It is none; the message is Go's.
    """
    match = _WRITTEN.fullmatch(text)
    if not text or match is None:
        raise ValueError(_FORMAT_WRONG)
    sign, written, _, fraction, suffix = match.groups()
    whole = written or "0"
    exponent, binary = _suffix(suffix)
    if len(whole) + len(fraction) > MOST_DIGITS:
        raise ValueError(_NUMBER_WRONG)
    number = int(whole + fraction)
    if sign == "-":
        number = -number
    short = _short(number, whole, fraction, exponent, binary=binary)
    if short is not None:
        return short
    if not (written or fraction or "0" in text[: len(text) - len(suffix)]):
        raise ValueError(_NUMBER_WRONG)
    return _long(number, len(fraction), exponent, binary=binary)


def _suffix(suffix: str) -> tuple[int, bool]:
    """The exponent of the suffix, and whether its base is 2."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], False
    if suffix in _BINARY:
        return _BINARY[suffix], True
    if len(suffix) < 2 or suffix[0] not in "eE":
        raise ValueError(_SUFFIX_WRONG)
    try:
        return _int32(parse_int(suffix[1:])), False
    except ValueError:
        raise ValueError(_SUFFIX_WRONG) from None


def _int32(number: int) -> int:
    """As Go's int32 takes it: it begins again at the other end."""
    return (number + 2**31) % 2**32 - 2**31


def _short(number: int, whole: str, fraction: str, exponent: int, *, binary: bool) -> Amount | None:
    """The amount as an int64 with an exponent, if Go finds at first sight that it fits."""
    factor, scale = 1, exponent
    if not binary:
        spare = _INT64_DIGITS - len(whole) - len(fraction)
    elif fraction:
        return None
    else:
        factor, scale = 1 << exponent, 0
        spare = 15 - len(whole) - exponent * 3 // 10 - 1
    scale = _int32(scale - len(fraction))
    if spare < 0 or scale < _NANO:
        return None
    product = number * factor
    return Amount(product, scale) if INT_MIN < product <= INT_MAX else None


def _long(number: int, places: int, exponent: int, *, binary: bool) -> Amount:
    """The amount as a decimal: rounded away from zero to whole nanos; with a binary suffix, at most an int64."""
    scale = _int32(-places if binary else exponent - places)
    if binary:
        number <<= exponent
    if number:
        number, scale = _rounded(number, scale)
    if binary and abs(number) > INT_MAX * 10**-scale:
        return Amount(INT_MAX if number > 0 else -INT_MAX, 0, decimal=True)
    return Amount(number, scale, decimal=True)


def _rounded(number: int, scale: int) -> tuple[int, int]:
    zeros = scale - _NANO
    if zeros > MOST_DIGITS:
        return number, scale  # Go writes the zeros out
    if zeros >= 0:
        return number * 10**zeros, _NANO
    magnitude = abs(number)
    # A divisor with more digits than the number leaves nothing but what is rounded up.
    up = 1 if -zeros > MOST_DIGITS + 100 else -(-magnitude // 10**-zeros)
    return (up if number > 0 else -up), _NANO
