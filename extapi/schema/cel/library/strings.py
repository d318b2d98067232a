"""Functions of strings.

They are cel-go's extended strings in version 2 (from Kubernetes 1.29 on), and in version 0 (before). Positions count
code points.

Source: ``cel-go/ext`` strings.go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from extapi.schema.cel.declarations import Operand, Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.intervals import LARGEST, NOTHING, Interval
from extapi.schema.cel.library.charges import deep_walk, deep_walk_estimate, walk, walk_estimate
from extapi.schema.cel.library.string_format import formatted
from extapi.schema.cel.values.showing import show
from extapi.schema.cel.values.sizes import LONGEST_TEXT, tenth

_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""Go's unicode.IsSpace; Python's is wider."""
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_ESCAPES: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)
_SHORT: Final = 1 << 16
"""Up to this product of lengths, a search that is quadratic at worst does no harm."""


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str) -> int:
    return _last_index_from(text, part, len(text) - 1) if part and text else -1 if part else len(text)


def _last_index_from(text: str, part: str, start: int) -> int:
    if not part:
        return start
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    if start >= len(text):
        return -1
    if len(text) * len(part) <= _SHORT:
        return text.rfind(part, 0, start + len(part))
    # Python finds in linear time only from left to right.
    found = text[: start + len(part)][::-1].find(part[::-1])
    return -1 if found < 0 else min(start + len(part), len(text)) - found - len(part)


def _lower_ascii(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_LOWER)


def _upper_ascii(text: str) -> str:
    return text.upper() if text.isascii() else text.translate(_UPPER)


def _replace(text: str, old: str, new: str, times: int = -1) -> str:
    if len(new) > len(old) and len(text) * len(new) > LONGEST_TEXT:
        found = text.count(old)
        count = found if times < 0 else min(found, times)
        if len(text) + count * (len(new) - len(old)) > LONGEST_TEXT:
            raise EvaluationError("replace: the result is too long")
    return text.replace(old, new, times)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    return text[start:]


def _substring_to(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for each in (start, end):
        if not 0 <= each <= len(text):
            raise EvaluationError(f"index out of range: {each}")
    return text[start:end]


def _trim(text: str) -> str:
    return text.strip(_SPACE)


def quoted(text: str) -> str:
    """The text between quotes, with CEL's escapes."""
    return f'"{text.translate(_ESCAPES)}"'


def _join(parts: list[Any], separator: str = "") -> str:
    size = len(separator) * len(parts)
    for each in parts:
        if type(each) is not str:
            raise EvaluationError(f"join: invalid input: {show(each)}")
        size += len(each)
    if size > LONGEST_TEXT:
        raise EvaluationError("join: the result is too long")
    return separator.join(parts)


def _join_cost(arguments: Sequence[Any], result: Any) -> int:
    parts = arguments[0]
    if (
        isinstance(result, EvaluationError)
        or not isinstance(parts, list)
        or not all(type(each) is str for each in parts)
    ):
        return 1
    separator = arguments[1] if len(arguments) > 1 else ""
    between = len(separator) * (len(parts) - 1) if isinstance(separator, str) and parts else 0
    return tenth((sum(map(len, parts)) + between) * 2)


def _join_estimate(receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    if receiver is None:
        return Interval(1, 1), None
    parts = receiver.size()
    element = receiver.element()
    size = NOTHING if element is None else parts.times(element.size())
    if arguments:
        size = size.plus(arguments[0].size().times(Interval(max(parts.min - 1, 0), max(parts.max - 1, 0))))
    return size.scaled(0.1), size


def _replace_estimate(receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    if receiver is None:
        return Interval(1, 1), None
    text, old, new = receiver.size(), arguments[0].size(), arguments[1].size()
    kept_least = kept_most = least = most = 0
    if old.min == 0:  # what is replaced may be empty, which is before and after each character
        most = min(text.max + 1, LARGEST)
        kept_most = text.max
    elif new.max <= old.min:
        kept_most = text.max
    else:
        most = _quotient(text.max, old.min)
    if old.max == 0:
        least = min(text.min + 1, LARGEST)
        kept_least = text.min
    elif old.max <= new.min:
        kept_least = text.min
    else:
        least = _quotient(text.min, old.max)
    return text.scaled(0.2), Interval(least, most).times(new).plus(Interval(kept_least, kept_most))


def _quotient(number: int, divisor: int) -> int:
    return min(math.ceil(float(number) / float(divisor)), LARGEST)


def _split_estimate(receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    if receiver is None:
        return Interval(1, 1), None
    size = receiver.size()
    most = size.max
    if len(arguments) > 1:
        limit = arguments[1].literal()
        if type(limit) is int:
            most = limit & LARGEST
    return size.scaled(0.2), Interval(0, most)


def _quote_estimate(_receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    size = arguments[0].size()
    largest = Interval((size.min + 2) & LARGEST, (size.max * 2 + 2) & LARGEST)
    return size.scaled(0.1), largest


_ONCE: Final = walk()
_TWICE: Final = walk(2)
_ONCE_SIZED: Final = walk_estimate(sized=True)

_BASE: Final[tuple[Overload, ...]] = (
    overload("string_char_at_int", ".charAt(string, int) -> string", _char_at),
    overload(
        "string_index_of_string",
        ".indexOf(string, string) -> int",
        _index_of,
        cost=deep_walk,
        estimate=deep_walk_estimate,
    ),
    overload(
        "string_index_of_string_int",
        ".indexOf(string, string, int) -> int",
        _index_of,
        cost=deep_walk,
        estimate=deep_walk_estimate,
    ),
    overload(
        "string_last_index_of_string",
        ".lastIndexOf(string, string) -> int",
        _last_index_of,
        cost=deep_walk,
        estimate=deep_walk_estimate,
    ),
    overload(
        "string_last_index_of_string_int",
        ".lastIndexOf(string, string, int) -> int",
        _last_index_from,
        cost=deep_walk,
        estimate=deep_walk_estimate,
    ),
    overload("string_lower_ascii", ".lowerAscii(string) -> string", _lower_ascii, cost=_ONCE, estimate=_ONCE_SIZED),
    overload(
        "string_replace_string_string",
        ".replace(string, string, string) -> string",
        _replace,
        cost=_TWICE,
        estimate=_replace_estimate,
    ),
    overload(
        "string_replace_string_string_int",
        ".replace(string, string, string, int) -> string",
        _replace,
        cost=_TWICE,
        estimate=_replace_estimate,
    ),
    overload(
        "string_split_string", ".split(string, string) -> list(string)", _split, cost=_TWICE, estimate=_split_estimate
    ),
    overload(
        "string_split_string_int",
        ".split(string, string, int) -> list(string)",
        _split,
        cost=_TWICE,
        estimate=_split_estimate,
    ),
    overload("string_substring_int", ".substring(string, int) -> string", _substring, cost=_ONCE, estimate=_ONCE_SIZED),
    overload(
        "string_substring_int_int",
        ".substring(string, int, int) -> string",
        _substring_to,
        cost=_ONCE,
        estimate=_ONCE_SIZED,
    ),
    overload("string_trim", ".trim(string) -> string", _trim, cost=_ONCE, estimate=_ONCE_SIZED),
    overload("string_upper_ascii", ".upperAscii(string) -> string", _upper_ascii, cost=_ONCE, estimate=_ONCE_SIZED),
)
_FORMAT: Final[tuple[Overload, ...]] = (
    overload(
        "string_format",
        ".format(string, list(dyn)) -> string",
        formatted,
        cost=_ONCE,
        estimate=walk_estimate(),
    ),
    overload("strings_quote", "strings.quote(string) -> string", quoted, cost=_ONCE, estimate=_quote_estimate),
)
_JOIN: Final[tuple[Overload, ...]] = (
    overload("list_join", ".join(list(string)) -> string", _join, cost=_join_cost, estimate=_join_estimate),
    overload(
        "list_join_string",
        ".join(list(string), string) -> string",
        _join,
        cost=_join_cost,
        estimate=_join_estimate,
    ),
)

STRINGS_V0: Final = _BASE + _JOIN
"""Before Kubernetes 1.29. What ``join`` says about an element that is no string is version 2's text here, too."""
STRINGS: Final = _BASE + _FORMAT + _JOIN
"""From Kubernetes 1.29 on."""
