"""The format of backups: what is written is read, and whatever is not what was written is refused before anything is read from it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest

from extapi.console.failure import CommandFailure
from extapi.storage.base import KeyValue
from extapi.storetool.backupfile import LONGEST, MAGIC, BackupReader, BackupWriter, Header

HEADER = Header(7, "2026-01-02T03:04:05Z", "sqlite:///a.db")
ENTRIES = [KeyValue(b"/a", b"\x00\xff", 3), KeyValue(b"/b", b"", 7), KeyValue(b"/c/\xff", b"v" * 70_000, 5)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "backup"
    with made.open("wb") as file:
        writer = BackupWriter(file, HEADER)
        for entry in ENTRIES:
            writer.add(entry)
        writer.end()
    return made


def test_what_was_written_is_read(path: Path) -> None:
    reader = BackupReader(path)
    assert (reader.header, reader.entries) == (HEADER, 3)
    assert list(reader) == ENTRIES
    assert list(reader) == ENTRIES


def test_the_format_is_what_its_description_says(path: Path) -> None:
    """Read by hand, as somebody without this module would."""
    data = path.read_bytes()
    rest, frames, places = data.removeprefix(b"extapi backup 1\n"), [], []
    while rest:
        length = int.from_bytes(rest[:4], "big")
        places.append(len(data) - len(rest))
        frames.append(msgspec.msgpack.decode(rest[4 : 4 + length]))
        rest = rest[4 + length :]
    assert frames[0] == {"revision": 7, "time": "2026-01-02T03:04:05Z", "source": "sqlite:///a.db"}
    assert frames[1:-1] == [list(entry) for entry in ENTRIES]
    assert frames[-1] == {"entries": 3, "sha256": hashlib.sha256(data[: places[-1]]).digest()}


def test_every_byte_counts(path: Path) -> None:
    data = path.read_bytes()
    for place in {*range(200), *range(200, len(data), 997), *range(len(data) - 60, len(data))}:
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(CommandFailure, match=r"damaged or incomplete|no backup of this version"):
            BackupReader(path)


def test_a_part_is_no_backup(path: Path) -> None:
    data = path.read_bytes()
    for end in (0, 5, len(MAGIC), len(MAGIC) + 2, 100, 5000, len(data) - 1):
        path.write_bytes(data[:end])
        with pytest.raises(CommandFailure):
            BackupReader(path)
    path.write_bytes(data + b"x")
    with pytest.raises(CommandFailure, match="damaged"):
        BackupReader(path)


def test_a_length_is_bounded_before_it_is_read(path: Path) -> None:
    path.write_bytes(MAGIC + (LONGEST + 1).to_bytes(4, "big") + b"x")
    with pytest.raises(CommandFailure, match="damaged"):
        BackupReader(path)


def test_keys_come_in_their_order(path: Path) -> None:
    with path.open("wb") as file:
        writer = BackupWriter(file, HEADER)
        writer.add(ENTRIES[1])
        writer.add(ENTRIES[0])
        writer.end()
    with pytest.raises(CommandFailure, match="damaged"):
        BackupReader(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandFailure, match="cannot be read: No such file or directory"):
        BackupReader(tmp_path / "none")
