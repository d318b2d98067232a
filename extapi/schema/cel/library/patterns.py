"""Regular expressions in Go's syntax, which find in linear time."""

from __future__ import annotations

from functools import lru_cache


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
