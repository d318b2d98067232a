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
        reason = error.args[0] if error.args else ""
        raise ValueError(reason.decode() if isinstance(reason, bytes) else str(reason)) from None

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
