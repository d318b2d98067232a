"""What is special about the store in a file: what can go wrong with a disk. The rest is in tests/conformance."""

from __future__ import annotations

import resource
import select
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Backend, Compacted, Unavailable
from extapi.storage.file import UnusableFile
from extapi.storage.sqlite import SqliteBackend
from extapi.testing.stories import Follower, read_until, refusal, start, together
from tests.unit.storage.test_memory import now as drive_now


@pytest.fixture
def reactor() -> Iterator[Any]:
    with private_reactor() as reactor:
        yield reactor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@contextmanager
def full_while_writing(store: SqliteBackend) -> Iterator[None]:
    """The file may not have more pages: statements fail with SQLITE_FULL."""
    connection = store._file.writer
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (before,) = connection.execute("PRAGMA max_page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA max_page_count = {before}")


@contextmanager
def full_while_committing(store: SqliteBackend) -> Iterator[None]:
    """The operating system lets no file grow: the commit fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = Path(f"{store._file.path}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(store: SqliteBackend) -> Iterator[None]:
    """SQLite refuses to write: SQLITE_READONLY."""
    store._file.writer.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        store._file.writer.execute("PRAGMA query_only = OFF")


@contextmanager
def moved(store: SqliteBackend) -> Iterator[None]:
    """Somebody moves the file away under the running process."""
    away = store._file.path.with_suffix(".away")
    store._file.path.rename(away)
    try:
        yield
    finally:
        away.rename(store._file.path)


@contextmanager
def log_moved(store: SqliteBackend) -> Iterator[None]:
    """Somebody moves the log away, because it has grown."""
    log = Path(store._file.log_path)
    away = log.with_suffix(".away")
    log.rename(away)
    try:
        yield
    finally:
        away.rename(log)


@contextmanager
def locked(store: SqliteBackend) -> Iterator[None]:
    """Another program writes to the file for longer than it should."""
    other = sqlite3.connect(store._file.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


@pytest.mark.parametrize(
    ("trouble", "text"),
    [
        (full_while_writing, "database or disk is full"),
        (full_while_committing, "disk"),
        (read_only, "attempt to write a readonly database"),
        (moved, "store.db was moved or removed"),
        (log_moved, "store.db-wal was moved or removed; bring it back, or restart the server"),
        (locked, "database is locked"),
    ],
)
def test_a_disk_in_trouble_refuses_writes_and_loses_nothing(
    reactor: Any, path: Path, trouble: Callable[[SqliteBackend], Any], text: str
) -> None:
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        kept = await store.commit(b"/kept", b"1", expected=0)
        follower = Follower(store.tail(kept))
        with trouble(store):
            errors = await together(
                [refusal(store.commit(b"/%d" % number, b"x" * 500_000, expected=0), Unavailable) for number in range(3)]
            )
            assert all(text in str(error) for error in errors)
            assert await store.revision() == kept
            assert [entry.key for entry in (await store.page(b"", at=None, after=b"", limit=0)).entries] == [b"/kept"]
            assert (await store.get(b"/kept")) == (b"/kept", b"1", kept)
        again = [await store.commit(b"/%d" % number, b"x" * 500_000, expected=0) for number in range(3)]
        assert again == [kept + 1, kept + 2, kept + 3]
        assert [change.revision for change in follower.changes] == again
        await store.close()

    drive(reactor, story())

    async def after() -> None:
        store = SqliteBackend(reactor, path)
        assert [change.revision for change in await read_until(store.tail(1), 5)] == [2, 3, 4, 5]
        await store.close()

    drive(reactor, after())


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_what_was_acknowledged_survives_the_removal_of_the_log(reactor: Any, path: Path, suffix: str) -> None:
    """Also if the process is killed, as soon as one write has been refused."""
    store = SqliteBackend(reactor, path)

    def remove(name: str) -> None:
        Path(name).unlink()

    async def story() -> None:
        await store.commit(b"/a", b"1", expected=0)
        remove(f"{path}{suffix}")
        await refusal(store.commit(b"/b", b"1", expected=0), Unavailable)

    drive(reactor, story())
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    if suffix == "-shm":
        shutil.copy(f"{path}-wal", f"{copy}-wal")

    async def after() -> None:
        again = SqliteBackend(reactor, copy)
        assert await again.get(b"/a") == (b"/a", b"1", 2)
        for each in (store, again):
            await each.close()

    drive(reactor, after())


def test_what_is_on_the_disk_but_not_published_cannot_be_read(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)

    async def read() -> tuple[object, ...]:
        page = await store.page(b"", at=None, after=b"", limit=0)
        return await store.get(b"/a"), await store.revision(), page.revision, list(page.entries)

    writing = start(store.commit(b"/a", b"x", expected=0))
    # The thread is done, and the reactor has not heard of it.
    assert select.select([store._thread], [], [], 10) == ([store._thread], [], [])
    assert store._file.reader.execute("SELECT max(revision) FROM log").fetchone() == (2,)
    assert drive_now(read()) == (None, 1, 1, [])

    async def story() -> None:
        assert await writing == 2
        assert await read() == ((b"/a", b"x", 2), 2, 2, [(b"/a", b"x", 2)])
        await store.close()

    drive(reactor, story())


def test_compaction_gives_room_back(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        revision = 0
        for _ in range(500):
            revision = await store.commit(b"/a", b"x" * 8000, expected=revision)
        await store.compact(revision, expected=1)
        await store.close()

    drive(reactor, story())
    assert path.stat().st_size < 500 * 8000 / 2


def test_compaction_on_a_full_disk_is_refused_and_done_later(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        revision = 0
        for _ in range(3):
            revision = await store.commit(b"/a", b"x", expected=revision)
        with read_only(store):
            await refusal(store.compact(revision, expected=1), Unavailable)
        assert await store.oldest() == 1
        assert await store.compact(revision, expected=1) == revision
        await store.close()

    drive(reactor, story())


def test_a_file_that_cannot_be_read_is_unavailable(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        store._file.reader.close()
        await refusal(store.get(b"/a"), Unavailable)
        await refusal(store.page(b"", at=None, after=b"", limit=0), Unavailable)
        await refusal(store.tail(1).__anext__(), Unavailable)
        await store.close()

    drive(reactor, story())


def test_more_writes_than_can_wait_are_refused(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path, waiting=5)

    async def story() -> None:
        writes = [start(store.commit(b"/%d" % number, b"x", expected=0)) for number in range(6)]
        await refusal(store.commit(b"/late", b"x", expected=0), Unavailable)
        assert [await write for write in writes] == [2, 3, 4, 5, 6, 7]
        assert await store.commit(b"/late", b"x", expected=0) == 8
        await store.close()

    drive(reactor, story())


def test_a_reader_that_falls_behind_is_told_so_and_can_start_anew(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path, behind_changes=10)

    async def story() -> None:
        slow = store.tail(1)
        await store.commit(b"/0", b"x", expected=0)
        await slow.__anext__()
        for number in range(1, 13):
            await store.commit(b"/%d" % number, b"x", expected=0)
        await refusal(slow.__anext__(), Unavailable)
        assert [change.revision for change in await read_until(store.tail(2), 14)] == list(range(3, 15))
        await store.close()

    drive(reactor, story())


def test_a_cancelled_writer_does_not_disturb_the_others(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        writes = [start(store.commit(b"/%d" % number, b"x", expected=0)) for number in range(3)]
        writes[1].cancel()
        await refusal(writes[1], CancelledError)
        assert await writes[0] == 2
        assert await writes[2] == 4
        await store.close()

    drive(reactor, story())


def test_many_closers_wait_for_the_same_end(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        write = start(store.commit(b"/a", b"x", expected=0))
        await together([store.close(), store.close()])
        assert await write == 2

    drive(reactor, story())
    assert sorted(found.name for found in path.parent.iterdir()) == ["store.db", "store.db.lock"]


def test_a_file_that_cannot_be_closed_says_so(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)

    def broken() -> None:
        store_close()
        raise OSError("input/output error")

    store_close, store._file.close = store._file.close, broken  # type: ignore[method-assign]  # closing a real file does not fail at will

    async def story() -> None:
        await refusal(store.close(), Unavailable)

    drive(reactor, story())


def test_a_file_without_our_tables_does_not_stay_open(reactor: Any, path: Path) -> None:
    async def fresh() -> None:
        await SqliteBackend(reactor, path).close()

    drive(reactor, fresh())
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TABLE log")
    connection.close()
    for _ in range(2):
        with pytest.raises(UnusableFile, match="no such table: log"):
            SqliteBackend(reactor, path)


def test_it_is_a_backend(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)
    assert isinstance(store, Backend)
    drive(reactor, store.close())
    assert Deferred.fromCoroutine(store.close()).called


def test_revisions_are_skipped(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)
    first = drive(reactor, store.commit(b"a", b"1", expected=0))
    assert drive(reactor, store.skip(1000)) == 1000
    assert (drive(reactor, store.revision()), drive(reactor, store.oldest())) == (1000, 1000)
    # What is there stays, what was before cannot be read any more.
    entry = drive(reactor, store.get(b"a"))
    assert entry is not None
    assert entry.revision == first
    with pytest.raises(Compacted):
        drive(reactor, store.page(b"", at=999, after=b"", limit=0))
    assert drive(reactor, store.commit(b"b", b"2", expected=0)) == 1001
    assert drive(reactor, store.skip(5)) == 1001
    drive(reactor, store.close())
    again = SqliteBackend(reactor, path)
    assert (drive(reactor, again.revision()), drive(reactor, again.oldest())) == (1001, 1001)
    # The compaction of a server goes on from there, and cleans what was written before.
    second = drive(reactor, again.commit(b"a", b"3", expected=first))
    assert drive(reactor, again.compact(second, expected=1001)) == second
    assert [each.key for each in drive(reactor, again.page(b"", at=None, after=b"", limit=0)).entries] == [b"a", b"b"]
    drive(reactor, again.close())


def test_tails_go_on_after_a_skip(reactor: Any, path: Path) -> None:
    store = SqliteBackend(reactor, path)
    first = drive(reactor, store.commit(b"a", b"1", expected=0))
    tail = store.tail(first)
    drive(reactor, store.skip(1000))
    drive(reactor, store.commit(b"b", b"2", expected=0))

    async def next_change() -> tuple[int, int]:
        while True:
            batch = await tail.__anext__()
            if batch.changes:
                return batch.changes[0].revision, batch.progress

    with pytest.raises(Compacted):  # it had not begun: its past is gone
        drive(reactor, next_change())
    drive(reactor, store.close())
