"""The interface of a store: a log of revisions over keys and bytes. Knows no API types.

One sequence of revisions serves the whole store, as in etcd and kine: each successful commit gets a greater revision than
all before, :meth:`Backend.tail` reads the log in order, and the past can be read until it is compacted. Everything else
(cache, watch, several processes on one store) is a reader of that log.

Revisions may have holes, and the current revision may rise without a commit: others may write to the same engine, and a
compaction may take a revision. One revision is never that of two commits.

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


class UnusableStore(Exception):
    """What ``--storage`` names cannot be used as a store, and will not be by trying again; says what, and what to do."""


class Unavailable(Exception):
    """The store cannot answer now: disk full, file read-only or gone, process stopping.

    Nothing was written, and nothing will be, unless it is :class:`Uncertain`.
    """


class Overloaded(Unavailable):
    """More writes are waiting than the store accepts; otherwise the store works."""


class StoreRefused(Unavailable):
    """The store refuses writes, or all requests, until its operator has done something; clients are told in these words.

    Nothing was written, but for the write with which etcd becomes full: it is done, and refused in the same words
    (``go.etcd.io/etcd/server/v3/etcdserver/apply`` quotaApplierV3). Whoever got it must not repeat a write without reading.
    """


class NotFreed(Unavailable):
    """The past was forgotten, and can no longer be read here; but the engine does not let us free its room. Says what to do."""


class Uncertain(Unavailable):
    """What was to be written may have been, or may be soon: the answer of the store did not arrive.

    Who repeats such a write has to read first. A store repeats it by itself only if it was provably not begun.
    """


class TooLarge(ValueError):
    """The value is larger than the store accepts. Nothing was written, and trying again does not help."""


class Tail(Protocol):
    """The log after a revision, for one reader: ``async for batch in tail``.

    Raises:
        Compacted: The tail starts before the oldest revision that is kept. Raised by the iteration.
        Future: The tail starts after the current revision. Raised by the iteration.
        Unavailable: The store cannot be read now, is closed, or the reader is further behind than the backend allows. It
            can resume with a new tail from the last ``progress`` that it was given, as long as that is not compacted.
            Raised by the iteration.
    """

    def __aiter__(self) -> AsyncIterator[Batch]: ...

    async def __anext__(self) -> Batch: ...

    def close(self) -> None:
        """End the iteration, also for a reader that is waiting. May be called at any time, and more than once."""
        ...


@runtime_checkable
class QuestionedTail(Tail, Protocol):
    """A tail whose log comes from elsewhere, where it may end without a word."""

    async def ask(self) -> None:
        """Return once what is at the other end has given a sign of life.

        Raises:
            Unavailable: The tail has ended, or has not begun.
        """
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
        """The current revision, at least that of the last commit; greater than 0 even if the store is empty.

        Called by every consistent read, so it should be cheap. Linearizable: it is at least the revision of every commit
        that has returned, of any process. It may rise without a commit; every revision up to it can be read, until it is
        compacted. It never decreases, also when the store is opened again: a store that does not survive its process starts
        above all revisions of earlier processes, and below 2**53.

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
        tail of this process has been given it: a reader that waited for the tail has run. A tail counts from the first step
        of its iteration. A store whose tails come from elsewhere waits for them within a bound, as the write is durable and
        has to be answered; a reader that must not miss it waits for the revision. If it raises, nothing was written, unless
        it raises :class:`Uncertain`. A caller that is cancelled cannot know.

        Args:
            key: At least one byte.
            value: The new value, which may be empty; None deletes the key.
            expected: The revision that wrote the key's current value; 0 if the key must not exist.

        Returns:
            The revision of the commit, which is greater than that of each commit before.

        Raises:
            RevisionConflict: The key is at another revision; carries what it has now.
            Unavailable: The store cannot be written now; :class:`Overloaded` if only too many writes wait.
            Uncertain: Whether it was written cannot be told.
            TooLarge: The store never accepts so large a value.
            ValueError: The write makes no sense: see :func:`extapi.storage.keys.check_write`.
        """
        ...

    def tail(self, after: int) -> Tail:
        """Every commit with a revision greater than ``after``: in order, once, without gaps.

        Called when caches have been filled; one tail serves all of them. Yields the past first, then live commits. Without
        being asked, its ``progress`` soon reaches the revision that was current when the iteration began, also if no commit
        has that revision. Must not raise or wait for the store: the iteration does.
        """
        ...

    async def progress(self) -> None:
        """Make every tail yield a batch whose ``progress`` is the current revision, without changes if there are none.

        Called when a read waits for a revision that the cache has not reached: an idle tail would otherwise never show that
        nothing is missing. The batch may be merged with one that the reader has not taken yet. Returns when each tail has
        been given a progress that was asked for after the call, or after a bound; it may then still be on its way.

        Raises:
            Unavailable: The store cannot be read now.
        """
        ...

    async def compact(self, revision: int, *, expected: int) -> int:
        """Forget the past before ``revision``, if the last compaction was to ``expected``.

        Called every few minutes by each process on the store; compare-and-set, so that one of them wins. Current values
        stay, however old; ``revision`` itself can still be read and tailed from. Commits and tails go on meanwhile. The
        compaction may take a revision, as a commit does; no tail yields it as a change.

        Args:
            revision: The oldest revision to keep. One that is not newer than the last compaction changes nothing.
            expected: The result of :meth:`oldest` or of the last call.

        Returns:
            The revision of the compaction that is in force now: ``revision`` if this call won.

        Raises:
            Future: ``revision`` is newer than the current one.
            Unavailable: The store cannot be written now.
            NotFreed: It is done, but for the room that the past takes.
        """
        ...

    async def oldest(self) -> int:
        """The oldest revision that can be read and tailed from: that of the last compaction, or the first one.

        Called before caches are filled, and once by the compaction of each process. Others may compact what the store is
        made of. So it is the greatest of what this interface has compacted to and what a read or a tail was refused with:
        after a :class:`Compacted`, it is a revision that can be read, unless it has been compacted again.

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


@runtime_checkable
class Engine(Protocol):
    """What a backend implements besides, if its content is kept by another process, which may be away."""

    name: str
    """The name of the readiness check."""

    async def open(self) -> None:
        """Look whether the engine can be used, before anything else is asked of the backend.

        An engine that cannot be reached is no reason to fail: it may come.

        Raises:
            UnusableStore: It is there, and cannot be used.
        """
        ...

    def check(self) -> str | None:
        """None, or why the server is not ready. It alone judges: that single writes fail does not make a server unready."""
        ...


@runtime_checkable
class NotingEngine(Engine, Protocol):
    """An engine that says more of itself."""

    def note(self) -> str:
        """What an operator should know although the server is ready, or the empty string. Anybody may read it."""
        ...
