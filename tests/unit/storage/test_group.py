"""Group commit: who shares a transaction, in which order things are told, and what a failure does."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.storage.base import LogEvent, RevisionConflict, Unavailable
from extapi.storage.file import StoreFile
from extapi.storage.group import GROUP, GROUP_BYTES, WAITING_BYTES, GroupCommit, Work
from extapi.storage.records import Writer


class ManualDisk:
    """A disk that is as slow as the test wants, and as broken."""

    def __init__(self) -> None:
        self.pending: list[tuple[Callable[[], None], Callable[[Exception | None], None]]] = []
        self.commits = 0

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        assert self.pending == []
        self.pending.append((work, done))

    def finish(self) -> None:
        """The commit on its way goes through."""
        (work, done) = self.pending.pop()
        work()
        self.commits += 1
        done(None)

    def fail(self) -> None:
        """The commit on its way is refused by the disk."""
        (_, done) = self.pending.pop()
        done(sqlite3.OperationalError("disk I/O error"))


def create(name: int, writer: Writer) -> int:
    """The statements of a create."""
    return writer.append(b"/%d" % name, b"x", 0)


class Bench:
    def __init__(self, path: Path) -> None:
        self.file = StoreFile(path)
        self.disk = ManualDisk()
        self.refusal = ""
        self.told: list[object] = []
        self.group = GroupCommit(
            Writer(self.file.writer),
            self.disk,
            publish=self.publish,
            refusal=lambda: self.refusal,
            waiting=20_000,
        )

    def publish(self, changes: list[LogEvent], compacted: int) -> None:
        if changes:
            self.told.append([change.revision for change in changes])

    def submit(self, work: Work, size: int = 1) -> Deferred[int]:
        done = self.group.submit(work, size)

        def note(result: int | Failure) -> None:
            self.told.append(result.type if isinstance(result, Failure) else result)

        done.addBoth(note)
        return done

    def create(self, name: int, size: int = 1) -> Deferred[int]:
        return self.submit(partial(create, name), size)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "store.db")
    yield bench
    bench.file.close()


def test_what_comes_while_the_disk_is_busy_shares_the_next_commit(bench: Bench) -> None:
    for name in range(5):
        bench.create(name)
    bench.disk.finish()
    # The next group is on its way before the first one's writers go on.
    assert bench.told == [[2], 2]
    bench.disk.finish()
    assert bench.told == [[2], 2, [3, 4, 5, 6], 3, 4, 5, 6]
    assert bench.disk.commits == 2
    assert bench.disk.pending == []


def test_writers_that_go_on_together_share_the_next_commit(bench: Bench) -> None:
    def again(revision: int) -> None:
        if revision < 6:
            bench.create(10 + revision)

    for name in range(4):
        bench.group.submit(partial(create, name), 1).addCallback(again)
    for _ in range(4):
        bench.disk.finish()
    # 1, the 3 that came meanwhile, the successor of the 1, the successors of the 3.
    assert [entry for entry in bench.told if isinstance(entry, list)] == [[2], [3, 4, 5], [6], [7, 8, 9]]


def test_a_refusal_is_told_when_what_it_refers_to_is_on_the_disk(bench: Bench) -> None:
    bench.create(1)
    bench.create(2)
    bench.create(2)
    bench.disk.finish()
    assert bench.told == [[2], 2]
    bench.disk.finish()
    assert bench.told == [[2], 2, [3], 3, RevisionConflict]


def test_a_refusal_alone_needs_no_disk(bench: Bench) -> None:
    bench.create(1)
    bench.disk.finish()
    bench.create(1)
    assert bench.disk.pending == []
    assert bench.told == [[2], 2, RevisionConflict]
    # The same in the wake of a commit: told after it.
    bench.create(3)
    bench.create(1)
    bench.disk.finish()
    assert bench.told[3:] == [[3], 3, RevisionConflict]
    assert bench.disk.pending == []


@pytest.mark.parametrize("finish", [ManualDisk.finish, ManualDisk.fail], ids=["written", "refused by the disk"])
def test_a_group_of_refusals_tells_nothing_of_the_group_behind_it(
    bench: Bench, finish: Callable[[ManualDisk], None]
) -> None:
    bench.submit(partial(create, 1)).addCallback(lambda _: bench.create(2))
    bench.create(1)  # refused, and answered when the first is; the second write begins in between
    bench.disk.finish()
    # The second write is not on the disk: nobody may have been told of it.
    assert bench.told == [[2], 2, RevisionConflict]
    finish(bench.disk)
    assert bench.told[3:] == ([[3], 3] if finish is ManualDisk.finish else [Unavailable])


def test_a_group_is_bounded(bench: Bench) -> None:
    bench.create(0)
    for name in range(1, GROUP + 2):
        bench.create(name)
    bench.disk.finish()
    bench.disk.finish()
    bench.disk.finish()
    assert [len(entry) for entry in bench.told if isinstance(entry, list)] == [1, GROUP, 1]
    for name in range(1000, 1004):
        bench.create(name, GROUP_BYTES // 2)
    while bench.disk.pending:
        bench.disk.finish()
    assert [len(entry) for entry in bench.told if isinstance(entry, list)][3:] == [1, 2, 1]


def test_the_queue_is_bounded(bench: Bench) -> None:
    bench.create(0)
    for name in range(20_000):
        bench.group.submit(partial(create, name + 1), 1)
    with pytest.raises(Unavailable, match="too many writes are waiting"):
        bench.create(1)
    bench.disk.finish()
    bench.create(20_001)


def test_the_bytes_in_the_queue_are_bounded(bench: Bench) -> None:
    bench.create(0)
    bench.create(1, WAITING_BYTES)
    bench.create(2)
    with pytest.raises(Unavailable, match="too many writes are waiting"):
        bench.create(3)
    bench.disk.finish()
    bench.create(3)


def test_bytes_that_left_the_queue_make_room_for_others(bench: Bench) -> None:
    for name in range(0, 30, 3):
        bench.create(name)
        bench.create(name + 1)
        bench.create(name + 2, WAITING_BYTES // 4)  # shares a group with the small one
        while bench.disk.pending:
            bench.disk.finish()
    assert [len(entry) for entry in bench.told if isinstance(entry, list)] == [1, 2] * 10


def test_a_commit_that_the_disk_refuses_is_undone_as_a_whole(bench: Bench) -> None:
    bench.create(0)
    bench.create(1)
    bench.create(0)
    bench.disk.finish()
    del bench.told[:]
    bench.disk.fail()
    # The one that was refused because of another's commit is not told what did not come to be.
    assert bench.told == [Unavailable, Unavailable]
    bench.create(1)
    bench.disk.finish()
    assert bench.told[2:] == [[3], 3]


def test_what_waited_behind_a_failure_goes_on(bench: Bench) -> None:
    bench.create(0)
    bench.create(1)
    bench.disk.fail()
    assert bench.told == [Unavailable]
    bench.disk.finish()
    assert bench.told == [Unavailable, [2], 2]


def test_whatever_goes_wrong_the_queue_goes_on(bench: Bench) -> None:
    def broken(writer: Writer) -> int:
        writer.append(b"/lost", b"x", 0)
        raise ZeroDivisionError("a defect")

    bench.submit(broken)
    assert bench.told == [Unavailable]
    assert bench.disk.pending == []
    bench.create(1)
    bench.disk.finish()
    assert bench.told == [Unavailable, [2], 2]


def test_nothing_is_tried_while_there_is_a_reason_not_to(bench: Bench) -> None:
    bench.refusal = "the file is gone"
    bench.create(1)
    assert bench.told == [Unavailable]
    bench.refusal = ""
    bench.create(1)
    bench.disk.finish()
    assert bench.told == [Unavailable, [2], 2]


def test_a_rollback_that_fails_is_not_the_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []

    def failure(logger: Logger, text: str) -> None:
        logged.append(text)

    monkeypatch.setattr(Logger, "failure", failure)
    bench.create(1)
    # The connection breaks as a whole, for a moment.
    healthy = bench.group._writer._connection
    bench.group._writer._connection = sqlite3.connect(":memory:")
    bench.group._writer._connection.close()
    bench.disk.fail()
    bench.create(2)
    assert bench.told == [Unavailable, Unavailable]
    assert logged == ["The transaction could not be rolled back"] * 2
    bench.group._writer._connection = healthy
    bench.create(3)
    bench.disk.finish()
    assert bench.told == [Unavailable, Unavailable, [2], 2]


def test_drained_waits_for_all_that_was_accepted(bench: Bench) -> None:
    done: list[None] = []
    Deferred.fromCoroutine(bench.group.drained()).addCallback(done.append)
    assert done == [None]
    bench.create(0)
    Deferred.fromCoroutine(bench.group.drained()).addCallback(done.append)
    assert done == [None]  # nothing waits, but the disk is busy
    bench.disk.finish()
    assert done == [None, None]
    del done[1:], bench.told[:]
    bench.create(1)
    bench.create(2)
    Deferred.fromCoroutine(bench.group.drained()).addCallback(done.append)
    bench.disk.finish()
    assert done == [None]
    bench.disk.finish()
    assert done == [None, None]
    assert bench.told == [[3], 3, [4], 4]
