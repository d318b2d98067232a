"""Lone surrogates: code points that Python's strings can hold, and no Unicode text has. Go puts U+FFFD in their place."""

from __future__ import annotations

__all__ = ["has_surrogates", "without_surrogates"]


def has_surrogates(text: str) -> bool:
    """Whether there are any; they are just what UTF-8 does not take."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def without_surrogates(text: str) -> str:
    """``text`` with U+FFFD in place of each."""
    return text if text.isascii() else text.translate(_REPLACED)


_REPLACED = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
