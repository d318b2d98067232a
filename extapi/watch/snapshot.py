"""A resource as it was at an earlier revision, read from the store page by page (behaviour E28-E31, K16).

Knows the store and cached objects, but not the cache, which is newer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from extapi.storage.base import Backend
from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.selection import Predicate

_LARGEST_PAGE: Final = 10_000


Prepare = Callable[[Sequence[CachedObject]], Awaitable[None]]
"""Waits until objects can be read in the version that a selection needs."""


class ObjectPage(NamedTuple):
    """One page of a list."""

    objects: Sequence[CachedObject]
    more: bool
    """Whether more objects follow, selected or not."""
    remaining: int | None
    """How many objects follow; None with selectors, where they are not counted."""


async def read_page(
    backend: Backend,
    source: CacheSource,
    prefix: bytes,
    *,
    at: int,
    after: bytes,
    limit: int,
    predicate: Predicate | None,
    prepare: Prepare | None = None,
) -> ObjectPage:
    """Selected objects under ``prefix`` as they were at revision ``at``.

    Args:
        backend: The store.
        source: What the objects' cache shares.
        prefix: The prefix of the keys.
        at: The revision to read.
        after: Only keys greater than this.
        limit: The number of objects; 0 for all.
        predicate: Selects objects; None selects all.
        prepare: Prepares objects for the predicate; None if that is not needed.

    Raises:
        Compacted: ``at`` is older than the oldest revision in the store.
        Future: ``at`` is newer than the newest one.
        Unavailable: The store cannot be read now.
    """
    found: list[CachedObject] = []
    size = limit
    while True:
        page = await backend.page(prefix, at=at, after=after, limit=size)
        objects = [
            CachedObject(key, revision, value, source.labels(value), source) for key, value, revision in page.entries
        ]
        if prepare is not None:
            await prepare(objects)
        for number, cached in enumerate(objects, 1):
            if predicate is None or predicate(cached):
                found.append(cached)
                if predicate is not None and len(found) == limit:
                    # Whether any of the remaining objects is selected is left to the next page, as in kube-apiserver.
                    return ObjectPage(found, page.more or number < len(page.entries), None)
        if predicate is None:
            return ObjectPage(found, page.more, page.remaining)
        if not page.more or not page.entries:
            return ObjectPage(found, more=False, remaining=None)
        after = page.entries[-1].key
        size = min(size * 2, _LARGEST_PAGE)


async def select_page(
    objects: Sequence[CachedObject], *, limit: int, predicate: Predicate | None, prepare: Prepare
) -> ObjectPage:
    """The selected ones of ``objects``, prepared for the predicate a few at a time.

    Args:
        objects: The objects in key order.
        limit: The number of objects; 0 for all.
        predicate: Selects objects; None selects all.
        prepare: Prepares objects for the predicate.
    """
    found: list[CachedObject] = []
    size, start = limit or _LARGEST_PAGE, 0
    while start < len(objects):
        part = objects[start : start + size]
        await prepare(part)
        for number, cached in enumerate(part, start + 1):
            if predicate is None or predicate(cached):
                found.append(cached)
                if len(found) == limit:
                    return ObjectPage(found, number < len(objects), None)
        start += size
        size = min(size * 2, _LARGEST_PAGE)
    return ObjectPage(found, more=False, remaining=None)
