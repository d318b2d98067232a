"""JSON values as Go reads and writes them: numbers and texts, equality and copies, and what is not JSON.

Responsible for: the Python value of a number's text, the text of a number, and finding what is not JSON in an object
that an author's code made. Knows nothing of objects, schemas or requests.

A number is an int64 if it is written as one, otherwise a float64. Integral floats below 1e21 are written as integers,
with the digits of the shortest representation; such integers may be longer than an int64.

Source: ``sigs.k8s.io/json`` (``decodeState.convertNumber``), ``encoding/json`` (``floatEncoder``).
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, Final

import msgspec

__all__ = [
    "INT64",
    "NotJSONError",
    "NumberRangeError",
    "check_json",
    "go_json",
    "has_long_number",
    "has_surrogates",
    "in_order",
    "is_plain",
    "json_copier",
    "json_copy",
    "json_equal",
    "looked_at",
    "read_clamped",
    "read_float",
    "read_integer",
    "without_surrogates",
    "written",
]

INT64: Final = range(-(2**63), 2**63)
_EXACT: Final = 2.0**53
_LONGEST_INTEGER: Final = 1e21
"""From this number on, Go writes floats with an exponent."""
_SHOWN: Final = 1024
"""Characters of a number that an error shows: a whole body may be one number."""


class NumberRangeError(ValueError):
    """No float64 holds the number; the message is Go's.

    ``value`` is the decoded text with infinity for such numbers.
    """

    def __init__(self, number: str) -> None:
        self.number = number if len(number) <= _SHOWN else f"{number[:_SHOWN]}..."
        self.value: Any = None
        super().__init__(f"json: cannot unmarshal number {self.number} into Go value of type float64")


class NotJSONError(ValueError):
    """A value that has no JSON, or none that every client can read. ``path`` says where it is, ``why`` what it is."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path or 'the value'} is {why}")
        self.path = path
        self.why = why


def read_integer(text: str) -> int | float:
    """The value of a JSON number without point and exponent.

    Takes linear time, unlike Python's ``int``, which also stops at 4300 digits.

    Raises:
        NumberRangeError: No float64 holds the number.
    """
    if len(text) <= 20:
        value = int(text)
        if value in INT64:
            return value
    return read_float(text)


def read_float(text: str) -> int | float:
    """The value of any JSON number. Up to 2^53 an integral one becomes an ``int``: no reader can tell the difference.

    Raises:
        NumberRangeError: No float64 holds the number.
    """
    value = float(text)
    if value in (math.inf, -math.inf):
        raise NumberRangeError(text)
    return int(value) if -_EXACT < value < _EXACT and value.is_integer() else value


def read_clamped(text: str) -> int | float:
    """Any JSON number; one that is too large becomes the largest float.

    For stored objects, which must stay readable.
    """
    try:
        return read_integer(text) if text.removeprefix("-").isdecimal() else read_float(text)
    except NumberRangeError:
        return math.copysign(sys.float_info.max, float(text))


_DIGITS: Final = bytes(ord("0") if ord("0") <= byte <= ord("9") else ord(" ") for byte in range(256))
_LONG: Final = b"0" * 19
_LOOKED_AT: Final = 100
"""Numbers that are checked one by one; beyond that a walk through the object costs less."""
_BEFORE_NUMBERS: Final = b"\t\n\r ,:[+-.Ee"
"""What may stand before digits outside of a string (RFC 8259)."""


def has_long_number(data: bytes) -> bool:
    """Whether a JSON text may hold a number with too many digits for an int64; costs a fraction of decoding.

    Digits behind anything else than what comes before numbers are in a string, such as a time in nanoseconds: ``"1764..."``.
    """
    digits = data.translate(_DIGITS)
    at = digits.find(_LONG)
    for _ in range(_LOOKED_AT):
        if at < 0:
            return False
        if not at or data[at - 1] in _BEFORE_NUMBERS:
            return True
        end = digits.find(b" ", at)
        at = digits.find(_LONG, end) if end > 0 else -1
    return True


WIDE: Final = 256
"""Members of an object that msgspec may take long to sort: a tenth of a millisecond for so many."""
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode
_float64 = struct.Struct(">d").unpack_from


def is_plain(value: Any) -> bool:
    """Whether a value is certainly JSON that msgspec writes as Go would; as fast as encoding it.

    msgpack refuses values that msgspec's JSON encoder would convert or drop silently. It marks floats with the byte
    0xcb and integers above 32 bits with 0xcf. In texts these bytes begin rare letters; if what follows looks like a bad
    number, the answer is False all the same.
    """
    return looked_at(value)[0]


def looked_at(value: Any) -> tuple[bool, bool]:
    """Whether a value is plain, as :func:`is_plain` says, and whether it certainly has no object of :data:`WIDE` members.

    Of 16 members or more, msgpack marks an object with 0xde or 0xdf.
    """
    try:
        packed = _pack(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False, False
    plain = (b"\xcb" not in packed or _all(packed, b"\xcb", _is_fraction)) and (
        b"\xcf" not in packed or _all(packed, b"\xcf", _is_int64)
    )
    return plain, b"\xdf" not in packed and (b"\xde" not in packed or _all(packed, b"\xde", _is_narrow))


def in_order(value: Any) -> Any:
    """A copy with the members of wide objects sorted.

    msgspec's encoder sorts members, and takes a time that is quadratic where a small one follows many that are in order.
    """
    if value.__class__ is dict:
        names = sorted(value) if len(value) >= WIDE and all(name.__class__ is str for name in value) else value
        return {name: in_order(value[name]) for name in names}
    if value.__class__ is list or value.__class__ is tuple:
        return [in_order(item) for item in value]
    return value


def _all(packed: bytes, mark: bytes, good: Callable[[bytes, int], bool]) -> bool:
    """Whether everything behind ``mark`` is good; False if there is too much to check one by one."""
    at = packed.find(mark)
    for _ in range(_LOOKED_AT):
        if at < 0:
            return True
        if at + 9 > len(packed) or not good(packed, at + 1):
            return False
        at = packed.find(mark, at + 1)
    return at < 0


def _is_narrow(packed: bytes, at: int) -> bool:
    return packed[at] < WIDE >> 8


def _is_fraction(packed: bytes, at: int) -> bool:
    (number,) = _float64(packed, at)
    return math.isfinite(number) and not number.is_integer()


def _is_int64(packed: bytes, at: int) -> bool:
    return packed[at] < 0x80


def written(value: Any) -> Any:
    """A copy of the value with each number as Go's encoder writes it.

    Raises:
        NotJSONError: The value is not JSON.
    """
    try:
        return _written(value, "")
    except RecursionError:
        raise NotJSONError("", "nested too deeply") from None


def check_json(value: Any) -> None:
    """Refuse what is not JSON: NaN, infinities, integers beyond int64, lone surrogates, other types.

    Raises:
        NotJSONError: The value is not JSON.
    """
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
    if has_surrogates(text):
        raise NotJSONError(path, "text with half of a surrogate pair, which is not a character")


def has_surrogates(text: str) -> bool:
    """Whether a text holds lone surrogates: code points that Python strings can hold and UTF-8 cannot."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def without_surrogates(text: str) -> str:
    """The text with U+FFFD in place of each lone surrogate, as Go's decoder reads it."""
    return text if text.isascii() else text.translate(_REPLACED)


_REPLACED: Final = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def _float(value: float, path: str) -> int | float:
    if not math.isfinite(value):
        raise NotJSONError(path, "NaN" if math.isnan(value) else "an infinite number")
    if not value.is_integer() or abs(value) >= _LONGEST_INTEGER:
        return value
    return int(value) if abs(value) < _EXACT else int(Decimal(repr(value)))


def _long(value: int, path: str) -> int:
    """An integer beyond int64 is allowed only if Go writes it for a float64: then clients read exactly this number."""
    if abs(value) < _LONGEST_INTEGER and int(Decimal(repr(float(value)))) == value:
        return value
    raise NotJSONError(path, "an integer of more than 64 bits")


def _other(value: Any, path: str) -> Any:
    """A value of another type: msgspec converts structs, enumerations, times and the like."""
    try:
        plain = msgspec.to_builtins(value)
    except (TypeError, ValueError, OverflowError):
        plain = value
    if plain.__class__ is value.__class__:
        raise NotJSONError(path, f"of type {type(value).__name__}, which is not JSON")
    return _written(plain, path)


def json_equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal; unlike with ``==``, True is not 1."""
    if left != right:
        return False
    if isinstance(left, dict | list):
        try:
            if _pack(left) == _pack(right):  # quicker than piece by piece, if members are in the same order
                return True
        except (TypeError, ValueError, OverflowError, RecursionError):  # half of a surrogate pair, a long integer
            pass
        return _equal(left, right)
    return isinstance(left, bool) == isinstance(right, bool)


def _equal(left: Any, right: Any) -> bool:
    """The same for values that Python calls equal."""
    if isinstance(left, dict):
        return all(_equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return all(map(_equal, left, right))
    return isinstance(left, bool) == isinstance(right, bool)


def json_copy(value: Any) -> Any:
    """A deep copy of a JSON value.

    It goes through msgpack, which takes a third of the time of copying piece by piece.
    """
    try:
        return _unpack(_pack(value))
    except (TypeError, ValueError, OverflowError):  # an integer of more than 64 bits, half of a surrogate pair
        return _copied(value)


def json_copier(value: Any) -> Callable[[], Any]:
    """:func:`json_copy` of one value again and again."""
    if not isinstance(value, dict | list):
        return lambda: value
    try:
        return partial(_unpack, _pack(value))
    except (TypeError, ValueError, OverflowError):
        return partial(_copied, value)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def go_json(number: float) -> str:
    """A number as Go's ``encoding/json`` writes it: ``9223372036854776000``, ``1e+21``, ``1e-7``, ``0.000001``."""
    if isinstance(number, int):
        return str(number) if number in INT64 else go_json(float(number))
    if not math.isfinite(number):
        return str(number)  # not JSON: for messages only
    if number and not 1e-6 <= abs(number) < _LONGEST_INTEGER:
        digits, _, power = f"{Decimal(repr(number)).normalize():e}".partition("e")
        return f"{digits}e{power}"
    return f"{Decimal(repr(number)).normalize():f}"
