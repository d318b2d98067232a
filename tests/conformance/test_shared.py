"""The suite asks no more of a store than that revisions rise: one with holes, which others write to, keeps the contract too."""

from __future__ import annotations

from typing import Any

from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.testing.backends import BackendConformance
from tests.sharedlog import SharedBackend


class TestShared(BackendConformance):
    largest = 1_500_000
    too_large = 1_500_001

    def store(self, reactor: Any) -> Backend:
        return SharedBackend(MemoryBackend(reactor))
