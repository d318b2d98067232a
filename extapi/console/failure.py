"""What an operator is told if a command cannot do its work."""

from __future__ import annotations

from extapi.errors import ApiError


class CommandFailure(Exception):
    """A step cannot be done. The text says what is wrong and what to do."""


def told(error: Exception) -> str:
    """One line that says what kube-apiserver refused, for a failure's text."""
    return f"{error.code} {error.message}" if isinstance(error, ApiError) else str(error)
