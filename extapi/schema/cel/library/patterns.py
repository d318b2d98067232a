"""Regular expressions of users: compiled once, matched in linear time, with Go's words if they are wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.pattern import matcher


def searcher(pattern: str) -> Callable[[str], bool]:
    """What tells whether the pattern matches anywhere in a text.

    Raises:
        EvaluationError: The pattern is wrong.
    """
    try:
        return matcher(pattern)
    except ValueError as error:
        raise EvaluationError(f"error parsing regexp: {error}") from None


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern matches anywhere in the text."""
    return searcher(pattern)(text)


class Pattern:
    """A compiled regular expression."""

    __slots__ = ()

    def find(self, text: str) -> str:
        """The first match, or nothing."""
        raise NotImplementedError

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """All matches that do not overlap, or the first ones."""
        raise NotImplementedError


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Pattern:
    """Compile a pattern.

    Raises:
        ValueError: It is not valid; the message is Go's.
    """
    raise NotImplementedError
