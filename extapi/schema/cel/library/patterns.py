"""Regular expressions of users: compiled once, matched in linear time, with Go's words if they are wrong.

Patterns go to RE2, like those of schemas, but they may come from an object, too: so what is compiled is small, and
neither time nor memory can be spent beyond a few milliseconds and megabytes.

Source: ``regexp``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.pattern_syntax import translate

if TYPE_CHECKING:
    import re2

_MEMORY: Final = 2 << 20
"""Bytes of a compiled pattern, and of its search. RE2's own default lets one pattern take 150 ms."""
_SMALL: Final = 5_000
"""Instructions up to which RE2's sets always have memory enough for a search, which they would not tell."""
_TOO_LARGE: Final = "pattern too large"
_DIFFERENT: Final = ("\\C", "\\p", "\\P", "(?P<", "(?<")
"""Where RE2 and Go differ in what they accept."""


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern matches anywhere in the text.

    Source: ``cel-go/common/types`` String.Match.

    Raises:
        EvaluationError: The pattern is not valid; the message is Go's.
    """
    return _searcher(pattern)(encode(text))


def check_pattern(pattern: str) -> None:
    """Check a pattern without a text.

    Raises:
        EvaluationError: The pattern is not valid; the message is Go's.
    """
    compiled(pattern)


def encode(text: str) -> bytes:
    """The text as RE2 searches it fastest. Lone surrogates, which Go has not, become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re2._Regexp:
    """The pattern as RE2 has it.

    Raises:
        EvaluationError: The pattern is not valid; the message is Go's.
    """
    import re2  # noqa: PLC0415 - the library and the C++ that it needs are 4 MB, and most APIs have no pattern

    written = pattern
    if any(each in pattern for each in _DIFFERENT):
        written = _translated(pattern)
    try:
        return re2.compile(encode(written), _options(re2))
    except re2.error as error:
        if written is pattern:
            written = _translated(pattern)
        reason = error.args[0] if error.args else ""
        raise _refused(reason.decode() if isinstance(reason, bytes) else str(reason), pattern) from None


def _options(re2: Any) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


def _translated(pattern: str) -> str:
    try:
        return translate(pattern, _knows_class)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _refused(reason: str, pattern: str) -> EvaluationError:
    """For what Go takes and RE2 does not."""
    if _TOO_LARGE in reason:
        return EvaluationError(f"error parsing regexp: expression too large: `{pattern}`")
    return EvaluationError(f"error parsing regexp: {reason}")


@lru_cache(maxsize=256)
def _knows_class(name: str) -> bool:
    import re2  # noqa: PLC0415 - as above

    try:
        re2.compile(f"\\p{{{name}}}", _options(re2))
    except (re2.error, UnicodeEncodeError):
        return False
    return True


@lru_cache(maxsize=64)
def _searcher(pattern: str) -> Callable[[bytes], bool]:
    """What searches for the pattern: a set of one, which is three times as fast as the pattern itself."""
    import re2  # noqa: PLC0415 - as above

    regexp = compiled(pattern)
    if regexp.programsize > _SMALL:
        return lambda text: regexp.search(text) is not None
    only = re2.Set.SearchSet(_options(re2))
    only.Add(regexp.pattern)
    only.Compile()
    search = only.Match
    return lambda text: bool(search(text))
