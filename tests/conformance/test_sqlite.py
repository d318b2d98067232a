"""The SQLite backend keeps the contract."""

from __future__ import annotations

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
