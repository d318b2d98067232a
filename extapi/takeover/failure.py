"""What an operator is told if a step cannot be done."""

from __future__ import annotations


class TakeoverFailure(Exception):
    """A step cannot be done. The text says what is wrong and what to do."""
