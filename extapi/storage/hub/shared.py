"""Two numbers in memory that the hub and all workers share: the current revision, and the oldest that can be read."""

from __future__ import annotations

import mmap


class SharedRevisions:
    """Made before the processes are forked. The hub writes, everybody reads.

    Each number is eight aligned bytes, which Python copies as one: a reader sees the number before or the one after. The order
    in which other processes see them is that of the system calls in between, by which they learn of anything at all.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self._numbers = memoryview(self._memory).cast("q")

    @property
    def current(self) -> int:
        """At least the revision of every commit that was answered; 0 before the hub has opened the store."""
        return self._numbers[0]

    @property
    def oldest(self) -> int:
        """The revision of the compaction in force. What is older may be gone, or is about to be."""
        return self._numbers[1]

    def tell(self, current: int, oldest: int) -> None:
        """For the hub: before anybody is answered, or anything is deleted."""
        self._numbers[1] = oldest
        self._numbers[0] = current
