"""The lagging store of the tests keeps the contract: what it does late, every store may do late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.task import Clock

from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.testing.backends import BackendConformance
from tests.lagging import LaggingBackend


class Turns(Clock):
    """Time for pauses on a real reactor that take no time: each of its turns makes the next call."""

    def __init__(self, reactor: Any) -> None:
        super().__init__()
        self._reactor = reactor

    def callLater(self, delay: float, callable: Callable[..., object], *args: object, **kw: object) -> Any:  # noqa: A002, N802 - Twisted's
        self._reactor.callFromThread(self._next)  # which wakes it
        return super().callLater(delay, callable, *args, **kw)

    def _next(self) -> None:
        if self.calls:
            self.rightNow = max(self.rightNow, self.calls[0].getTime())
            self.advance(0)


class TestLagging(BackendConformance):
    def store(self, reactor: Any) -> Backend:
        return LaggingBackend(MemoryBackend(reactor), Turns(reactor), 3)
