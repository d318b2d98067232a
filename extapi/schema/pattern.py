"""Regular expressions in Go's syntax (RE2), matched in linear time."""

from __future__ import annotations

from collections.abc import Callable


def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that says whether ``pattern`` matches anywhere in a text.

    Raises:
        ValueError: The pattern is not valid; the message is RE2's.
    """
    import re2  # noqa: PLC0415 - the library and the C++ that it needs are 4 MB, and most APIs have no pattern

    options = re2.Options()
    options.log_errors = False
    try:
        search = re2.compile(pattern, options).search
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise ValueError(reason.decode() if isinstance(reason, bytes) else str(reason)) from None

    def matches(text: str) -> bool:
        try:
            return search(text) is not None
        except UnicodeEncodeError:  # lone surrogates, which Go's decoder replaces by U+FFFD
            return search(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")) is not None

    return matches
