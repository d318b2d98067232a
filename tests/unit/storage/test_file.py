"""The file of an SQLite store: whose it is, what form it has, and that one process has it."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from extapi.storage.file import APPLICATION, LONGEST, VERSION, StoreFile, UnusableFile


def test_a_new_file_is_ours_and_private(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    file = StoreFile(path)
    modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm", "store.db.lock"), 0o600)
    assert file.writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert file.writer.execute("PRAGMA synchronous").fetchone() == (2,)
    assert file.writer.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    file.close()
    # Where sqlite.org/fileformat2.html says that application_id and user_version are.
    header = path.read_bytes()[:100]
    assert header[68:72] == b"exta" == APPLICATION.to_bytes(4, "big")
    assert int.from_bytes(header[60:64], "big") == VERSION
    StoreFile(path).close()


def test_an_empty_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    StoreFile(path).close()
    assert path.stat().st_size > 0


def other(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE kine (id INTEGER PRIMARY KEY)"],
        ["PRAGMA application_id = 7"],
        ["PRAGMA user_version = 1"],
        ["PRAGMA application_id = 7", f"PRAGMA user_version = {VERSION + 1}"],
    ],
)
def test_another_applications_file_is_left_alone(tmp_path: Path, statements: list[str]) -> None:
    path = tmp_path / "other.db"
    other(path, *statements)
    before = path.read_bytes()
    with pytest.raises(UnusableFile, match="another application's SQLite file; name another one") as refused:
        StoreFile(path)
    assert str(path) in str(refused.value)
    assert path.read_bytes() == before


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    StoreFile(path).close()
    other(path, f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(UnusableFile, match=f"written by a newer extapi .format {VERSION + 1}, .*; upgrade extapi"):
        StoreFile(path)
    assert path.read_bytes() == before


def test_what_is_no_sqlite_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("do not overwrite me\n" * 100)
    with pytest.raises(UnusableFile, match=r"notes\.txt: this is not an SQLite file; name another one"):
        StoreFile(path)
    assert path.read_text() == "do not overwrite me\n" * 100


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    StoreFile(path).close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3000)
    with pytest.raises(UnusableFile, match=r"store\.db: cannot be used as a store: database disk image is malformed"):
        StoreFile(path)


def test_a_path_that_sqlite_does_not_open(tmp_path: Path) -> None:
    room = LONGEST - len(f"{tmp_path}/")
    path = tmp_path / (("x/" * room)[: room - 1] + "x")
    path.parent.mkdir(parents=True)
    StoreFile(path).close()
    with pytest.raises(UnusableFile, match=r"the path has 505 bytes, and SQLite opens none of more than 504; name a"):
        StoreFile(f"{path}x")


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(UnusableFile, match=r"there is no directory .*/missing; create it"):
        StoreFile(tmp_path / "missing" / "store.db")
    with pytest.raises(UnusableFile, match="is not a regular file"):
        StoreFile(tmp_path)
    with pytest.raises(UnusableFile, match=r"the lock file /proc/store\.db\.lock cannot be opened.*write permission"):
        StoreFile("/proc/store.db")
    with pytest.raises(UnusableFile, match=r"the lock file .* cannot be opened: File name too long"):
        StoreFile(tmp_path / ("x" * 300))
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(UnusableFile, match=r"cannot be used as a store: .*Too many levels of symbolic links"):
        StoreFile(loop)


def test_one_process_has_it(tmp_path: Path) -> None:
    path, alias = tmp_path / "store.db", tmp_path / "alias.db"
    file = StoreFile(path)
    alias.symlink_to(path)
    for name in (path, alias):
        with pytest.raises(
            UnusableFile, match=rf"another process has it open \(pid {os.getpid()}\); stop that process"
        ):
            StoreFile(name)
    file.close()
    StoreFile(alias).close()


def test_a_program_that_has_the_file_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    """As one that reads it does while it recovers the log of a server that was killed."""
    path = tmp_path / "store.db"
    StoreFile(path).close()
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    reader.execute("PRAGMA locking_mode = EXCLUSIVE")
    reader.execute("BEGIN EXCLUSIVE")
    ending = threading.Timer(0.3, reader.close)
    ending.start()
    try:
        file = StoreFile(path)
        assert file.writer.execute("PRAGMA busy_timeout").fetchone() == (0,)  # what it serves never waits
        file.close()
    finally:
        ending.join()


def test_a_program_that_keeps_the_file_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    StoreFile(path).close()
    monkeypatch.setattr("extapi.storage.file.OPENING", 0.1)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN EXCLUSIVE")
    with pytest.raises(UnusableFile, match="another program, such as sqlite3, has it locked"):
        StoreFile(path)
    reader.close()


def test_a_refused_file_is_not_kept_locked(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_text("not a database, " * 100)
    with pytest.raises(UnusableFile):
        StoreFile(path)
    path.unlink()
    StoreFile(path).close()


def test_a_file_system_without_a_write_ahead_log(tmp_path: Path) -> None:
    file = StoreFile(tmp_path / "store.db")
    with pytest.raises(UnusableFile, match=r"support a write-ahead log \(delete\); use a local disk"):
        file._check_mode("delete")
    file.close()


def test_it_is_gone_when_the_path_leads_elsewhere(tmp_path: Path) -> None:
    file = StoreFile(tmp_path / "store.db")
    assert file.gone() == ""
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        path = tmp_path / name
        path.rename(tmp_path / "moved")
        assert file.gone() == str(path)
        path.touch()
        assert file.gone() == str(path)
        (tmp_path / "moved").rename(path)
        assert file.gone() == ""
    file.close()
