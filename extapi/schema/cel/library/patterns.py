"""``matches``: whether a regular expression matches anywhere in a text."""

from __future__ import annotations

from collections.abc import Callable

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.regular_expressions import compiled


def searcher(pattern: str) -> Callable[[str], bool]:
    """What tells whether the pattern matches anywhere in a text.

    Raises:
        EvaluationError: The pattern is wrong; the message is Go's.
    """
    try:
        return compiled(pattern).matches
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern matches anywhere in the text.

    Source: ``cel-go/common/types`` String.Match.

    Raises:
        EvaluationError: The pattern is wrong; the message is Go's.
    """
    return searcher(pattern)(text)
