"""Resolves plain YAML scalars as go-yaml does for kube-apiserver (YAML 1.1: ``on`` and ``y`` are true; behaviour N3).

Must not know documents or events.

Source: ``go.yaml.in/yaml/v2`` resolve.go.
"""

from __future__ import annotations

from string import digits, hexdigits, octdigits

from extapi.api.strconv import has_pattern, only_digits

__all__ = ["MERGE", "Scalar", "is_ambiguous", "resolve"]

Scalar = str | int | float | bool | None

MERGE = "<<"
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
    value = _integer(plain)
    # With a sign it must fit int64, without one uint64; otherwise it is a float.
    most = 2**63 if text[0] in "+-" else 2**64
    if value is not None and text[0] != "." and -(2**63) <= value < most:
        return value
    if _is_float(plain):
        number = float(plain)
        return number if abs(number) != float("inf") else text
    return text


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
