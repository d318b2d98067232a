"""Regular expressions in Go's syntax (RE2), matched in linear time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

_NO_SPAN: Final = (-1, -1)


def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that says whether ``pattern`` matches anywhere in a text.

    Raises:
        ValueError: The pattern is not valid; the message is RE2's.
    """
    import re2  # noqa: PLC0415 - the library and the C++ that it needs are 4 MB, and most APIs have no pattern

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        try:
            written = for_re2(pattern)
        except ValueError:
            written = pattern
        if written == pattern:
            raise ValueError(reason.decode() if isinstance(reason, bytes) else str(reason)) from None
        return matcher(written)

    # What the package's own ``search`` wraps: it would count characters for positions that nobody asks for, and take
    # five times as long.
    match = compiled._regexp.Match  # noqa: SLF001 - what the wrapper wraps
    anywhere = re2._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001 - what the wrapper wraps

    def matches(text: str) -> bool:
        try:
            data = text.encode()
        except UnicodeEncodeError:  # lone surrogates, which Go's decoder replaces by U+FFFD
            data = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        return bool(match(anywhere, data, 0, len(data))[0] != _NO_SPAN)

    return matches


def for_re2(pattern: str) -> str:
    r"""A pattern of Go's as RE2 writes it: Go also takes loose names of classes, such as ``\p{letter}``.

    Raises:
        ValueError: Go refuses it. The message is Go's, such as ``error parsing regexp: missing closing ): `(```.
    """
    from extapi.schema.pattern_syntax import translate  # noqa: PLC0415 -- few patterns need it

    return translate(pattern, _has_class)


@lru_cache(maxsize=256)
def _has_class(name: str) -> bool:
    import re2  # noqa: PLC0415 - as above

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(f"\\p{{{name}}}".encode(errors="replace"), options)
    except re2.error:
        return False
    return True


def syntax_error(pattern: str) -> str:
    """Why Go refuses a pattern, in its words; empty if it does not."""
    try:
        for_re2(pattern)
        matcher(pattern)
    except ValueError as error:
        return str(error)
    return ""
