"""Commits that writers have announced: how their objects are encoded, so that this need not be done again when they arrive.

Bounded. Must not know the store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from extapi.codec.strictjson import split_resource_version
from extapi.watch.cachedobject import CachedObject, CacheSource, Parts

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

    def add(self, value: bytes, serialized: str | Mapping[str, Parts]) -> None:
        """Announce a commit of ``value``, so that the object need not be converted and encoded again when it arrives.

        Args:
            value: The bytes to be stored.
            serialized: By version, the results of :meth:`Projector.project`; or only the version in which the object is
                encoded exactly as it is stored.
        """
        if isinstance(serialized, str):
            serialized = {serialized: split_resource_version(value)}
        commits = self.commits
        if commits.pop(value, None) is None:
            self.size += len(value)
        commits[value] = serialized
        while len(commits) > _MOST or self.size > _MOST_BYTES:
            gone, _ = commits.popitem(last=False)
            self.size -= len(gone)

    def arrive(self, cached: CachedObject) -> None:
        """Add what is known to an object that has just been committed, and forget it."""
        value = cached.value
        serialized = self.commits.pop(value, None)
        if serialized is not None:
            self.size -= len(value)
            for version, parts in serialized.items():
                cached.add(self._source.serialize(value, version, cached.revision, parts))

    def forget(self, value: bytes) -> None:
        """Forget a commit that has failed."""
        if self.commits.pop(value, None) is not None:
            self.size -= len(value)
