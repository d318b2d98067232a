"""The objects of a cache: by key, and in the order of their keys.

A list goes through the objects themselves, without looking up keys: among many objects, most look-ups have to wait for
memory. Knows nothing of an object but its key.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Final

from extapi.watch.cachedobject import CachedObject

RUN: Final = 128
"""Objects of a run: few, since a write searches its run, most of which are not in the processor's caches."""

_key = attrgetter("key")


class OrderedObjects:
    """Cached objects, in runs: lists in the order of the keys.

    Runs that shrink are not joined, since it only makes lists slower.

    Args:
        objects: The first objects, in any order.
        size: The objects of a run when it is made; one with more than twice as many is split.
    """

    def __init__(self, objects: Iterable[CachedObject] = (), *, size: int = RUN) -> None:
        self._size = size
        self.fill(objects)

    def fill(self, objects: Iterable[CachedObject]) -> None:
        """Start over with these objects, which come in any order."""
        ordered = sorted(objects, key=_key)
        self._by_key = {cached.key: cached for cached in ordered}
        self._runs = [ordered[start : start + self._size] for start in range(0, len(ordered), self._size)]
        self._last = [run[-1].key for run in self._runs]
        """The last key of each run."""
        self.get = self._by_key.get
        """The object with a key; None if there is none."""

    def __len__(self) -> int:
        return len(self._by_key)

    def __setitem__(self, key: bytes, cached: CachedObject) -> None:
        """Add an object, in place of the one with its key if there is one."""
        number, index = self._place(key)
        if key in self._by_key:
            self._runs[number][index] = cached
        elif not self._runs:
            self._runs, self._last = [[cached]], [key]
        else:
            if number == len(self._runs):
                number, index = number - 1, len(self._runs[-1])
                self._last[number] = key
            self._runs[number].insert(index, cached)
            self._split_if_long(number)
        self._by_key[key] = cached

    def pop(self, key: bytes) -> CachedObject | None:
        """Remove the object with a key and return it; None if there is none."""
        cached = self._by_key.pop(key, None)
        if cached is not None:
            number, index = self._place(key)
            run = self._runs[number]
            del run[index]
            if run:
                self._last[number] = run[-1].key
            else:
                del self._runs[number], self._last[number]
        return cached

    def between(self, start: bytes, end: bytes | None) -> Iterator[CachedObject]:
        """The objects with ``start <= key < end`` in order; ``end`` None: to the last one. To be read before the next change."""
        return chain.from_iterable(self._slices(start, end))

    def count(self, start: bytes, end: bytes | None) -> int:
        """How many objects :meth:`between` has."""
        return sum(map(len, self._slices(start, end)))

    def _slices(self, start: bytes, end: bytes | None) -> Iterator[list[CachedObject]]:
        """The runs between two keys, the first and the last one as far as they are."""
        first, begin = self._place(start)
        last, stop = (len(self._runs), 0) if end is None else self._place(end)
        for number in range(first, last):
            run = self._runs[number]
            yield run[begin:] if number == first else run
        if stop and first <= last:
            yield self._runs[last][begin if first == last else 0 : stop]

    def _place(self, key: bytes) -> tuple[int, int]:
        """The number of a run, and the index in it at which the key is or would be. Beyond all keys: after the last run."""
        number = bisect_left(self._last, key)
        return number, bisect_left(self._runs[number], key, key=_key) if number < len(self._runs) else 0

    def _split_if_long(self, number: int) -> None:
        run = self._runs[number]
        if len(run) > 2 * self._size:
            self._runs[number : number + 1] = run[: self._size], run[self._size :]
            self._last.insert(number, run[self._size - 1].key)
