"""Go's way of sorting, step by step, for the order in which it leaves equal keys.

It is pattern-defeating quicksort, not stable: insertion sort for short ranges, heap sort after too many bad pivots.

Source: ``sort`` zsortfunc.go, ``pdqsort_func``.
"""

from __future__ import annotations

from typing import Any, Final

INSERTION_LENGTH: Final = 12
"""Ranges up to that length are sorted by insertion, which is stable."""
_NINTHER_LENGTH: Final = 50
_MOST_SWAPS: Final = 12
_MOST_STEPS: Final = 5
_64_BITS: Final = 2**64 - 1


def sorted_order(keys: list[Any]) -> list[int]:
    """The indices of the keys in the order in which ``sort.Slice`` puts them."""
    sorting = _Sorting(keys)
    sorting.sort(0, len(keys), len(keys).bit_length())
    return sorting.order


class _Sorting:
    __slots__ = ("keys", "order", "swaps")

    def __init__(self, keys: list[Any]) -> None:
        self.keys = list(keys)
        self.order = list(range(len(keys)))
        self.swaps = 0

    def less(self, i: int, j: int) -> bool:
        return bool(self.keys[i] < self.keys[j])

    def swap(self, i: int, j: int) -> None:
        keys, order = self.keys, self.order
        keys[i], keys[j] = keys[j], keys[i]
        order[i], order[j] = order[j], order[i]

    def sort(self, a: int, b: int, limit: int) -> None:
        balanced = partitioned = True
        while True:
            length = b - a
            if length <= INSERTION_LENGTH:
                self.insertion(a, b)
                return
            if limit == 0:
                self.heap(a, b)
                return
            if not balanced:
                self.break_patterns(a, b)
                limit -= 1
            pivot, swaps = self.choose_pivot(a, b)
            increasing = swaps == 0
            if swaps == _MOST_SWAPS:
                self.reverse(a, b)
                pivot = b - 1 - (pivot - a)
                increasing = True
            if balanced and partitioned and increasing and self.partial_insertion(a, b):
                return
            if a > 0 and not self.less(a - 1, pivot):
                a = self.partition_equal(a, b, pivot)
                continue
            middle, partitioned = self.partition(a, b, pivot)
            left, right = middle - a, b - middle
            if left < right:
                balanced = left >= length // 8
                self.sort(a, middle, limit)
                a = middle + 1
            else:
                balanced = right >= length // 8
                self.sort(middle + 1, b, limit)
                b = middle

    def insertion(self, a: int, b: int) -> None:
        for i in range(a + 1, b):
            j = i
            while j > a and self.less(j, j - 1):
                self.swap(j, j - 1)
                j -= 1

    def heap(self, a: int, b: int) -> None:
        high = b - a
        for i in range((high - 1) // 2, -1, -1):
            self.sift_down(i, high, a)
        for i in range(high - 1, -1, -1):
            self.swap(a, a + i)
            self.sift_down(0, i, a)

    def sift_down(self, root: int, high: int, first: int) -> None:
        while True:
            child = 2 * root + 1
            if child >= high:
                return
            if child + 1 < high and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        """Smaller keys before the pivot, all others after it; its place, and whether all were in order."""
        self.swap(a, pivot)
        i, j = self.inwards(a, a + 1, b - 1)
        already = i > j
        while i <= j:
            self.swap(i, j)
            i, j = self.inwards(a, i + 1, j - 1)
        self.swap(j, a)
        return j, already

    def inwards(self, a: int, i: int, j: int) -> tuple[int, int]:
        while i <= j and self.less(i, a):
            i += 1
        while i <= j and not self.less(j, a):
            j -= 1
        return i, j

    def partition_equal(self, a: int, b: int, pivot: int) -> int:
        """Keys equal to the pivot first, then greater ones; there are no smaller ones."""
        self.swap(a, pivot)
        i, j = a + 1, b - 1
        while True:
            while i <= j and not self.less(a, i):
                i += 1
            while i <= j and self.less(a, j):
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i += 1
            j -= 1

    def partial_insertion(self, a: int, b: int) -> bool:
        """Puts a few keys right; whether the range is sorted then."""
        i = a + 1
        for _ in range(_MOST_STEPS):
            while i < b and not self.less(i, i - 1):
                i += 1
            if i == b:
                return True
            if b - a < _NINTHER_LENGTH:
                return False
            self.swap(i, i - 1)
            if i - a >= 2:
                self.shift(range(i - 1, 0, -1))
            if b - i >= 2:
                self.shift(range(i + 1, b))
        return False

    def shift(self, places: range) -> None:
        for j in places:
            if not self.less(j, j - 1):
                return
            self.swap(j, j - 1)

    def break_patterns(self, a: int, b: int) -> None:
        length = b - a
        random = length
        mask = (1 << length.bit_length()) - 1
        start = a + length // 4 * 2 - 1
        for index in range(start, start + 3):
            random ^= random << 13 & _64_BITS
            random ^= random >> 7
            random ^= random << 17 & _64_BITS
            other = random & mask
            self.swap(index, a + (other - length if other >= length else other))

    def choose_pivot(self, a: int, b: int) -> tuple[int, int]:
        """Where the pivot is, and how many of the keys that were looked at were out of order."""
        self.swaps = 0
        quarter = (b - a) // 4
        i, j, k = a + quarter, a + quarter * 2, a + quarter * 3
        if b - a >= _NINTHER_LENGTH:
            i = self.median(i - 1, i, i + 1)
            j = self.median(j - 1, j, j + 1)
            k = self.median(k - 1, k, k + 1)
        return self.median(i, j, k), self.swaps

    def median(self, a: int, b: int, c: int) -> int:
        a, b = self.ordered(a, b)
        b, c = self.ordered(b, c)
        return self.ordered(a, b)[1]

    def ordered(self, a: int, b: int) -> tuple[int, int]:
        if self.less(b, a):
            self.swaps += 1
            return b, a
        return a, b

    def reverse(self, a: int, b: int) -> None:
        self.keys[a:b] = self.keys[a:b][::-1]
        self.order[a:b] = self.order[a:b][::-1]
