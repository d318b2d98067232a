"""Which backend a URL names."""

from __future__ import annotations

from pathlib import Path

import pytest

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Backend
from extapi.storage.file import UnusableFile
from extapi.storage.memory import MemoryBackend
from extapi.storage.sqlite import SqliteBackend
from extapi.storage.url import open_backend


def test_memory() -> None:
    with private_reactor() as reactor:
        assert isinstance(open_backend("memory:", reactor), MemoryBackend)


def test_a_path_is_relative_with_three_slashes_and_absolute_with_four(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with private_reactor() as reactor:

        async def write(store: Backend, revision: int) -> None:
            assert isinstance(store, SqliteBackend)
            assert await store.commit(b"/a", b"%d" % revision, expected=revision - 1 if revision > 2 else 0) == revision
            await store.close()

        drive(reactor, write(open_backend("sqlite:///one%20 two.db", reactor), 2))
        assert (tmp_path / "one%20 two.db").is_file()
        drive(reactor, write(open_backend(f"sqlite:///{tmp_path}/one%20 two.db", reactor), 3))
        # A name that SQLite would take for a store in memory.
        drive(reactor, write(open_backend("sqlite:///:memory:", reactor), 2))
        assert (tmp_path / ":memory:").is_file()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory",
        "memory://",
        "memory:x",
        "sqlite:",
        "sqlite:///",
        "sqlite:////",
        "sqlite://host/path",
        "sqlite:path",
        "sqlite:///dir/",
        "sqlite:///a.db?mode=ro",
        "sqlite:///a.db#x",
        "sqlite:///a\0b",
        "etcd://localhost:2379",
        "/var/lib/store.db",
        "SQLITE:///a.db",
    ],
)
def test_anything_else_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        private_reactor() as reactor,
        pytest.raises(ValueError, match=r"expected memory: or sqlite:///PATH") as refused,
    ):
        open_backend(url, reactor)
    assert repr(url) in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    with private_reactor() as reactor, pytest.raises(UnusableFile, match="there is no directory"):
        open_backend(f"sqlite:///{tmp_path}/missing/store.db", reactor)
