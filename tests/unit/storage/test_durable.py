"""Commits without a thread: when they are told, when SQLite waits for the disk after all, and what a broken disk means."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Unavailable
from extapi.storage.disk import DiskThread, Done
from extapi.storage.durable import CHECKPOINT_BYTES, CHECKPOINT_ROWS
from extapi.storage.file import StoreFile
from extapi.storage.kernelsync import KernelSync
from extapi.storage.sqlite import SqliteBackend
from extapi.testing.stories import refusal, start


@pytest.fixture
def reactor() -> Iterator[Any]:
    with private_reactor() as reactor:
        yield reactor


@pytest.fixture
def in_thread(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ran in the thread."""
    seen: list[str] = []
    run = DiskThread.run

    def noted(thread: DiskThread, work: Callable[[], None], done: Done) -> None:
        seen.append(getattr(work, "func", work).__name__)
        run(thread, work, done)

    monkeypatch.setattr(DiskThread, "run", noted)
    return seen


def log_pages(path: Path) -> int:
    """How many pages of the log are not copied to the file yet."""
    other = sqlite3.connect(path, isolation_level=None)
    _, pages, copied = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    other.close()
    return int(pages - copied)


def test_nobody_is_told_before_the_log_is_on_the_disk(
    reactor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Done] = []
    store = SqliteBackend(reactor, tmp_path / "store.db")
    assert drive(reactor, store.commit(b"/a", b"1", expected=0)) == 2
    monkeypatch.setattr(KernelSync, "run", lambda _, done: asked.append(done))
    first = start(store.commit(b"/a", b"2", expected=2))
    second = start(store.commit(b"/b", b"1", expected=0))
    (on_disk,) = asked
    assert store._file.reader.execute("SELECT max(revision) FROM log").fetchone() == (3,)
    assert not first.called
    assert drive(reactor, store.revision()) == 2
    on_disk(None)
    assert first.result == 3
    assert not second.called
    asked.pop()(None)
    assert second.result == 4
    drive(reactor, store.close())


def test_the_thread_is_only_for_what_sqlite_waits_for(reactor: Any, tmp_path: Path, in_thread: list[str]) -> None:
    path = tmp_path / "store.db"
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        revision = 0
        for _ in range(CHECKPOINT_ROWS - 1):
            revision = await store.commit(b"/a", b"x", expected=revision)
        assert in_thread == ["_run_waiting"]  # the first: SQLite makes the log's header durable
        revision = await store.commit(b"/a", b"x", expected=revision)
        assert in_thread == ["_run_waiting"] * 2  # this one checkpoints
        assert log_pages(path) == 0
        revision = await store.commit(b"/a", b"x", expected=revision)
        assert in_thread == ["_run_waiting"] * 3  # and this one begins the log again
        await store.commit(b"/a", b"x", expected=revision)
        assert in_thread == ["_run_waiting"] * 3
        await store.close()

    drive(reactor, story())


def test_large_values_are_checkpointed_before_the_log_is_large(reactor: Any, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        for number in range(100):
            await store.commit(b"/%d" % number, b"x" * 500_000, expected=0)

    drive(reactor, story())
    assert Path(f"{path}-wal").stat().st_size < 1.5 * CHECKPOINT_BYTES
    drive(reactor, store.close())


class FailingDisk:
    """``fdatasync`` and the kernel's own way to it, as long as they are told to fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fails = False
        fdatasync, kernel_sync = os.fdatasync, KernelSync.run

        def sync(file: int) -> None:
            if self.fails:
                raise OSError("input/output error")
            fdatasync(file)

        def run(sync: KernelSync, done: Done) -> None:
            if self.fails:
                done(OSError("input/output error"))
            else:
                kernel_sync(sync, done)

        monkeypatch.setattr(os, "fdatasync", sync)
        monkeypatch.setattr(KernelSync, "run", run)


async def healed(store: SqliteBackend, key: bytes, expected: int) -> int:
    """The revision of the first write that succeeds."""
    while True:
        try:
            return await store.commit(key, b"healed", expected=expected)
        except Unavailable:
            await store._durable.drained()  # type: ignore[union-attr]


@pytest.mark.parametrize("in_reactor", [False, True], ids=["in the thread", "without it"])
def test_what_the_disk_failed_to_store_is_refused_and_taken_back(
    reactor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_reactor: bool
) -> None:
    path = tmp_path / "store.db"
    disk = FailingDisk(monkeypatch)
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        why = f"the disk of {path} failed: input/output error"
        kept = await store.commit(b"/kept", b"1", expected=0) if in_reactor else 1
        disk.fails = True
        for _ in range(3):
            assert str(await refusal(store.commit(b"/a", b"1", expected=0), Unavailable)) == why
        assert await store.revision() == kept
        assert await store.get(b"/a") is None
        disk.fails = False
        assert await healed(store, b"/a", 0) == kept + 1
        assert await store.get(b"/a") == (b"/a", b"healed", kept + 1)
        assert await store.commit(b"/b", b"1", expected=0) == kept + 2
        await store.close()

    drive(reactor, story())

    async def after() -> None:
        store = SqliteBackend(reactor, path)
        entries = (await store.page(b"", at=None, after=b"", limit=0)).entries
        assert [(entry.key, entry.value) for entry in entries if entry.key != b"/kept"] == [
            (b"/a", b"healed"),
            (b"/b", b"1"),
        ]
        await store.close()

    drive(reactor, after())


def test_the_log_is_written_again_as_it_was_when_the_disk_failed(
    reactor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel has dropped what it could not write: later reads of the log find a hole."""
    path = tmp_path / "store.db"
    disk = FailingDisk(monkeypatch)
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        kept = await store.commit(b"/kept", b"1", expected=0)
        size = os.stat(f"{path}-wal").st_size  # noqa: PTH116 - of a file in memory
        disk.fails = True
        await refusal(store.commit(b"/a", b"1", expected=0), Unavailable)
        log = os.open(f"{path}-wal", os.O_RDWR)
        os.pwrite(log, b"\0" * (os.fstat(log).st_size - size), size)
        os.close(log)
        disk.fails = False
        revision = await healed(store, b"/b", 0)
        assert revision == kept + 1
        # As after a crash: another process reads the log from the disk.
        for each in (path, Path(f"{path}-wal")):
            each.with_name(f"copy-{each.name}").write_bytes(each.read_bytes())
        copy = sqlite3.connect(tmp_path / "copy-store.db")
        assert copy.execute("SELECT key, value FROM log ORDER BY revision").fetchall() == [
            (b"/kept", b"1"),
            (b"/b", b"healed"),
        ]
        copy.close()
        await store.close()

    drive(reactor, story())


@pytest.mark.parametrize("recovers", [False, True], ids=["disk fails", "disk works again"])
def test_a_broken_store_can_be_closed_and_takes_back_what_it_can(
    reactor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, recovers: bool
) -> None:
    path = tmp_path / "store.db"
    disk = FailingDisk(monkeypatch)
    store = SqliteBackend(reactor, path)

    async def story() -> None:
        disk.fails = True
        await refusal(store.commit(b"/a", b"1", expected=0), Unavailable)
        disk.fails = not recovers
        await store.close()

    drive(reactor, story())
    left = sqlite3.connect(path)
    assert left.execute("SELECT count(*) FROM log").fetchone() == (0 if recovers else 1,)
    left.close()


def test_a_checkpoint_that_fails_costs_no_write_and_is_tried_again(
    reactor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    store = SqliteBackend(reactor, path)
    tried: list[int] = []

    def failing(_: StoreFile) -> bool:
        tried.append(1)
        raise sqlite3.OperationalError("disk I/O error")

    async def story() -> None:
        revision = 0
        with monkeypatch.context() as patched:
            patched.setattr(StoreFile, "checkpoint", failing)
            for _ in range(CHECKPOINT_ROWS + 1):
                revision = await store.commit(b"/a", b"x", expected=revision)
        assert len(tried) == 2
        await store.commit(b"/a", b"x", expected=revision)
        assert log_pages(path) == 0
        await store.close()

    drive(reactor, story())
