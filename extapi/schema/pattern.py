"""Regular expressions in Go's syntax (RE2), matched in linear time."""

from __future__ import annotations

from collections.abc import Callable
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
        translated = _translated(pattern)
        if translated == pattern:
            reason = error.args[0] if error.args else ""
            raise ValueError(reason.decode() if isinstance(reason, bytes) else str(reason)) from None
        return matcher(translated)

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


def _translated(pattern: str) -> str:
    r"""What Go takes and RE2 writes otherwise, such as the class ``\p{letter}``; anything else stays as it is."""
    from extapi.schema.cel.library.regular_expressions import translated  # noqa: PLC0415 -- most patterns need it not

    try:
        return translated(pattern)
    except ValueError:
        return pattern


def syntax_error(pattern: str) -> str:
    """Why Go refuses a pattern, such as ``error parsing regexp: missing closing ): `(```; empty if it does not."""
    from extapi.schema.cel.library.regular_expressions import compiled  # noqa: PLC0415 -- most schemas have no pattern

    try:
        compiled(pattern)
        matcher(pattern)
    except ValueError as error:
        return str(error)
    return ""
