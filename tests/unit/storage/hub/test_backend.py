"""A worker whose hub goes away, and several workers on one hub; the contract itself is kept by tests/conformance/test_hub.py."""

from __future__ import annotations

import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from extapi.clock import sleep
from extapi.privatereactor import drive, private_reactor
from extapi.storage import probe
from extapi.storage.base import KeyValue, RevisionConflict, TooLarge, Unavailable, Uncertain
from extapi.storage.file import UnusableFile
from extapi.storage.hub import backend as backends
from extapi.storage.hub.backend import HubBackend
from extapi.storage.hub.hub import Hub
from extapi.storage.hub.shared import SharedRevisions
from extapi.storage.sqlite import SqliteBackend
from extapi.testing.stories import Follower, read_until, refusal, start


class Pair:
    """A file, its hub, and two workers."""

    def __init__(self, reactor: Any, path: Path) -> None:
        self.reactor, self.path = reactor, path
        self.shared = SharedRevisions()
        self.asking: list[int] = []
        self.workers = [
            HubBackend(reactor, path, self.shared, partial(self.asking.append, number)) for number in range(2)
        ]
        self.hub: Hub | None = None
        self.ends: list[socket.socket] = []
        self.begin()

    def begin(self) -> None:
        """Another hub, for those that ask for one."""
        self.hub = Hub(self.reactor, self.path, self.shared)
        self.connect()

    def connect(self) -> None:
        """Connect those that ask for it."""
        assert self.hub is not None
        while self.asking:
            number = self.asking.pop()
            here, there = socket.socketpair()
            self.ends.append(there.dup())  # with which a test can end the stream, as a death would
            self.hub.attach(there)
            self.workers[number].attach(here)

    async def die(self) -> None:
        """The hub ends, and its streams do, with whatever is on its way."""
        assert self.hub is not None
        for end in self.ends:
            end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.ends = []
        await self.hub.close()
        while len(self.asking) < len(self.workers):
            await sleep(self.reactor, 0.01)

    async def end(self) -> None:
        for worker in self.workers:
            await worker.close()
        for end in self.ends:
            end.close()
        assert self.hub is not None
        await self.hub.close()


def run(path: Path, story: Any) -> None:
    async def told(reactor: Any) -> None:
        pair = Pair(reactor, path)
        for worker in pair.workers:
            await worker.open()
        await story(pair, *pair.workers)
        await pair.end()

    with private_reactor() as reactor:
        drive(reactor, told(reactor), timeout=60.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_a_write_through_one_is_seen_at_once_through_the_other(path: Path) -> None:
    async def story(_: Pair, one: HubBackend, other: HubBackend) -> None:
        tail = Follower(other.tail(await other.revision()))
        for number in range(50):
            revision = await one.commit(b"/a", b"%d" % number, expected=(await other.revision()) if number else 0)
            entry = await other.get(b"/a")
            assert entry is not None
            assert (entry.value, entry.revision) == (b"%d" % number, revision)
        conflict = await refusal(other.commit(b"/a", b"x", expected=1), RevisionConflict)
        assert conflict.live == entry
        assert [change.value for change in tail.changes] == [b"%d" % number for number in range(50)]
        assert await one.compact(revision, expected=await other.oldest()) == revision
        assert await other.oldest() == revision

    run(path, story)


def test_while_the_hub_is_away_the_past_is_read_and_nothing_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "PATIENCE", 0.1)

    async def story(pair: Pair, one: HubBackend, _: HubBackend) -> None:
        before = await one.revision()
        written = await one.commit(b"/a", b"x", expected=0)
        tail = one.tail(written)
        waiting = start(refusal(tail.__anext__(), Unavailable))
        await pair.die()
        await waiting
        assert one.check() is not None
        # What the hub has written last, and not told, may be in the file.
        await refusal(one.revision(), Unavailable)
        await refusal(one.get(b"/a"), Unavailable)
        await refusal(one.page(b"", at=written + 1, after=b"", limit=0), Unavailable)
        assert [entry.key for entry in (await one.page(b"", at=written, after=b"", limit=0)).entries] == [b"/a"]
        assert not isinstance(await refusal(one.commit(b"/b", b"x", expected=0), Unavailable), Uncertain)
        await refusal(one.tail(written).__anext__(), Unavailable)
        pair.begin()
        while one.check() is not None:
            await sleep(pair.reactor, 0.01)
        after = await one.commit(b"/b", b"y", expected=0)
        changes = await read_until(one.tail(before), after)
        assert [change.key for change in changes] == [b"/a", b"/b"]

    run(path, story)


def test_no_worker_is_ready_while_the_store_refuses_the_writes_of_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of them is asked, and one that is started meanwhile; until a write of the hub's own succeeds."""
    monkeypatch.setattr(probe, "INTERVAL", 0.05)
    log, away = Path(f"{path}-wal"), path.with_name("away")

    def move(origin: Path, target: Path) -> None:
        origin.rename(target)

    async def judged(worker: HubBackend, expected: str | None) -> None:
        for _ in range(300):  # three seconds at most, and more on a slow machine
            if worker.check() == expected:
                return
            await sleep(worker._reactor, 0.01)
        raise AssertionError(f"{worker.check()}, and not {expected}")

    async def story(pair: Pair, one: HubBackend, other: HubBackend) -> None:
        await one.commit(b"/a", b"x", expected=0)
        move(log, away)
        await refusal(one.commit(b"/b", b"x", expected=0), Unavailable)
        third = HubBackend(pair.reactor, path, pair.shared, partial(pair.asking.append, 2))
        pair.workers.append(third)
        pair.connect()
        for worker in (one, other, third):
            await judged(worker, probe.REFUSES)
        await refusal(other.commit(b"/b", b"x", expected=0), Unavailable)
        move(away, log)
        for worker in (one, other, third):
            await judged(worker, None)
        await other.commit(b"/b", b"x", expected=0)

    run(path, story)


def test_what_was_not_answered_is_uncertain(path: Path) -> None:
    async def story(pair: Pair, one: HubBackend, _: HubBackend) -> None:
        writing = start(refusal(one.commit(b"/a", b"x", expected=0), Uncertain))
        await pair.die()
        await writing
        pair.begin()
        while one.check() is not None:
            await sleep(pair.reactor, 0.01)

    run(path, story)


def test_who_reads_after_an_uncertain_write_sees_that_it_was_done(path: Path) -> None:
    async def story(pair: Pair, one: HubBackend, other: HubBackend) -> None:
        await pair.die()
        reading = [start(worker.get(b"/a")) for worker in (one, other)]
        last = SqliteBackend(pair.reactor, path)  # what the hub did last, and nobody was told
        await last.commit(b"/a", b"x", expected=0)
        await last.close()
        pair.begin()
        found = [await each for each in reading]
        assert found == [KeyValue(b"/a", b"x", 2)] * 2

    run(path, story)


def test_a_file_that_was_replaced_is_refused(path: Path) -> None:
    """Workers would read one file, and the hub write another."""

    async def story(pair: Pair, one: HubBackend, _: HubBackend) -> None:
        await one.commit(b"/a", b"x", expected=0)
        await pair.die()
        for each in list(path.parent.iterdir()):
            each.rename(each.with_name(f"away-{each.name}"))
        with pytest.raises(UnusableFile, match="it was replaced while it was in use"):
            Hub(pair.reactor, path, pair.shared)

    async def told(reactor: Any) -> None:
        pair = Pair(reactor, path)
        for worker in pair.workers:
            await worker.open()
        await story(pair, *pair.workers)
        for worker in pair.workers:
            await worker.close()

    with private_reactor() as reactor:
        drive(reactor, told(reactor), timeout=60.0)


def test_what_no_frame_can_carry_is_too_large(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "LARGEST_VALUE", 100)

    async def story(_: Pair, one: HubBackend, __: HubBackend) -> None:
        await refusal(one.commit(b"/a", b"x" * 100, expected=0), TooLarge)
        assert await one.commit(b"/a", b"x" * 98, expected=0) > 0

    run(path, story)


def test_the_file_has_what_was_written_when_all_is_over(path: Path) -> None:
    async def story(_: Pair, one: HubBackend, __: HubBackend) -> None:
        await one.commit(b"/a", b"x", expected=0)

    run(path, story)

    async def alone(reactor: Any) -> None:
        store = SqliteBackend(reactor, path)
        entry = await store.get(b"/a")
        assert entry is not None
        assert entry.value == b"x"
        await store.close()

    with private_reactor() as reactor:
        drive(reactor, alone(reactor), timeout=60.0)
