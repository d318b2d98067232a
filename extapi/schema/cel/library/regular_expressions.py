"""Regular expressions in Go's syntax: compiled once, searched in linear time, with Go's words about what is wrong.

Where RE2 does not read what Go reads, :mod:`extapi.schema.pattern_syntax` helps. Texts are searched as UTF-8, by RE2 itself: its wrapper for Python takes four
times as long.

Source: ``regexp`` Regexp, ``regexp/syntax`` Error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.pattern import for_re2

MEMORY_LIMIT: Final = 2 << 20
"""Bytes of a compiled pattern. Objects may bring patterns, and with RE2's own 8 MB one takes 150 ms to compile."""
_DIFFERENT: Final = ("\\C", "\\p", "\\P", "(?P<", "(?<")
"""Where Go and RE2 may differ in what they accept."""
_MOST_SCANNED: Final = 1 << 32
"""Bytes of a text times matches in it. Each match may cost a scan of all the rest of the text, in Go as well."""


class RegularExpression:
    """A compiled regular expression."""

    __slots__ = ("_anchor", "_regexp")

    def __init__(self, regexp: Any, anchor: Any) -> None:
        self._regexp = regexp
        self._anchor = anchor

    def matches(self, text: str) -> bool:
        """Whether it matches anywhere in the text."""
        return self._first(_encoded(text), 0)[0] >= 0

    def find(self, text: str) -> str:
        """The first match; nothing if there is none."""
        data = _encoded(text)
        start, end = self._first(data, 0)
        return data[start:end].decode() if start >= 0 else ""

    def _first(self, data: bytes, position: int) -> tuple[int, int]:
        """Where the first match from a position on begins and ends; -1 if there is none."""
        while True:
            start, end = self._regexp.Match(self._anchor, data, position, len(data))[0]
            if start != end or start < 0 or not _is_inside_character(data, start):
                return start, end
            position = start + 1  # RE2's \B, unlike Go's, also matches inside a character

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
            start, end = self._first(data, position)
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


def _is_inside_character(data: bytes, position: int) -> bool:
    return position < len(data) and 0x80 <= data[position] < 0xC0


def _width(data: bytes, position: int) -> int:
    """Bytes of the character there."""
    first = data[position] if position < len(data) else 0
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


@lru_cache(maxsize=256)
def compiled(pattern: str) -> RegularExpression:
    """Compile a pattern.

    Raises:
        ValueError: It is not valid. The message is Go's, such as ``error parsing regexp: missing closing ): `(```.
    """
    import re2  # noqa: PLC0415 - the library and the C++ that it needs are 4 MB, and most rules have no pattern

    written = pattern
    if any(each in pattern for each in _DIFFERENT):
        written = for_re2(pattern)
    try:
        made = re2.compile(_encoded(written), _options(re2))
    except re2.error as error:
        for_re2(pattern)  # says what is wrong
        raise ValueError(_refused(error, pattern)) from None
    return RegularExpression(made._regexp, re2._Anchor.UNANCHORED)  # noqa: SLF001 - what the wrapper wraps


def _options(re2: Any) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = MEMORY_LIMIT
    return options


def _refused(error: Exception, pattern: str) -> str:
    """Of a pattern that Go takes and RE2 does not: nearly always one that is too large."""
    reason = error.args[0] if error.args else b""
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    if text.startswith("pattern too large"):
        text = f"expression too large: `{pattern}`"
    return f"error parsing regexp: {text}"
