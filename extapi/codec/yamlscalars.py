"""What a plain YAML scalar means.

Responsible for: the resolution of scalars as go-yaml does it for kube-apiserver (YAML 1.1: ``on`` and ``y`` are true).
Must not know documents or events.
Source: ``go.yaml.in/yaml/v2`` resolve.go, spec's notes on decoding.
"""

from __future__ import annotations

import re

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
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES = (16, 2, 8, 10)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NUMERIC_START = frozenset("+-.0123456789")
_MAX_NUMBER = 400
"""Characters of a number; what is longer stays a string, as Python's own limit on digits must not matter."""
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?")


def resolve(text: str) -> Scalar:
    """The value of a plain scalar. Timestamps stay strings, base 60 is not read."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START or len(text) > _MAX_NUMBER:
        return text
    plain = text.replace("_", "")
    match = _INTEGER.fullmatch(plain)
    if match and text[0] != ".":
        sign, *digits = match.groups()
        value = next(int(found, base) for found, base in zip(digits, _BASES, strict=True) if found is not None)
        value = -value if sign == "-" else value
        # A sign goes only with 64 bits signed; what fits neither way is a float.
        if -(2**63) <= value < (2**63 if sign else 2**64):
            return value
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        return number if abs(number) != float("inf") else text
    return text


def is_ambiguous(text: str) -> bool:
    """Whether the text, written plain, would be read as something else than this string by some YAML reader."""
    if text == MERGE or not isinstance(resolve(text), str):
        return True
    return bool(_SEXAGESIMAL.fullmatch(text) or _TIMESTAMP.fullmatch(text))
