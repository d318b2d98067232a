"""What holds for keys and writes in every backend. Knows no store."""

from __future__ import annotations


def successor(prefix: bytes) -> bytes | None:
    """The least key that is greater than every key under ``prefix``; ``None``: there is none.

    Source: ``GetPrefixRangeEnd`` of etcd's ``client/v3``.
    """
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def check_write(key: bytes, value: bytes | None, expected: int) -> None:
    """Raise ``ValueError`` for a write that cannot be meant.

    An empty key could not be listed (``page`` goes on after a key, and starts after the empty one), and a delete that
    expects nothing to be there has nothing to delete.
    """
    if not key:
        raise ValueError("a key has at least one byte")
    if value is None and expected == 0:
        raise ValueError("a delete needs the revision it deletes")
