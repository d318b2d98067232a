"""Resolves plain YAML scalars as go-yaml does for kube-apiserver (YAML 1.1: ``on`` and ``y`` are true; behaviour N3).

Also those with a tag, and scalars as keys. Must not know documents or nodes.

Source: ``go.yaml.in/yaml/v2`` resolve.go; for keys ``sigs.k8s.io/yaml``.
"""

from __future__ import annotations

import base64
import calendar
import math
import struct
from itertools import pairwise
from string import digits, hexdigits, octdigits
from typing import Any

from extapi.api.jsonvalue import without_surrogates
from extapi.api.strconv import has_pattern, only_digits
from extapi.codec.gobytes import canonical_bytes
from extapi.errors import go_float, go_quote

__all__ = ["MERGE", "TAG", "Scalar", "YAMLError", "is_ambiguous", "resolve", "scalar_key", "scalar_value", "shown_key"]

Scalar = str | int | float | bool | None

MERGE = "<<"
TAG = "tag:yaml.org,2002:"
"""What ``!!`` stands for."""


class YAMLError(ValueError):
    """The text is not YAML, or beyond the bounds; the message is go-yaml's, with its prefix ``yaml: ``."""


_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_BASES = (("0x", 16, hexdigits), ("0b", 2, "01"), ("0o", 8, octdigits), ("0", 8, octdigits), ("", 10, digits))
"""The prefixes of integers with base and digits; the first that fits counts."""
_IN_NUMBER = f"{digits}_"
_NUMERIC_START = frozenset("+-.0123456789")
_MAX_NUMBER = 400
"""Characters of a number. A longer one stays a string, so that Python's own limit on digits never matters."""


def resolve(text: str) -> Scalar:
    """The value of a plain scalar. Timestamps stay strings, base 60 is not read."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START or len(text) > _MAX_NUMBER:
        return text
    plain = text.replace("_", "")
    if text[0] == "." and plain != text and not _separates_digits(text):
        return text  # strconv.ParseFloat reads it, and is stricter than go-yaml is with all other numbers
    value = _integer(plain)
    # With a sign it must fit int64, without one uint64; otherwise it is a float.
    most = 2**63 if text[0] in "+-" else 2**64
    if value is not None and text[0] != "." and -(2**63) <= value < most:
        return value
    if _is_float(plain):
        number = float(plain)
        return number if abs(number) != float("inf") else text
    return text


def scalar_value(tag: str, text: str, *, implicit: bool) -> Scalar:
    """The value of a scalar, as go-yaml has it before anything is JSON.

    Args:
        tag: The whole tag; empty if it has none.
        text: Its text.
        implicit: Whether the text says what it is, if there is no tag.

    Raises:
        YAMLError: The text is none of the tag.
    """
    if tag == f"{TAG}binary":
        return _binary(text)
    if tag in _TYPES:
        return _tagged(tag, text)
    return resolve(text) if implicit and not tag else text


def _tagged(tag: str, text: str) -> Scalar:
    if tag == _TIMESTAMP and _is_go_time(text):
        return text
    value = resolve(text)
    found = next(name for name, kind in _NAMES.items() if type(value) is kind)
    if f"{TAG}{found}" == tag:
        return value
    if tag == _FLOAT and found == "int" and isinstance(value, int) and value < 2**63:
        return float(value)
    raise YAMLError(f"yaml: cannot decode !!{found} `{text[:64]}` as a !!{tag.removeprefix(TAG)}")


def _binary(text: str) -> str:
    """What base64 stands for, as JSON shows it. Line breaks are ignored; blanks are wrong."""
    try:
        data = base64.b64decode(canonical_bytes(text))
    except ValueError:
        raise YAMLError("yaml: !!binary value contains invalid base64 data") from None
    # Each bad byte becomes a character, as in Go; "replace" joins some of them.
    return without_surrogates(data.decode("utf-8", "surrogateescape"))


def _is_go_time(text: str) -> bool:
    """Whether Go's ``time.Parse`` reads the text: a date; with T, a clock and a zone, or with blanks and a clock."""
    rest = text.lstrip(f"{digits}-")
    if not _is_date(text[: len(text) - len(rest)]):
        return False
    if not rest or rest[0] == " ":
        return not rest or _is_clock(rest.lstrip(" "))
    if rest[0] not in "Tt":
        return False
    if rest.endswith("Z"):
        return _is_clock(rest[1:-1])
    sign, zone = rest[-6:-5], rest[-5:]
    is_zone = sign in ("+", "-") and has_pattern(zone, b"00:00") and int(zone[:2]) <= 24 and int(zone[3:]) <= 60
    return is_zone and _is_clock(rest[1:-6])


def _is_date(text: str) -> bool:
    year, *others = text.split("-")
    if len(year) != 4 or not only_digits(year) or len(others) != 2 or not all(map(_is_short, others)):
        return False
    month, day = map(int, others)
    return 1 <= month <= 12 and 1 <= day <= (28 + calendar.isleap(int(year)) if month == 2 else _DAYS[month - 1])


def _is_clock(text: str) -> bool:
    """Whether the text is a time of day; its fraction may have any number of digits."""
    whole, mark, fraction = text.replace(",", ".").partition(".")
    parts = whole.split(":")
    if len(parts) != 3 or not all(map(_is_short, parts)) or (mark and not only_digits(fraction)):
        return False
    return all(int(part) < most for part, most in zip(parts, (24, 60, 60), strict=True))


def _is_short(text: str) -> bool:
    return len(text) <= 2 and only_digits(text)


def scalar_key(value: Any) -> str:
    """A key as the string that ``sigs.k8s.io/yaml`` makes of it.

    Args:
        value: What :func:`scalar_value` found; or a list or map.

    Raises:
        YAMLError: JSON cannot have such a key.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value < 2**63:
        return str(value)
    if isinstance(value, float):
        shown = go_float(_as_float32(value))
        return _INFINITE.get(shown, shown)
    kinds = {type(None): "<nil>", int: "uint64", list: "list"}
    raise YAMLError(f"yaml: unsupported map key of type: {kinds.get(type(value), 'map')}")


def shown_key(value: Scalar) -> str:
    """A key as Go's ``%#v`` shows it."""
    if isinstance(value, str):
        return go_quote(value)
    return go_float(value) if isinstance(value, float) else str(value).lower()


def _as_float32(value: float) -> float:
    """The float with the fewest digits that is the same number in 32 bits; infinite if it is too large for them."""
    if not math.isfinite(value):
        return value
    try:
        (single,) = struct.unpack("f", packed := struct.pack("f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    shorter = (float(f"{single:.{places}e}") for places in range(8))
    return next((each for each in shorter if _packed(each) == packed), single)


def _packed(value: float) -> bytes:
    try:
        return struct.pack("f", value)
    except OverflowError:
        return b""


def is_ambiguous(text: str) -> bool:
    """Whether some YAML reader would take the text, written plain, for something other than this string."""
    if text == MERGE or not isinstance(resolve(text), str):
        return True
    return text[0] in _NUMERIC_START and (_is_sexagesimal(text) or _is_timestamp(text))


def _unsigned(text: str) -> str:
    return text[1:] if text[:1] in ("+", "-") else text


def _integer(text: str) -> int | None:
    number = _unsigned(text)
    if number == "0":
        return 0
    start, base, allowed = next(each for each in _BASES if number[: len(each[0])].lower() == each[0])
    found = number[len(start) :]
    if not found or found.strip(allowed):
        return None
    return -int(found, base) if text[0] == "-" else int(found, base)


def _separates_digits(text: str) -> bool:
    """Whether each underscore is between two digits."""
    parts = text.split("_")
    return all(only_digits(one[-1:] + next_[:1]) and one and next_ for one, next_ in pairwise(parts))


def _is_float(text: str) -> bool:
    mantissa, mark, exponent = _unsigned(text).lower().partition("e")
    whole, _, part = mantissa.partition(".")
    return only_digits(whole + part) and (not mark or only_digits(_unsigned(exponent)))


def _is_sexagesimal(text: str) -> bool:
    """Whether the text is a YAML 1.1 number in base 60, such as ``1:30:00.5``."""
    number, _, part = _unsigned(text).partition(".")
    first, *others = number.split(":")
    if not others or not only_digits(first[:1]) or first.strip(_IN_NUMBER) or part.strip(_IN_NUMBER):
        return False
    return all(only_digits(each) and len(each) <= 2 and int(each) < 60 for each in others)


def _is_timestamp(text: str) -> bool:
    """Whether the text is a date, or begins with one and continues as a YAML 1.1 timestamp may."""
    for form in _DATES:
        rest = text[len(form) :]
        if has_pattern(text[: len(form)], form) and (not rest or (rest[0] in "Tt " and "\n" not in rest)):
            return True
    return False


_DATES = (b"0000-00-00", b"0000-0-00", b"0000-00-0", b"0000-0-0")

_TIMESTAMP = f"{TAG}timestamp"
_FLOAT = f"{TAG}float"
_TYPES = frozenset(f"{TAG}{name}" for name in ("int", "float", "bool", "null", "timestamp"))
_NAMES: dict[str, type] = {"str": str, "bool": bool, "int": int, "float": float, "null": type(None)}
_INFINITE = {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
