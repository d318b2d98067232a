"""The mark: a key that says what the store's processes have compacted to. Pure; knows the value and no calls.

It is the store's beginning as well: what etcd had before the mark was made was never the store's. A process that would lead
another one astray refuses what it does not know: a newer extapi may keep more in it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from extapi.storage.base import UnusableStore

EMPTY = b'{"compacted":0}'
"""The value of a new mark."""


class Mark(NamedTuple):
    """What the mark says."""

    compacted: int
    """The revision of the last compaction; before the first one, that of the mark itself."""
    revision: int
    """That of the commit that wrote it, for compare-and-set."""


def read_mark(value: bytes, revision: int) -> Mark:
    """Read the mark.

    Args:
        value: What the key has.
        revision: The commit that wrote it.

    Raises:
        UnusableStore: It is no mark that this version of extapi understands.
    """
    try:
        found = msgspec.json.decode(value)
        compacted = found.pop("compacted")
        understood = not found and isinstance(compacted, int) and 0 <= compacted <= revision
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        understood = False
    if not understood:
        raise UnusableStore("storage etcd: the store's mark was written by something else than this version of extapi")
    return Mark(compacted or revision, revision)


def write_mark(compacted: int) -> bytes:
    """The value of the mark after a compaction."""
    return msgspec.json.encode({"compacted": compacted})
