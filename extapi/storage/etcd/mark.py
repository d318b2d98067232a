"""The mark: a key that says what the store's processes have compacted to, and how far its revisions are above etcd's. Pure.

It is the store's beginning as well: what etcd had before the mark was made was never the store's. What it says of revisions is
in etcd's own, so that a new offset changes one number. A process that would lead another one astray refuses what it does not
know: a newer extapi may keep more in it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from extapi.storage.base import UnusableStore

LARGEST: Final = 2**53
"""The store's revisions stay below: clients read them as numbers of JavaScript and of Go's float64, too."""


class Mark(NamedTuple):
    """What the mark says, in etcd's revisions."""

    compacted: int
    """The revision of the last compaction; before the first one, and when the offset was raised, that of the mark itself."""
    revision: int
    """That of the commit that wrote it, for compare-and-set."""
    offset: int = 0
    """A revision of the store is etcd's and this."""


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
        compacted, offset = found.pop("compacted"), found.pop("offset", 0)
        understood = not found and _among(compacted, revision + 1) and _among(offset, LARGEST)
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        understood = False
    if not understood:
        raise UnusableStore("storage etcd: the store's mark was written by something else than this version of extapi")
    return Mark(compacted or revision, revision, offset)


def write_mark(compacted: int, offset: int) -> bytes:
    """The value of the mark after a compaction; ``compacted`` is 0 if it forgets all before the mark itself."""
    return msgspec.json.encode({"compacted": compacted, "offset": offset})


EMPTY: Final = write_mark(0, 0)
"""The value of a new mark."""


def _among(number: object, end: int) -> bool:
    return isinstance(number, int) and 0 <= number < end
