"""From one type to another: ``int("5")``, ``string(1.5)``. One function per overload.

Source: the ConvertToType methods of ``github.com/google/cel-go/common/types``.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

from extapi.errors import go_float
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values.arithmetic import TIMESTAMP_MAX, TIMESTAMP_MIN
from extapi.schema.cel.values.durations import format_duration, parse_duration
from extapi.schema.cel.values.time import NANOSECONDS, format_timestamp, parse_timestamp
from extapi.schema.cel.values.values import INT_MAX, UINT_MAX, Duration, Timestamp, UInt

_DIGITS: Final = 20
"""Digits of the longest number."""
_SIGNS: Final = frozenset("+-")
_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_DECIMAL: Final = re.compile(
    r"[-+]?(?:[0-9]++(?>(?:_[0-9]++)*)\.?(?:[0-9]++(?>(?:_[0-9]++)*))?|\.[0-9]++(?>(?:_[0-9]++)*))"
    r"(?:[eE][-+]?[0-9]++(?>(?:_[0-9]++)*))?"
)
_HEXADECIMAL: Final = re.compile(
    r"[-+]?0[xX](?=[0-9a-fA-F_]|\.[0-9a-fA-F])(?>(?:_?[0-9a-fA-F]++)*)\.?(?:[0-9a-fA-F]++(?>(?:_[0-9a-fA-F]++)*))?"
    r"[pP][-+]?[0-9]++(?>(?:_[0-9]++)*)"
)
_SPECIAL: Final = frozenset(("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan"))


def identity(value: Any) -> Any:
    """The value as it is: ``int(5)``, ``dyn(x)``."""
    return value


def string_to_int(text: str) -> int:
    """An int from decimal digits.

    Source: ``strconv.ParseInt``.
    """
    signed = text[:1] in _SIGNS
    number = _natural(text[1:] if signed else text)
    if number is None or number > INT_MAX + (text[:1] == "-"):
        raise _cannot("string", "int")
    return -number if text[:1] == "-" else number


def _natural(digits: str) -> int | None:
    """A number from decimal digits alone; None if it is none, or has far more than 64 bits."""
    if not (digits.isascii() and digits.isdigit()):
        return None
    if len(digits) > _DIGITS:
        digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= _DIGITS else None


def uint_to_int(value: int) -> int:
    """An int, if the uint is not too large for one."""
    if value > INT_MAX:
        raise EvaluationError("integer overflow")
    return int(value)


def double_to_int(value: float) -> int:
    """An int, rounded towards zero."""
    if not -(2.0**63) < value < 2.0**63:  # NaN, too
        raise EvaluationError("integer overflow")
    return int(value)


def timestamp_to_int(value: int) -> int:
    """Seconds since 1970."""
    return int(value) // NANOSECONDS


def duration_to_int(value: int) -> int:
    """Nanoseconds."""
    return int(value)


def string_to_uint(text: str) -> UInt:
    """A uint from decimal digits.

    Source: ``strconv.ParseUint``.
    """
    number = _natural(text)
    if number is None or number > UINT_MAX:
        raise _cannot("string", "uint")
    return UInt(number)


def int_to_uint(value: int) -> UInt:
    """A uint, unless the int is negative."""
    if value < 0:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


def double_to_uint(value: float) -> UInt:
    """A uint, rounded towards zero."""
    if not 0 <= value < 2.0**64:  # NaN, too
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


def int_to_double(value: int) -> float:
    """The nearest double."""
    return float(value)


def string_to_double(text: str) -> float:
    """A double, decimal or hexadecimal, as in Go.

    Source: ``strconv.ParseFloat``.
    """
    if _DECIMAL.fullmatch(text):
        value = float(text)
    elif _HEXADECIMAL.fullmatch(text):
        value = _hexadecimal(text.replace("_", ""))
    elif text.isascii() and text.lower() in _SPECIAL:
        return float(text)
    else:
        raise _cannot("string", "double")
    if math.isinf(value):
        raise _cannot("string", "double")
    return value


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return math.inf


def string_to_bool(text: str) -> bool:
    """``true`` or ``false``, and what else Go takes for them.

    Source: ``strconv.ParseBool``.
    """
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _cannot("string", "bool")


def string_to_bytes(text: str) -> bytes:
    """UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def bytes_to_string(value: bytes) -> str:
    """From UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def bool_to_string(value: bool) -> str:
    """``true`` or ``false``."""
    return "true" if value else "false"


def int_to_string(value: int) -> str:
    """Decimal digits, of a uint as well."""
    return int.__repr__(value)


def double_to_string(value: float) -> str:
    """As Go's ``%g``."""
    return go_float(value)


def duration_to_string(value: int) -> str:
    """In seconds: ``90s``."""
    return format_duration(value)


def timestamp_to_string(value: Timestamp) -> str:
    """RFC 3339."""
    return format_timestamp(value)


def string_to_timestamp(text: str) -> Timestamp:
    """A time in RFC 3339, from the year 1 on."""
    try:
        value = parse_timestamp(text)
    except ValueError:
        raise _cannot("string", "google.protobuf.Timestamp") from None
    return _checked(value)


def int_to_timestamp(value: int) -> Timestamp:
    """A time from seconds since 1970."""
    return _checked(Timestamp(value * NANOSECONDS))


def _checked(value: Timestamp) -> Timestamp:
    if not TIMESTAMP_MIN <= value <= TIMESTAMP_MAX:
        raise EvaluationError("timestamp overflow")
    return value


def string_to_duration(text: str) -> Duration:
    """A duration such as ``1h30m``."""
    try:
        return parse_duration(text)
    except ValueError:
        raise _cannot("string", "google.protobuf.Duration") from None


def int_to_duration(_value: int) -> Duration:
    """The checker knows this conversion, but Go has forgotten to write it."""
    raise _cannot("int", "google.protobuf.Duration")


def _cannot(from_: str, to: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{from_}' to '{to}'")
