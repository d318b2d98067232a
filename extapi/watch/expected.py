"""Commits that writers have announced: how their objects are encoded, so that this need not be done again when they arrive.

Bounded. Must not know the store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from extapi.codec.strictjson import Parts
from extapi.watch.cachedobject import CachedObject, CacheSource

_MOST: Final = 256
_MOST_BYTES: Final = 16 * 1024 * 1024
"""How many commits are remembered, and bytes of them; one that never arrives is pushed out by later ones."""


class ExpectedCommits:
    """The announced commits of one resource."""

    def __init__(self, source: CacheSource) -> None:
        self._source = source
        self.commits: OrderedDict[bytes, Mapping[str, Parts]] = OrderedDict()
        """By the bytes to be stored."""
        self.size = 0
        """The bytes of all of them."""

    def add(self, value: bytes, serialized: Mapping[str, Parts]) -> None:
        """Announce a commit of ``value``, so that the object need not be converted and encoded again when it arrives.

        Args:
            value: The bytes to be stored.
            serialized: By version, the results of :meth:`Projector.project`.
        """
        self.forget(value)
        self.commits[value] = serialized
        self.size += _size(value, serialized)
        while len(self.commits) > _MOST or self.size > _MOST_BYTES:
            self.forget(next(iter(self.commits)))

    def arrive(self, cached: CachedObject) -> None:
        """Add what is known to an object that has just been committed, and forget it."""
        value = cached.value
        serialized = self.forget(value)
        if serialized is not None:
            for version, parts in serialized.items():
                cached.add(self._source.serialize(value, version, cached.revision, parts))

    def forget(self, value: bytes) -> Mapping[str, Parts] | None:
        """Forget a commit, which has arrived or failed."""
        serialized = self.commits.pop(value, None)
        if serialized is not None:
            self.size -= _size(value, serialized)
        return serialized


def _size(value: bytes, serialized: Mapping[str, Parts]) -> int:
    """The bytes of a commit."""
    return len(value) + sum(len(head) + len(tail) for head, tail in serialized.values())
