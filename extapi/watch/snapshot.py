"""The past of a resource, read from the store page by page (spec E28-E31, K16).

Knows the store and entries, and nothing of the cache that is newer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from extapi.storage.base import Backend
from extapi.watch.entry import Entry, Source
from extapi.watch.selection import Test

_LARGEST_PAGE: Final = 10_000


class EntryPage(NamedTuple):
    """A part of a list."""

    entries: Sequence[Entry]
    more: bool
    """Whether further objects follow, selected or not."""
    remaining: int | None
    """How many; ``None`` where that is not counted: with selectors."""


async def read_page(
    backend: Backend, source: Source, prefix: bytes, *, at: int, after: bytes, limit: int, test: Test | None
) -> EntryPage:
    """Up to ``limit`` (0: all) entries under ``prefix`` with keys after ``after``, as they were at revision ``at``.

    Raises the backend's ``Compacted``, ``Future`` and ``Unavailable``.
    """
    found: list[Entry] = []
    size = limit
    while True:
        page = await backend.page(prefix, at=at, after=after, limit=size)
        for number, (key, value, revision) in enumerate(page.entries, 1):
            entry = Entry(key, revision, value, source.labels(value), source)
            if test is None or test(entry):
                found.append(entry)
                if test is not None and len(found) == limit:
                    # Whether what follows is selected as well is for the next page to find out, as in kube-apiserver.
                    return EntryPage(found, page.more or number < len(page.entries), None)
        if test is None:
            return EntryPage(found, page.more, page.remaining)
        if not page.more or not page.entries:
            return EntryPage(found, more=False, remaining=None)
        after = page.entries[-1].key
        size = min(size * 2, _LARGEST_PAGE)
