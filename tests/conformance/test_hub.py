"""A store in SQLite behind the hub keeps the contract, for each worker and for two at once."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from extapi.storage.base import Backend
from extapi.storage.hub.backend import HubBackend
from extapi.storage.hub.hub import Hub
from extapi.storage.hub.shared import SharedRevisions
from extapi.testing.backends import BackendConformance


class OwnHub(HubBackend):
    """A worker with a hub of its own, which ends with it."""

    def __init__(self, reactor: Any, path: Path) -> None:
        shared = SharedRevisions()
        self._own = Hub(reactor, path, shared)

        def ask() -> None:
            here, there = socket.socketpair()
            self._own.attach(there)
            reactor.callLater(0, self.attach, here)

        super().__init__(reactor, path, shared, ask)

    async def close(self) -> None:
        await super().close()
        await self._own.close()


class TestHub(BackendConformance):
    durable = True
    path: Path

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.db"

    def store(self, reactor: Any) -> Backend:
        return OwnHub(reactor, self.path)
