"""Group commit: all writes that wait share one transaction and one fsync. Knows no SQL and no tails.

The statements run in the reactor's thread, where they need not win the interpreter's lock back from it; only the COMMIT,
which waits for the disk, runs in a thread of its own. The next group gathers meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.storage.base import Change, Overloaded, RevisionConflict, Unavailable
from extapi.storage.records import Writer

WAITING = 10_000
WAITING_BYTES = 128 * 1024 * 1024
"""At most so many writes, with values of so many bytes, wait for their group; more are refused."""
GROUP = 256
GROUP_BYTES = 4 * 1024 * 1024
"""At most so many writes share a transaction, and no more once they have so many bytes: the reactor waits while they run."""

Work = Callable[[Writer], int]


class Disk(Protocol):
    """Runs one thing at a time in another thread."""

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        """``done`` is called in the reactor's thread, with what ``work`` raised."""
        ...


class _Job(NamedTuple):
    work: Work
    size: int
    done: Deferred[int]


class _Group(NamedTuple):
    """Writes that have run: what to answer to each, once the transaction is through."""

    outcomes: list[tuple[Deferred[int], int | Exception]]
    changes: list[Change]
    compacted: int

    def failed(self, why: str) -> _Group:
        return _Group([(done, Unavailable(why)) for done, _ in self.outcomes], [], 0)


class GroupCommit:
    """The queue of writes. All methods belong to the reactor's thread.

    ``publish(changes, compacted)`` is called after each group that changed something, before its writers are answered,
    in the order of the groups. ``refusal()`` gives the reason why nothing can be written at all just now, or nothing.
    """

    _log = Logger()

    def __init__(
        self,
        writer: Writer,
        disk: Disk,
        *,
        publish: Callable[[list[Change], int], None],
        refusal: Callable[[], str],
        waiting: int = WAITING,
    ) -> None:
        self._writer = writer
        self._disk = disk
        self._publish = publish
        self._refusal = refusal
        self._limit = waiting
        self._waiting: deque[_Job] = deque()
        self._waiting_bytes = 0
        self._committing = False
        self._settled: deque[_Group] = deque()
        self._answering = False
        self._idle: list[Deferred[None]] = []

    def submit(self, work: Work, size: int) -> Deferred[int]:
        """Run ``work`` in the next transaction; fires once that is on the disk, with what it returned.

        Fails with the :class:`RevisionConflict` that ``work`` raised, or with :class:`Unavailable`: then the whole
        transaction was rolled back. A caller that is cancelled may still have written.
        """
        if len(self._waiting) >= self._limit or self._waiting_bytes > WAITING_BYTES:
            raise Overloaded("too many writes are waiting for the disk")
        done: Deferred[int] = Deferred()
        self._waiting.append(_Job(work, size, done))
        self._waiting_bytes += size
        self._advance()
        return done

    async def drained(self) -> None:
        """Wait until every write that was accepted has been answered."""
        if self._committing or self._waiting or self._settled or self._answering:
            done: Deferred[None] = Deferred()
            self._idle.append(done)
            await done

    def _advance(self) -> None:
        """Answer what is settled, and keep the disk busy. A writer that is answered may submit again from there."""
        if self._answering:
            return
        self._answering = True
        try:
            self._begin()
            while self._settled:
                self._answer(self._settled.popleft())
                self._begin()
        finally:
            self._answering = False
        if not self._committing:
            idle, self._idle = self._idle, []
            for done in idle:
                done.callback(None)

    def _begin(self) -> None:
        """Start the next group, unless one is on its way to the disk. Groups that change nothing need no disk."""
        while self._waiting and not self._committing:
            jobs = [self._waiting.popleft()]
            size = jobs[0].size
            while self._waiting and len(jobs) < GROUP and size < GROUP_BYTES:
                jobs.append(self._waiting.popleft())
                size += jobs[-1].size
            self._waiting_bytes -= size
            group = self._run(jobs)
            if self._writer.dirty:
                self._committing = True
                self._disk.run(self._writer.commit, partial(self._committed, group))
            else:
                self._settled.append(group)

    def _run(self, jobs: list[_Job]) -> _Group:
        """Run the statements of a group; afterwards the transaction is open exactly if the writer is dirty."""
        outcomes: list[tuple[Deferred[int], int | Exception]] = []
        failed = _Group([(job.done, 0) for job in jobs], [], 0).failed
        try:
            if refusal := self._refusal():
                return failed(refusal)
            self._writer.begin()
            for job in jobs:
                try:
                    outcomes.append((job.done, job.work(self._writer)))
                except RevisionConflict as conflict:
                    outcomes.append((job.done, conflict))
            # Before a rollback, which begins a new list: that one is the next group's, and not on the disk yet.
            changes, compacted = self._writer.changes, self._writer.compacted
            if not self._writer.dirty:
                self._rollback()
        except Exception as error:  # noqa: BLE001 - whatever it is, the writers get an answer and the queue goes on
            self._rollback()
            return failed(str(error))
        return _Group(outcomes, changes, compacted)

    def _committed(self, group: _Group, error: Exception | None) -> None:
        self._committing = False
        if error is None:
            self._writer.settle()
            self._settled.append(group)
        else:
            self._rollback()
            self._settled.append(group.failed(str(error)))
        self._advance()

    def _rollback(self) -> None:
        """Undo the transaction. If even that fails, the next group tries again before it begins."""
        try:
            self._writer.rollback()
        except Exception:  # noqa: BLE001 - see _run
            self._log.failure("The transaction could not be rolled back")

    def _answer(self, group: _Group) -> None:
        if group.compacted:
            self._publish(group.changes, group.compacted)
        for done, outcome in group.outcomes:
            if isinstance(outcome, Exception):
                done.errback(outcome)
            else:
                done.callback(outcome)
