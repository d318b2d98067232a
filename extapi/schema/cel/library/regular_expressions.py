"""Regular expressions in Go's syntax: compiled once, searched in linear time, with Go's words about what is wrong.

RE2 reads what Go reads, except ``\\C``. Texts are searched as UTF-8, by RE2 itself: its wrapper for Python takes four
times as long.

Source: ``regexp`` Regexp, ``regexp/syntax`` Error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError

_TEXTS: Final = {
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "invalid UTF-8": "invalid UTF-8",
    "pattern too large - compile failed": "expression too large",
}
"""RE2's words, and Go's."""
_MOST_REPEATS: Final = 1000
_INVALID: Final = "\\y"
_MOST_SCANNED: Final = 1 << 32
"""Bytes of a text times matches in it. Each match may cost a scan of all the rest of the text, in Go as well."""


class Pattern:
    """A compiled regular expression."""

    __slots__ = ("_anchor", "_regexp")

    def __init__(self, regexp: Any, anchor: Any) -> None:
        self._regexp = regexp
        self._anchor = anchor

    def matches(self, text: str) -> bool:
        """Whether it matches anywhere in the text."""
        data = _encoded(text)
        return bool(self._regexp.Match(self._anchor, data, 0, len(data))[0][0] >= 0)

    def find(self, text: str) -> str:
        """The first match; nothing if there is none."""
        data = _encoded(text)
        start, end = self._regexp.Match(self._anchor, data, 0, len(data))[0]
        return data[start:end].decode() if start >= 0 else ""

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """All matches that do not overlap, or as many as ``limit`` says if it is not negative.

        Source: ``regexp`` Regexp.allMatches.
        """
        data = _encoded(text)
        length = len(data)
        most = length + 1 if limit < 0 else limit
        found: list[str] = []
        position, previous = 0, -1
        while len(found) < most and position <= length:
            start, end = self._regexp.Match(self._anchor, data, position, length)[0]
            if start < 0:
                break
            if end != position or start != previous:  # no empty match right after a match
                found.append(data[start:end].decode())
                if len(found) * length > _MOST_SCANNED:
                    raise EvaluationError("findAll: too many matches in a long text")
            position = end if end != position else position + _width(data, position)
            previous = end
        return found


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates, which Go's decoder replaces by U+FFFD
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _width(data: bytes, position: int) -> int:
    """Bytes of the character there."""
    first = data[position] if position < len(data) else 0
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Pattern:
    """Compile a pattern.

    Raises:
        ValueError: It is not valid. The message is Go's, such as ``error parsing regexp: missing closing ): `(```.
    """
    import re2  # noqa: PLC0415 - the library and the C++ that it needs are 4 MB, and most rules have no pattern

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        made = re2.compile(_encoded(_without_any_byte(pattern)), options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise ValueError(
            f"error parsing regexp: {_in_go(reason.decode('utf-8', 'replace') if isinstance(reason, bytes) else reason)}"
        ) from None
    return Pattern(made._regexp, re2._Anchor.UNANCHORED)  # noqa: SLF001 - what the wrapper wraps


def searcher(pattern: str) -> Callable[[str], bool]:
    """What tells whether the pattern matches anywhere in a text.

    Raises:
        EvaluationError: The pattern is wrong.
    """
    try:
        return compiled(pattern).matches
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern matches anywhere in the text."""
    return searcher(pattern)(text)


def _in_go(reason: str) -> str:
    words, _, part = reason.partition(": ")
    words, part = _TEXTS.get(words, words), part.replace(_INVALID, "\\C")
    if words == "invalid UTF-8" and not part:
        return "invalid escape sequence: `\\x{`"
    if words == "invalid repeat count":
        part = part.removesuffix("?")
    elif words == "invalid nested repetition operator":
        # Go reads a count before it looks at what it belongs to.
        count = part[part.find("{") :] if "{" in part else ""
        if count and _is_wrong_count(count):
            return f"invalid repeat count: `{count}`"
    return f"{words}: `{part}`"


def _is_wrong_count(text: str) -> bool:
    least, comma, most = text.strip("{}").partition(",")
    numbers = [int(each) for each in (least, most) if each.isdecimal() and len(each) < 9]
    return any(each > _MOST_REPEATS for each in numbers) or (bool(comma) and numbers != sorted(numbers))


def _without_any_byte(pattern: str) -> str:
    """The pattern with an escape in place of ``\\C`` that is not valid in RE2 either, where it stands for any byte.

    Between ``\\Q`` and ``\\E`` it is text.
    """
    if "\\C" not in pattern:
        return pattern
    parts: list[str] = []
    start = 0
    at = pattern.find("\\")
    while at >= 0:
        escaped = pattern[at + 1 : at + 2]
        if escaped == "C":
            parts += (pattern[start:at], _INVALID)
            start = at + 2
        if escaped == "Q":
            end = pattern.find("\\E", at + 2)
            if end < 0:
                break
            at = end
        at = pattern.find("\\", at + 2)
    return "".join((*parts, pattern[start:]))
