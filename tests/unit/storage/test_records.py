"""The SQL of an SQLite store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from extapi.storage.file import StoreFile
from extapi.storage.records import (
    CLEAN_BYTES,
    CLEAN_ROWS,
    COUNTS,
    PART_BYTES,
    PART_ROWS,
    SPARE_PAGES,
    VACUUM_PAGES,
    Reader,
    Writer,
)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[StoreFile]:
    file = StoreFile(tmp_path / "store.db")
    yield file
    file.close()


@pytest.fixture
def writer(file: StoreFile) -> Writer:
    return Writer(file.writer)


@pytest.fixture
def reader(file: StoreFile) -> Reader:
    return Reader(file.reader)


def write(writer: Writer, *changes: tuple[bytes, bytes | None]) -> None:
    """Commit changes to whatever the keys are at."""
    live: dict[bytes, int] = {}
    writer.begin()
    for key, value in changes:
        live[key] = writer.append(key, value, live.get(key, 0))
        if value is None:
            del live[key]
    writer.commit()
    writer.committed()


def step(writer: Writer, work: str) -> int:
    writer.begin()
    more = int(getattr(writer, work)())
    writer.commit()
    writer.committed()
    return more


def rows(file: StoreFile) -> list[int]:
    return [revision for (revision,) in file.reader.execute("SELECT revision FROM log ORDER BY revision")]


def compact(writer: Writer, revision: int) -> None:
    writer.begin()
    assert writer.compact(revision, writer.compacted) == revision
    writer.commit()
    writer.committed()


def test_the_past_comes_in_parts_of_so_many_rows(writer: Writer, reader: Reader) -> None:
    write(writer, *((b"/%d" % number, b"x") for number in range(PART_ROWS + 1)))
    first = reader.past(1, writer.revision)
    assert (len(first.batch.changes), first.batch.progress, first.more) == (PART_ROWS, PART_ROWS + 1, True)
    second = reader.past(first.batch.progress, writer.revision)
    assert (len(second.batch.changes), second.batch.progress, second.more) == (1, PART_ROWS + 2, False)
    # A part that is exactly full at the end of the log is the last one.
    assert not reader.past(1, PART_ROWS + 1).more


def test_the_past_comes_in_parts_of_so_many_bytes(writer: Writer, reader: Reader) -> None:
    third = b"x" * (PART_BYTES // 3 + 1)
    # Values and the values before both count: 1, then 3, then 5 thirds.
    write(writer, *((b"/a", third) for _ in range(4)))
    past = reader.past(1, writer.revision)
    assert ([change.revision for change in past.batch.changes], past.more) == ([2, 3], True)


def test_nothing_is_read_beyond_the_revision_asked_for(writer: Writer, reader: Reader) -> None:
    write(writer, (b"/a", b"1"), (b"/a", b"2"), (b"/a", None))
    entry = reader.get(b"/a", 3)
    assert entry is not None
    assert entry.value == b"2"
    assert reader.get(b"/a", 4) is None
    assert [change.revision for change in reader.past(1, 3).batch.changes] == [2, 3]
    assert reader.page(b"", 2, b"", 0).entries == [(b"/a", b"1", 2)]


def test_the_index_alone_tells_what_lives(writer: Writer, file: StoreFile) -> None:
    plan = file.reader.execute(
        "EXPLAIN QUERY PLAN SELECT key, max(revision), dead FROM log WHERE key >= ? GROUP BY key HAVING NOT dead",
        (b"/",),
    ).fetchall()
    assert [row[3] for row in plan] == ["SEARCH log USING COVERING INDEX log_key (key>?)"]


def test_remaining_counts_are_right_when_more_lists_are_in_progress_than_are_remembered(
    writer: Writer, reader: Reader
) -> None:
    write(writer, *((b"/%03d/%d" % (number, item), b"x") for number in range(COUNTS + 5) for item in range(4)))
    prefixes = [b"/%03d/" % number for number in range(COUNTS + 5)]
    afters = dict.fromkeys(prefixes, b"")
    for remaining in (3, 2, 1, 0):
        for prefix in prefixes:
            page = reader.page(prefix, writer.revision, afters[prefix], 1)
            assert page.remaining == remaining
            afters[prefix] = page.entries[-1].key
            assert len(reader._counts) <= COUNTS
    assert not reader._counts


def test_cleaning_drops_what_cannot_be_read_in_steps(writer: Writer, file: StoreFile) -> None:
    write(writer, *((b"/a", b"%d" % number) for number in range(CLEAN_ROWS * 2)))
    last = writer.revision
    compact(writer, last - 1)
    assert len(rows(file)) == CLEAN_ROWS * 2
    assert step(writer, "clean") == 1
    assert len(rows(file)) == CLEAN_ROWS + 1
    while step(writer, "clean"):
        pass
    assert rows(file) == [last - 1, last]


def test_cleaning_stops_when_it_has_dropped_enough_bytes(writer: Writer, file: StoreFile) -> None:
    write(writer, *((b"/a", b"x" * (CLEAN_BYTES // 2)) for _ in range(6)))
    compact(writer, 7)
    left = []
    while step(writer, "clean"):
        left.append(len(rows(file)))
    # The first row of the log dropped nothing; then two drop a step's worth.
    assert left == [4, 2]
    assert rows(file) == [7]


def test_what_a_crash_left_uncleaned_is_cleaned_next_time(writer: Writer, file: StoreFile) -> None:
    write(writer, (b"/a", b"1"), (b"/a", b"2"), (b"/a", None), (b"/b", b"1"), (b"/b", b"2"))
    compact(writer, 4)
    again = Writer(file.writer)
    assert (again.revision, again.compacted) == (6, 4)
    assert step(again, "clean") == 0
    assert rows(file) == [5, 6]


def test_the_revision_outlives_the_rows(writer: Writer, file: StoreFile) -> None:
    write(writer, (b"/a", b"1"), (b"/a", None))
    compact(writer, 3)
    step(writer, "clean")
    assert rows(file) == []
    assert Writer(file.writer).revision == 3


def test_pages_are_given_back_in_steps(writer: Writer, file: StoreFile) -> None:
    pages = 0
    write(writer, *((b"/a", b"x" * 4000) for _ in range(1000)))
    (pages,) = file.reader.execute("PRAGMA page_count").fetchone()
    compact(writer, writer.revision)
    while step(writer, "clean"):
        pass
    before = pages
    more = 1
    while more:
        more = step(writer, "vacuum")
        (after,) = file.reader.execute("PRAGMA page_count").fetchone()
        assert before - after <= VACUUM_PAGES + 1
        before = after
    assert pages > 1000
    assert before < SPARE_PAGES + VACUUM_PAGES + 50
    writer.begin()
    while writer.vacuum():
        pass
    writer.rollback()
    writer.begin()
    writer.vacuum()
    writer.rollback()
    assert file.reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_after_a_rollback_the_numbers_are_those_of_the_file(writer: Writer, file: StoreFile) -> None:
    write(writer, (b"/a", b"1"))
    writer.begin()
    writer.append(b"/b", b"1", 0)
    writer.compact(2, 1)
    writer.rollback()
    assert writer.changes == []
    writer.begin()
    assert (writer.revision, writer.compacted) == (2, 1)
    assert writer.append(b"/b", b"1", 0) == 3
    writer.commit()
    assert rows(file) == [2, 3]


def test_a_transaction_that_was_left_open_is_undone_first(writer: Writer, file: StoreFile) -> None:
    file.writer.execute("BEGIN")
    file.writer.execute("DELETE FROM mark")
    writer.begin()
    writer.append(b"/a", b"1", 0)
    writer.commit()
    assert file.reader.execute("SELECT count(*) FROM mark").fetchone() == (2,)


def test_another_writer_is_an_error_at_once(writer: Writer, file: StoreFile, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        writer.begin()
    other.close()
    writer.begin()
    writer.rollback()
