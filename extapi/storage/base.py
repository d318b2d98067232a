"""The interface of a store: a log of revisions over keys and bytes. Knows no API types.

One sequence of revisions serves the whole store, as in etcd and kine: each successful commit gets the next revision,
:meth:`Backend.tail` reads the log in order, and the past can be read until it is compacted. Everything else (cache, watch,
several processes on one store) is a reader of that log.

To write a backend: implement :class:`Backend`, and let :class:`extapi.testing.backends.BackendConformance` test it.
:mod:`extapi.storage.keys` checks the arguments of commits and computes the end of a prefix, :mod:`extapi.storage.tail` serves
tails of a log that is kept in this process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class KeyValue(NamedTuple):
    """A key with its value, and the revision of the commit that wrote it."""

    key: bytes
    value: bytes
    revision: int


class Page(NamedTuple):
    """A part of a range of keys, read at one revision."""

    entries: Sequence[KeyValue]
    revision: int
    """The revision that was read."""
    more: bool
    """Whether the range has keys after the last entry."""
    remaining: int
    """How many keys the range has after the last entry."""


class LogEvent(NamedTuple):
    """One commit in the log."""

    revision: int
    key: bytes
    value: bytes | None
    """The new value; None if the key was deleted."""
    previous: bytes | None
    """The value before; None if the key did not exist, or its value was compacted before the tail began."""


class Batch(NamedTuple):
    """What a tail yields."""

    changes: Sequence[LogEvent]
    """Commits in the order of their revisions; may be empty."""
    progress: int
    """The log is complete up to this revision: no change at or below it will follow."""


class Compacted(Exception):
    """The requested revision is older than ``oldest``, the oldest that can be read."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"revision is compacted; the oldest kept is {oldest}")
        self.oldest = oldest


class Future(Exception):
    """The requested revision is newer than ``current``, the newest one."""

    def __init__(self, current: int) -> None:
        super().__init__(f"revision is in the future; the current one is {current}")
        self.current = current


class RevisionConflict(Exception):
    """A commit expected a revision that the key does not have; ``live`` is what the key has now (None: nothing)."""

    def __init__(self, live: KeyValue | None) -> None:
        super().__init__(f"the key is at revision {live.revision if live else 0}")
        self.live = live


class Unavailable(Exception):
    """The store cannot answer now: disk full, file read-only or gone, process stopping. Nothing was written."""


class Overloaded(Unavailable):
    """More writes are waiting than the store accepts; otherwise the store works."""


class Tail(Protocol):
    """The log after a revision, for one reader: ``async for batch in tail``.

    Raises:
        Compacted: The tail starts before the oldest revision that is kept. Raised by the iteration.
        Future: The tail starts after the current revision. Raised by the iteration.
        Unavailable: The store cannot be read now, is closed, or the reader is further behind than the backend allows. It
            then has to start over from pages. Raised by the iteration.
    """

    def __aiter__(self) -> AsyncIterator[Batch]: ...

    async def __anext__(self) -> Batch: ...

    def close(self) -> None:
        """End the iteration, also for a reader that is waiting. May be called at any time, and more than once."""
        ...


@runtime_checkable
class Backend(Protocol):
    """A store. Every implementation passes ``extapi.testing.backends.BackendConformance``.

    All methods are called in the reactor's thread, any number of them at the same time, and must not block it for long.
    After :meth:`close`, all of them raise :class:`Unavailable`. An exception that is not documented here is logged, and is an
    internal error to the client.
    """

    async def get(self, key: bytes) -> KeyValue | None:
        """The current value of a key, or None if it does not exist.

        Called by writes, if the object is not in the cache or the first attempt failed. Linearizable: it sees every commit
        that has returned, of any process.

        Raises:
            Unavailable: The store cannot be read now.
        """
        ...

    async def revision(self) -> int:
        """The current revision, that of the last commit; greater than 0 even if the store is empty.

        Called by every consistent read, so it should be cheap. Linearizable: it is at least the revision of every commit
        that has returned, of any process. It never decreases, also when the store is opened again: a store that does not
        survive its process starts above all revisions of earlier processes, and below 2**53.

        Raises:
            Unavailable: The store cannot be read now.
        """
        ...

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """Read keys in order, as they were at one revision.

        Called when caches are filled, and by lists of an earlier revision (continue tokens, an exact resourceVersion).
        Pages of one revision are consistent, whatever is committed between them.

        Args:
            prefix: The prefix of the keys; may be empty.
            at: The revision to read; None for the current one.
            after: Only keys greater than this; it need not exist, nor have the prefix.
            limit: The number of entries; 0 for all.

        Raises:
            Compacted: ``at`` is older than the oldest revision that is kept.
            Future: ``at`` is newer than the current revision.
            Unavailable: The store cannot be read now.
        """
        ...

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """Write or delete a key if it is still at the expected revision.

        Called once per attempt to write an object. When it returns, the change is durable, every read sees it, and every
        tail of this process has been given it: a reader that waited for the tail has run. If it raises, nothing was
        written. A caller that is cancelled cannot know.

        Args:
            key: At least one byte.
            value: The new value, which may be empty; None deletes the key.
            expected: The revision that wrote the key's current value; 0 if the key must not exist.

        Returns:
            The revision of the commit, which is one more than the one before.

        Raises:
            RevisionConflict: The key is at another revision; carries what it has now.
            Unavailable: The store cannot be written now; :class:`Overloaded` if only too many writes wait.
            ValueError: The write makes no sense: see :func:`extapi.storage.keys.check_write`.
        """
        ...

    def tail(self, after: int) -> Tail:
        """Every commit with a revision greater than ``after``: in order, once, without gaps.

        Called when caches have been filled; one tail serves all of them. Yields the past first, then live commits. Must not
        raise or wait for the store: the iteration does.
        """
        ...

    async def progress(self) -> None:
        """Make every tail yield a batch whose ``progress`` is the current revision, without changes if there are none.

        Called when a read waits for a revision that the cache has not reached: an idle tail would otherwise never show that
        nothing is missing. The batch may be merged with one that the reader has not taken yet.

        Raises:
            Unavailable: The store cannot be read now.
        """
        ...

    async def compact(self, revision: int, *, expected: int) -> int:
        """Forget the past before ``revision``, if the last compaction was to ``expected``.

        Called every few minutes by each process on the store; compare-and-set, so that one of them wins. Current values
        stay, however old; ``revision`` itself can still be read and tailed from. Commits and tails go on meanwhile.

        Args:
            revision: The oldest revision to keep. One that is not newer than the last compaction changes nothing.
            expected: The result of :meth:`oldest` or of the last call.

        Returns:
            The revision of the compaction that is in force now: ``revision`` if this call won.

        Raises:
            Future: ``revision`` is newer than the current one.
            Unavailable: The store cannot be written now.
        """
        ...

    async def oldest(self) -> int:
        """The oldest revision that can be read and tailed from: that of the last compaction, or the first one.

        Called before caches are filled, and once by the compaction of each process.

        Raises:
            Unavailable: The store cannot be read now.
        """
        ...

    async def close(self) -> None:
        """Finish the writes that were accepted, then refuse everything with :class:`Unavailable`.

        Called once when the process stops; must not fail if called again. Tails end normally after their readers have had
        the last commits.
        """
        ...
