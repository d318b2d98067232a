"""Regular expressions of users: compiled once, matched in linear time, with Go's words if they are wrong."""

from __future__ import annotations

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.pattern import matcher


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern matches anywhere in the text."""
    try:
        return matcher(pattern)(text)
    except ValueError as error:
        raise EvaluationError(f"error parsing regexp: {error}") from None
