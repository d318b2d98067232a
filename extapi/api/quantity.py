"""Quantities: exact numbers with a suffix, such as ``1500m``, ``1.5Gi`` or ``12e6``.

Grammar, rounding and canonical form follow ``k8s.io/apimachinery/pkg/api/resource``. A quantity is never finer than
nano (10^-9), so it is kept as a whole number of nanos and all arithmetic is exact. Three things differ: text that is
not canonical is not kept (``1.500`` is written ``1500m``), a number needs a digit (in Go ``m`` is zero), and exponents
are bounded, so that a few bytes of text cannot produce gigabytes of digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from string import digits

from extapi.api.strconv import parse_int

_FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NUMBER_WRONG = "unable to parse numeric part of quantity"
_SUFFIX_WRONG = "unable to parse quantity's suffix"

_MAX_LENGTH = 512
_MAX_EXPONENT = 512
_MAX_BINARY = 2**63 - 1

_NANOS = 10**9
_SUFFIX_LETTERS = "eEinumkKMGTP"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIXES = ("", *_BINARY)


class QuantityFormat(Enum):
    """The family of suffixes that a quantity was read with, and is written with."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount. Only the amount counts in comparisons: ``1Ki`` equals ``1024``.

    Example::

        total = Quantity.parse("1500m") + Quantity.parse("2") * 3
        assert (str(total), total.value, total > Quantity.parse("7")) == ("7500m", 8, True)
    """

    nanos: int
    """The amount times 10^9."""
    format: QuantityFormat = field(default=QuantityFormat.DECIMAL_SI, compare=False)

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity. Amounts are rounded away from zero to whole nanos; with a binary suffix they end at 2^63-1.

        Raises:
            ValueError: The text is not a quantity; the message is apimachinery's.
        """
        number = text[1:] if text[:1] in ("+", "-") else text
        whole, rest = _split(number, digits)
        part, suffix = _split(rest[1:], digits) if rest[:1] == "." else ("", rest)
        if not (whole or part) or not _is_suffix(suffix):
            raise ValueError(_FORMAT_WRONG)
        if len(text) > _MAX_LENGTH:
            raise ValueError(_NUMBER_WRONG)
        base, exponent, suffixes = _suffix(suffix)
        amount = Fraction(int(whole + part), 10 ** len(part)) * Fraction(base) ** exponent
        nanos = -(-amount.numerator * _NANOS // amount.denominator)
        if suffixes is QuantityFormat.BINARY_SI:
            nanos = min(nanos, _MAX_BINARY * _NANOS)
            if 0 < nanos < _NANOS:
                suffixes = QuantityFormat.DECIMAL_SI
        return cls(-nanos if text[0] == "-" else nanos, suffixes)

    @classmethod
    def of(
        cls,
        number: int | Decimal | Fraction,
        format: QuantityFormat = QuantityFormat.DECIMAL_SI,  # noqa: A002 - the field's name
    ) -> Quantity:
        """Make a quantity of a number, rounded away from zero to whole nanos."""
        amount = Fraction(number)
        nanos = -(-abs(amount.numerator) * _NANOS // amount.denominator)
        return cls(-nanos if amount < 0 else nanos, format)

    def __str__(self) -> str:
        """The canonical text: no fraction, the largest suffix that fits; binary suffixes only from 1024 on."""
        if not self.nanos:
            return "0"
        whole, rest = divmod(self.nanos, _NANOS)
        if self.format is QuantityFormat.BINARY_SI and not rest and abs(whole) >= 1024:
            return _binary(whole)
        return _decimal(self.nanos, si=self.format is not QuantityFormat.DECIMAL_EXPONENT)

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, in the format of ``self`` unless that is zero."""
        return Quantity(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        """The difference, in the format of ``self`` unless that is zero."""
        return self + -other

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.format)

    def __mul__(self, times: int) -> Quantity:
        """The quantity, multiplied."""
        return Quantity(self.nanos * times, self.format)

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        return bool(self.nanos)

    @property
    def value(self) -> int:
        """The amount, rounded away from zero to a whole number."""
        return self._rounded(_NANOS)

    @property
    def milli_value(self) -> int:
        """A thousand times the amount, rounded away from zero to a whole number."""
        return self._rounded(_NANOS // 1000)

    def _rounded(self, unit: int) -> int:
        magnitude = -(-abs(self.nanos) // unit)
        return -magnitude if self.nanos < 0 else magnitude

    @property
    def fraction(self) -> Fraction:
        """The exact amount."""
        return Fraction(self.nanos, _NANOS)


def _split(text: str, chars: str) -> tuple[str, str]:
    """The run of these characters at the start, and the rest."""
    rest = text.lstrip(chars)
    return text[: len(text) - len(rest)], rest


def _is_suffix(text: str) -> bool:
    """Whether the text is ``[eEinumkKMGTP]*[-+]?[0-9]*``: more than the suffixes that have a meaning."""
    after = text.lstrip(_SUFFIX_LETTERS)
    return not (after[1:] if after[:1] in ("+", "-") else after).strip(digits)


def _suffix(suffix: str) -> tuple[int, int, QuantityFormat]:
    """Base, exponent and format."""
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], QuantityFormat.DECIMAL_SI
    if suffix in _BINARY:
        return 2, _BINARY[suffix], QuantityFormat.BINARY_SI
    try:
        exponent = parse_int(suffix[1:]) if suffix[0] in "eE" else _MAX_EXPONENT + 1
    except ValueError:
        exponent = _MAX_EXPONENT + 1
    if abs(exponent) > _MAX_EXPONENT:
        raise ValueError(_SUFFIX_WRONG)
    return 10, exponent, QuantityFormat.DECIMAL_EXPONENT


def _decimal(nanos: int, *, si: bool) -> str:
    written = str(nanos)
    mantissa = written.rstrip("0")
    exponent = len(written) - len(mantissa) - 9
    surplus = exponent % 3
    exponent -= surplus
    mantissa += "0" * surplus
    if not exponent:
        return mantissa
    # There is no suffix above E (10^18): such numbers are written with an exponent.
    suffix = _DECIMAL_SUFFIXES.get(exponent) if si else None
    return mantissa + (f"e{exponent}" if suffix is None else suffix)


def _binary(whole: int) -> str:
    power = 0
    while whole % 1024 == 0 and power < len(_BINARY):
        whole //= 1024
        power += 1
    return f"{whole}{_BINARY_SUFFIXES[power]}"
