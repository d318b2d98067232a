"""Group commit: all waiting writes share one transaction and one fsync. Knows no SQL and no tails.

The statements run in the reactor's thread, where they need not compete with it for the interpreter's lock. Only the COMMIT,
which waits for the disk, runs in a thread of its own. Meanwhile the next group gathers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.storage.base import LogEvent, Overloaded, RevisionConflict, Unavailable
from extapi.storage.records import Writer

WAITING = 10_000
WAITING_BYTES = 128 * 1024 * 1024
"""How many writes, and bytes of their values, may wait for their group; further ones are refused."""
GROUP = 256
GROUP_BYTES = 4 * 1024 * 1024
"""How many writes share a transaction, and after how many bytes none is added: the reactor waits while they run."""

Work = Callable[[Writer], int]


class Disk(Protocol):
    """Runs one function at a time in another thread."""

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        """Run ``work``, then call ``done`` in the reactor's thread with the exception that ``work`` raised, or None."""
        ...


class _Job(NamedTuple):
    work: Work
    size: int
    done: Deferred[int]


class _Group(NamedTuple):
    """Writes that have run, with the result of each, to be delivered once the transaction has ended."""

    outcomes: list[tuple[Deferred[int], int | Exception]]
    changes: list[LogEvent]
    compacted: int

    def failed(self, why: str) -> _Group:
        return _Group([(done, Unavailable(why)) for done, _ in self.outcomes], [], 0)


class GroupCommit:
    """The queue of writes. All methods are called in the reactor's thread."""

    _log = Logger()

    def __init__(
        self,
        writer: Writer,
        disk: Disk,
        *,
        publish: Callable[[list[LogEvent], int], None],
        refusal: Callable[[], str],
        waiting: int = WAITING,
    ) -> None:
        """Prepare the queue.

        Args:
            writer: Runs the statements.
            disk: Runs the COMMIT.
            publish: Called with the changes of each group and the revision of the compaction in force; in the order of the
                groups, before the writers get their results.
            refusal: Returns the reason why nothing can be written at present, or the empty string.
            waiting: How many writes may wait.
        """
        self._writer = writer
        self._disk = disk
        self._publish = publish
        self._refusal = refusal
        self._limit = waiting
        self._waiting: deque[_Job] = deque()
        self._waiting_bytes = 0
        self._committing = False
        self._finished: deque[_Group] = deque()
        self._delivering = False
        self._idle: list[Deferred[None]] = []

    def submit(self, work: Work, size: int) -> Deferred[int]:
        """Run ``work`` in the next transaction.

        Args:
            work: The write; called with the writer.
            size: The bytes of its key and value.

        Returns:
            A Deferred that fires with the result of ``work`` once the transaction is on the disk. It fails with the
            :class:`RevisionConflict` that ``work`` raised, or with :class:`Unavailable` if the whole transaction was
            rolled back. If it is cancelled, the write may still happen.

        Raises:
            Overloaded: Too many writes are waiting.
        """
        if len(self._waiting) >= self._limit or self._waiting_bytes > WAITING_BYTES:
            raise Overloaded("too many writes are waiting for the disk")
        done: Deferred[int] = Deferred()
        self._waiting.append(_Job(work, size, done))
        self._waiting_bytes += size
        self._advance()
        return done

    async def drained(self) -> None:
        """Wait until all accepted writes have their results."""
        if self._committing or self._waiting or self._finished or self._delivering:
            done: Deferred[None] = Deferred()
            self._idle.append(done)
            await done

    def _advance(self) -> None:
        """Deliver results, and keep the disk busy. A writer may submit again while it gets its result."""
        if self._delivering:
            return
        self._delivering = True
        try:
            self._begin()
            while self._finished:
                self._deliver(self._finished.popleft())
                self._begin()
        finally:
            self._delivering = False
        if not self._committing:
            idle, self._idle = self._idle, []
            for done in idle:
                done.callback(None)

    def _begin(self) -> None:
        """Start the next group, unless the disk is busy with one. Groups that change nothing need no disk."""
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
                self._finished.append(group)

    def _run(self, jobs: list[_Job]) -> _Group:
        """Run the statements of a group; afterwards the transaction is open if and only if the writer is dirty."""
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
            # Taken before a rollback, which starts a new list for the next group.
            changes, compacted = self._writer.changes, self._writer.compacted
            if not self._writer.dirty:
                self._rollback()
        except Exception as error:  # noqa: BLE001 - whatever it is, the writers get a result and the queue goes on
            self._rollback()
            return failed(str(error))
        return _Group(outcomes, changes, compacted)

    def _committed(self, group: _Group, error: Exception | None) -> None:
        self._committing = False
        if error is None:
            self._writer.committed()
            self._finished.append(group)
        else:
            self._rollback()
            self._finished.append(group.failed(str(error)))
        self._advance()

    def _rollback(self) -> None:
        """Undo the transaction. If even that fails, the next group tries again before it begins."""
        try:
            self._writer.rollback()
        except Exception:  # noqa: BLE001 - see _run
            self._log.failure("The transaction could not be rolled back")

    def _deliver(self, group: _Group) -> None:
        if group.compacted:
            self._publish(group.changes, group.compacted)
        for done, outcome in group.outcomes:
            if isinstance(outcome, Exception):
                done.errback(outcome)
            else:
                done.callback(outcome)
