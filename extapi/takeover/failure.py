"""What an operator is told if a step cannot be done."""

from __future__ import annotations

from extapi.console.failure import CommandFailure


class TakeoverFailure(CommandFailure):
    """A step cannot be done. The text says what is wrong and what to do."""
