"""One store made equal to another: emptied, gone on with, and never with a revision that was somebody's before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.console.failure import CommandFailure
from extapi.privatereactor import drive, private_reactor
from extapi.registry import replicarecord
from extapi.storage.base import Backend, Compacted, KeyValue, Unavailable
from extapi.storage.file import UnusableFile
from extapi.storage.filling import KEY, check_filled
from extapi.storage.memory import MemoryBackend
from extapi.storage.sqlite import SqliteBackend
from extapi.storetool.filling import Filled, Filling


class Entries:
    """A source of these entries; it breaks off after ``until`` of them."""

    name = "elsewhere"

    def __init__(self, *entries: tuple[bytes, bytes], revision: int = 1000, until: int | None = None) -> None:
        self._entries = sorted(entries)
        self.revision = revision
        self.until = until

    async def entries(self) -> AsyncIterator[KeyValue]:
        for number, (key, value) in enumerate(self._entries):
            if number == self.until:
                raise Unavailable("broken off")
            yield KeyValue(key, value, 1)

    def close(self) -> None:
        pass


@pytest.fixture
def reactor() -> Iterator[Any]:
    with private_reactor() as made:
        yield made


@pytest.fixture
def store(reactor: Any, tmp_path: Path) -> Iterator[SqliteBackend]:
    made = SqliteBackend(reactor, tmp_path / "store.db")
    yield made
    drive(reactor, made.close())


def fill(reactor: Any, store: Backend, source: Entries, *, replace: bool = False) -> Filled:
    done: Filled = drive(reactor, Filling(store, source, replace=replace).run(lambda *_: None))
    return done


def held(reactor: Any, store: Backend) -> dict[bytes, bytes]:
    page = drive(reactor, store.page(b"", at=None, after=b"", limit=0))
    return {entry.key: entry.value for entry in page.entries}


MANY = [(b"/k/%04d" % number, b"%d" % number) for number in range(1234)]


def test_an_empty_store_is_filled_above_the_revisions_of_the_source(reactor: Any, store: SqliteBackend) -> None:
    done = fill(reactor, store, Entries(*MANY))
    assert held(reactor, store) == dict(MANY)
    assert (done.entries, done.written, done.deleted) == (1234, 1234, 0)
    page = drive(reactor, store.page(b"", at=None, after=b"", limit=0))
    assert min(entry.revision for entry in page.entries) > 1000
    assert drive(reactor, store.revision()) == drive(reactor, store.oldest()) == done.revision
    with pytest.raises(Compacted):
        drive(reactor, store.page(b"", at=1000, after=b"", limit=0))


def test_a_store_with_something_in_it_is_left_alone(reactor: Any, store: SqliteBackend) -> None:
    drive(reactor, store.commit(b"/mine", b"1", expected=0))
    with pytest.raises(CommandFailure, match="the store is not empty"):
        fill(reactor, store, Entries(*MANY))
    assert held(reactor, store) == {b"/mine": b"1"}
    drive(reactor, check_filled(store))


def test_servers_that_run_on_it_already_make_it_no_other_store(reactor: Any, store: SqliteBackend) -> None:
    drive(reactor, store.commit(replicarecord.PREFIX + b"pod-1_00", b"{}", expected=0))
    fill(reactor, store, Entries(*MANY))
    assert held(reactor, store) == {**dict(MANY), replicarecord.PREFIX + b"pod-1_00": b"{}"}


def test_or_replaced_but_for_what_is_equal(reactor: Any, store: SqliteBackend) -> None:
    for key, value in ((b"/a", b"old"), (b"/k/0007", b"7"), (b"/k/0008", b"old"), (b"/z", b"old")):
        drive(reactor, store.commit(key, value, expected=0))
    same = drive(reactor, store.get(b"/k/0007"))
    done = fill(reactor, store, Entries(*MANY), replace=True)
    assert held(reactor, store) == dict(MANY)
    assert (done.entries, done.written, done.deleted) == (1234, 1233, 2)
    assert drive(reactor, store.get(b"/k/0007")) == same


def test_its_own_revisions_do_not_come_twice_either(reactor: Any, store: SqliteBackend) -> None:
    drive(reactor, store.skip(5000))
    last = drive(reactor, store.commit(b"/a", b"old", expected=0))
    done = fill(reactor, store, Entries((b"/a", b"new"), revision=10), replace=True)
    (entry,) = drive(reactor, store.page(b"/a", at=None, after=b"", limit=0)).entries
    assert entry.revision > last
    assert done.revision > last


def test_what_was_broken_off_cannot_be_served_and_goes_on(reactor: Any, store: SqliteBackend) -> None:
    with pytest.raises(Unavailable, match="broken off"):
        fill(reactor, store, Entries(*MANY, until=300))
    other = Entries(*MANY)
    other.name = "somewhere"
    with pytest.raises(
        UnusableFile, match="only a part of what it is being filled with from elsewhere at revision 1000"
    ):
        drive(reactor, check_filled(store))
    with pytest.raises(
        CommandFailure, match="being filled from elsewhere at revision 1000; run that again, or give --repl"
    ):
        fill(reactor, store, other)
    done = fill(reactor, store, Entries(*MANY, revision=1001))  # a later revision of the same source will do
    assert held(reactor, store) == dict(MANY)
    assert done.written == 1234 - 300  # those were on their way
    drive(reactor, check_filled(store))


def test_a_difference_at_the_end_is_told_and_the_store_cannot_be_served(reactor: Any, store: SqliteBackend) -> None:
    class Wavering(Entries):
        """Says something else the second time."""

        async def entries(self) -> AsyncIterator[KeyValue]:
            self._entries = self._entries[1:]
            async for each in super().entries():
                yield each

    with pytest.raises(CommandFailure, match="does not have the 1233 entries of elsewhere now"):
        fill(reactor, store, Wavering(*MANY))
    assert drive(reactor, store.get(KEY)) is not None


def test_a_store_whose_revisions_cannot_be_raised(reactor: Any) -> None:
    with pytest.raises(CommandFailure, match="cannot go on above"):
        fill(reactor, MemoryBackend(reactor), Entries(*MANY))
