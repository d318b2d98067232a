"""Bytes in JSON as Go's ``encoding/json`` reads and writes them: base64 with padding, line breaks ignored.

Knows texts, and no objects. Source: ``encoding/base64`` of Go, whose errors say where it gave up.
"""

from __future__ import annotations

import base64
import binascii
from string import ascii_letters, digits

_ALPHABET = f"{ascii_letters}{digits}+/"


def canonical_bytes(text: str) -> str:
    """Base64 as Go writes what it reads. Raises ValueError with the text of Go's decoder."""
    text = text.replace("\r", "").replace("\n", "")
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:  # binascii's own error is one
        data = None
    if data is None or len(text) % 4:
        raise ValueError(f"illegal base64 data at input byte {_wrong_byte(text)}")
    return base64.b64encode(data).decode()


def byte_count(text: str) -> int:
    """How many bytes :func:`canonical_bytes` stand for."""
    return len(text) // 4 * 3 - text.count("=")


def _wrong_byte(text: str) -> int:
    """Where Go's decoder gives up on base64 that is wrong."""
    at = len(text) - len(text.lstrip(_ALPHABET))
    if at == len(text):
        return at - at % 4
    missing = 4 - at % 4
    if text[at] != "=" or missing > 2:
        return at
    if text[at : at + missing] == "=" * missing:
        return at + missing
    return len(text) if at + 1 == len(text) else at
