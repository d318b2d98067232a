"""Bytes in JSON as Go's ``encoding/json`` reads and writes them: base64 with padding; line breaks are ignored.

Must not know objects. Source: Go's ``encoding/base64``, whose errors name a position.
"""

from __future__ import annotations

import base64
import binascii
from string import ascii_letters, digits

_ALPHABET = f"{ascii_letters}{digits}+/"


def canonical_bytes(text: str) -> str:
    """The base64 that Go writes after reading ``text``.

    Raises:
        ValueError: Go's decoder refuses it; with its text.
    """
    text = text.replace("\r", "").replace("\n", "")
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:  # binascii's own error is one
        data = None
    if data is None or len(text) % 4:
        raise ValueError(f"illegal base64 data at input byte {_wrong_byte(text)}")
    return base64.b64encode(data).decode()


def byte_count(text: str) -> int:
    """The number of bytes that a result of :func:`canonical_bytes` stands for."""
    return len(text) // 4 * 3 - text.count("=")


def _wrong_byte(text: str) -> int:
    """The position in wrong base64 that Go's decoder reports."""
    at = len(text) - len(text.lstrip(_ALPHABET))
    if at == len(text):
        return at - at % 4
    missing = 4 - at % 4
    if text[at] != "=" or missing > 2:
        return at
    if text[at : at + missing] == "=" * missing:
        return at + missing
    return len(text) if at + 1 == len(text) else at
