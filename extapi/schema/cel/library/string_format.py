"""``string.format``: signatures only, so far."""

from __future__ import annotations

from typing import Any


def formatted(text: str, arguments: list[Any]) -> str:
    """Fill in a format."""
    raise NotImplementedError
