"""The SQLite backend keeps the contract."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from extapi.storage.base import Backend
from extapi.storage.sqlite import SqliteBackend
from extapi.testing.backends import BackendConformance


class TestSqlite(BackendConformance):
    durable = True
    path: Path

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.db"

    def store(self, reactor: Any) -> Backend:
        return SqliteBackend(reactor, self.path)


class TestSqliteWithThread(TestSqlite):
    """Where the kernel refuses asynchronous I/O."""

    @pytest.fixture(autouse=True)
    def _refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "caio.linux_aio", None)

    def store(self, reactor: Any) -> Backend:
        store = SqliteBackend(reactor, self.path)
        assert store._durable is None
        return store
