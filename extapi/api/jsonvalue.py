"""JSON values that every client can read: numbers as Go's decoder reads them, and as its encoder writes them.

Responsible for: which Python value a number's text stands for, which text a number gets, and the search for what is no JSON
in an object that an author's code made. Knows nothing of objects, schemas or requests.

A number is an int64 where it is written as one. Any other is a float64, and integral floats below 1e21 are written as
integers again, with the digits of the shortest form, so that such integers may be longer than an int64.
Source: ``sigs.k8s.io/json`` (``decodeState.convertNumber``), ``encoding/json`` (``floatEncoder``).
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import msgspec

__all__ = [
    "INT64",
    "NotJSONError",
    "NumberRangeError",
    "check",
    "go_json",
    "has_long_number",
    "is_plain",
    "read_clamped",
    "read_float",
    "read_integer",
    "written",
]

INT64: Final = range(-(2**63), 2**63)
_EXACT: Final = 2.0**53
_LONGEST_INTEGER: Final = 1e21
"""From here on Go writes floats with an exponent."""
_SHOWN: Final = 1024
"""Characters of a number that a refusal shows; a body may consist of one number."""


class NumberRangeError(ValueError):
    """No float64 holds the number; the message is Go's. ``value``: what the text says else, infinite where a number is too large."""

    def __init__(self, number: str) -> None:
        self.number = number if len(number) <= _SHOWN else f"{number[:_SHOWN]}..."
        self.value: Any = None
        super().__init__(f"json: cannot unmarshal number {self.number} into Go value of type float64")


class NotJSONError(ValueError):
    """A value that no JSON text stands for, or none that clients can read. ``path``: where it is; ``why``: what it is."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path or 'the value'} is {why}")
        self.path = path
        self.why = why


def read_integer(text: str) -> int | float:
    """The value of a JSON number without point and exponent. Raises :class:`NumberRangeError`.

    Linear in the digits: Python's ``int`` is not, and reads 4300 at most.
    """
    if len(text) <= 20:
        value = int(text)
        if value in INT64:
            return value
    return read_float(text)


def read_float(text: str) -> int | float:
    """The value of any other JSON number. Raises :class:`NumberRangeError`.

    Up to 2^53 an integral one is an integer, since nothing that reads it can tell the difference.
    """
    value = float(text)
    if value in (math.inf, -math.inf):
        raise NumberRangeError(text)
    return int(value) if -_EXACT < value < _EXACT and value.is_integer() else value


def read_clamped(text: str) -> int | float:
    """Any JSON number, but what is too large becomes the largest float: for what is stored and has to be readable."""
    try:
        return read_integer(text) if text.removeprefix("-").isdecimal() else read_float(text)
    except NumberRangeError:
        return math.copysign(sys.float_info.max, float(text))


_DIGITS: Final = bytes(ord("0") if ord("0") <= byte <= ord("9") else ord(" ") for byte in range(256))
_LONG: Final = b"0" * 19


def has_long_number(data: bytes) -> bool:
    """Whether a JSON text may hold a number of as many digits as may not fit an int64; a fraction of the cost of decoding."""
    return _LONG in data.translate(_DIGITS)


_pack = msgspec.msgpack.Encoder().encode
_float64 = struct.Struct(">d").unpack_from
_LOOKED_AT: Final = 100
"""Numbers looked at one by one; a walk through the object costs less than more of them."""


def is_plain(value: Any) -> bool:
    """Whether a value is, for certain, JSON that msgspec writes as Go would; as quick as encoding it.

    msgpack refuses what JSON would take or drop in silence, and marks a float by the byte 0xcb and an integer above 32 bits
    by 0xcf. In texts these bytes begin rare letters: what then looks like a bad number makes the answer no.
    """
    try:
        packed = _pack(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False
    return _all(packed, b"\xcb", _is_fraction) and _all(packed, b"\xcf", _is_int64)


def _all(packed: bytes, mark: bytes, good: Callable[[bytes, int], bool]) -> bool:
    """Whether everything that may be a number of a kind is good; False if it is too much to look at one by one."""
    at = packed.find(mark)
    for _ in range(_LOOKED_AT):
        if at < 0:
            return True
        if at + 9 > len(packed) or not good(packed, at + 1):
            return False
        at = packed.find(mark, at + 1)
    return at < 0


def _is_fraction(packed: bytes, at: int) -> bool:
    (number,) = _float64(packed, at)
    return math.isfinite(number) and not number.is_integer()


def _is_int64(packed: bytes, at: int) -> bool:
    return packed[at] < 0x80


def written(value: Any) -> Any:
    """The value with each number as Go's encoder would write it; not changed itself. Raises :class:`NotJSONError`."""
    try:
        return _written(value, "")
    except RecursionError:
        raise NotJSONError("", "nested too deep") from None


def check(value: Any) -> None:
    """Raises :class:`NotJSONError` for what is no JSON: NaN, infinities, integers beyond int64, lone surrogates, other types."""
    if not is_plain(value):
        written(value)


def _written(value: Any, path: str) -> Any:
    kind = value.__class__
    if kind is str:
        if not value.isascii():
            _check_text(value, path)
        return value
    if kind is int:
        return value if value in INT64 else _long(value, path)
    if kind is dict:
        for key in value:
            if not isinstance(key, str):
                raise NotJSONError(path, f"an object with a key of type {type(key).__name__}")
            if not key.isascii():
                _check_text(key, path)
        return {key: _written(item, f"{path}.{key}" if path else str(key)) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_written(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if kind is float:
        return _float(value, path)
    if kind is bool or value is None:
        return value
    return _other(value, path)


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotJSONError(path, "text with half of a surrogate pair, which is no character") from None


def _float(value: float, path: str) -> int | float:
    if not math.isfinite(value):
        raise NotJSONError(path, "NaN" if math.isnan(value) else "an infinite number")
    if not value.is_integer() or abs(value) >= _LONGEST_INTEGER:
        return value
    return int(value) if abs(value) < _EXACT else int(Decimal(repr(value)))


def _long(value: int, path: str) -> int:
    """An integer beyond int64: only if it is what Go writes for a float64, so that clients read this very number."""
    if abs(value) < _LONGEST_INTEGER and int(Decimal(repr(float(value)))) == value:
        return value
    raise NotJSONError(path, "an integer of more than 64 bits")


def _other(value: Any, path: str) -> Any:
    """What is of none of the types of JSON: msgspec writes structs, enumerations, times and the like."""
    try:
        plain = msgspec.to_builtins(value)
    except (TypeError, ValueError, OverflowError):
        plain = value
    if plain.__class__ is value.__class__:
        raise NotJSONError(path, f"of type {type(value).__name__}, which is no JSON")
    return _written(plain, path)


def go_json(number: float) -> str:
    """A number as Go's ``encoding/json`` writes it: ``9223372036854776000``, ``1e+21``, ``1e-7``, ``0.000001``."""
    if isinstance(number, int):
        return str(number) if number in INT64 else go_json(float(number))
    if not math.isfinite(number):
        return str(number)  # no JSON: for texts only
    if number and not 1e-6 <= abs(number) < _LONGEST_INTEGER:
        digits, _, power = f"{Decimal(repr(number)).normalize():e}".partition("e")
        return f"{digits}e{power}"
    return f"{Decimal(repr(number)).normalize():f}"
