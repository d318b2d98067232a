"""The seam to a store: a log of revisions over keys and bytes. Knows no API types.

One number line serves the whole store, as in etcd and kine: each successful commit gets the next revision, the log is
read in order by :meth:`Backend.tail`, and the past can be read until it is compacted. Everything else (cache, watch,
history, several processes on one store) is a reader of that log.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class Entry(NamedTuple):
    """A key with its value and the revision that last wrote it."""

    key: bytes
    value: bytes
    revision: int


class Page(NamedTuple):
    """Part of a range, read at one revision."""

    entries: Sequence[Entry]
    revision: int
    """The revision that was read."""
    more: bool
    """Whether keys follow after the last entry."""
    remaining: int
    """How many keys follow after the last entry."""


class Change(NamedTuple):
    """One commit, as the log has it."""

    revision: int
    key: bytes
    value: bytes | None
    """``None``: the key was deleted."""
    previous: bytes | None
    """The value before; ``None``: the key did not exist (or its value was compacted away before the tail began)."""


class Batch(NamedTuple):
    """What a tail yields: changes in order, and the mark "complete up to ``progress``" (nothing at or below it will follow)."""

    changes: Sequence[Change]
    progress: int


class Compacted(Exception):
    """The revision asked for is older than the oldest that is kept."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"revision is compacted; the oldest kept is {oldest}")
        self.oldest = oldest


class Future(Exception):
    """The revision asked for has not been reached."""

    def __init__(self, current: int) -> None:
        super().__init__(f"revision is in the future; the current one is {current}")
        self.current = current


class RevisionConflict(Exception):
    """A commit expected another revision than the key has; ``live`` is what is there (``None``: nothing)."""

    def __init__(self, live: Entry | None) -> None:
        super().__init__(f"the key is at revision {live.revision if live else 0}")
        self.live = live


class Unavailable(Exception):
    """The store cannot answer now (disk full, file read-only or gone, process stopping). Nothing was written."""


class Overloaded(Unavailable):
    """More writes wait than the store takes on; it is well otherwise."""


class Tail(Protocol):
    """The log from a revision on: ``async for batch in tail``; ``close`` ends the iteration of a pending reader too.

    A reader that is more than the backend's bound behind gets :class:`Unavailable` and has to start anew from pages.
    """

    def __aiter__(self) -> AsyncIterator[Batch]: ...

    async def __anext__(self) -> Batch: ...

    def close(self) -> None:
        """End the iteration; a reader that waits is let go."""
        ...


@runtime_checkable
class Backend(Protocol):
    """A store. Every implementation passes ``extapi.testing.backends``."""

    async def get(self, key: bytes) -> Entry | None:
        """The live entry; linearizable: it sees every commit that has returned."""
        ...

    async def revision(self) -> int:
        """The current revision; linearizable."""
        ...

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """Entries under ``prefix`` with keys greater than ``after``, in key order, at most ``limit`` (0: all).

        ``at=None`` reads the current revision. Raises :class:`Compacted` or :class:`Future`.
        """
        ...

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """Write (or delete, with ``None``) if the key is still at ``expected`` (0: must not exist).

        Durable when it returns; returns the new revision. Tails have been given the change before it returns.
        Raises :class:`RevisionConflict` or :class:`Unavailable`.
        """
        ...

    def tail(self, after: int) -> Tail:
        """Every commit with a revision greater than ``after``: in order, once, without gaps.

        The iterator raises :class:`Compacted` when ``after`` is older than the oldest kept revision.
        """
        ...

    async def progress(self) -> None:
        """Ask for a progress mark on every tail now."""
        ...

    async def compact(self, revision: int, *, expected: int) -> int:
        """Forget the past before ``revision`` if the last compaction was at ``expected``; the compaction now in force.

        Compare-and-set: of many processes that try, one wins. Live entries stay whatever their age.
        """
        ...

    async def oldest(self) -> int:
        """The oldest revision that can still be read and tailed from: that of the last compaction."""
        ...

    async def close(self) -> None:
        """Finish what was accepted, then refuse everything with :class:`Unavailable`. Tails end."""
        ...
