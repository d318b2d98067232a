"""The memory backend keeps the contract."""

from __future__ import annotations

from typing import Any

from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.testing.backends import BackendConformance


class TestMemory(BackendConformance):
    def store(self, reactor: Any) -> Backend:
        return MemoryBackend(reactor)
