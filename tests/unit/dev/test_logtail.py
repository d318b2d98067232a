"""A growing file, read as it grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from extapi.dev import logtail
from extapi.dev.logtail import FileTail


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "x.log"
    path.touch()
    return path


def add(log: Path, data: bytes) -> None:
    with log.open("ab") as file:
        file.write(data)


def test_lines_come_once_and_whole(log: Path) -> None:
    tail = FileTail(log)
    assert tail.read() == []
    add(log, b"first\nsec")
    assert tail.read() == [b"first"]
    assert tail.read() == []
    add(log, b"ond\n\nthird\n")
    assert tail.read() == [b"second", b"", b"third"]
    tail.close()


def test_a_line_that_was_only_begun_can_be_taken(log: Path) -> None:
    tail = FileTail(log)
    add(log, b"no end")
    assert tail.read() == []
    assert tail.partial() == b"no end"
    assert tail.partial() == b""
    add(log, b" after all\n")
    assert tail.read() == [b" after all"]
    tail.close()


def test_a_line_is_cut_and_the_next_one_is_whole(log: Path) -> None:
    tail = FileTail(log)
    for _ in range(5):
        add(log, b"x" * logtail.LONGEST)
        assert tail.read() == []
    add(log, b"\nnext\n")
    assert tail.read() == [b"x" * logtail.LONGEST, b"next"]
    tail.close()


def test_who_is_far_behind_goes_on_near_the_end_with_a_whole_line(log: Path) -> None:
    tail = FileTail(log)
    add(log, b"begun")
    assert tail.read() == []
    line = b"y" * 999 + b"\n"
    add(log, line * 20_000)
    lines = [line for _ in range(20) for line in tail.read()]
    assert set(lines) == {b"y" * 999}
    assert len(lines) < 1100
    assert tail.skipped + 1000 * len(lines) == pytest.approx(20_000_000, abs=2000)
    tail.close()


def test_a_file_that_was_emptied_is_read_from_its_beginning(log: Path) -> None:
    tail = FileTail(log)
    add(log, b"first\nbegun")
    assert tail.read() == [b"first"]
    log.write_bytes(b"new\n")
    assert tail.read() == [b"new"]
    tail.close()
