"""The lagging store of the tests keeps the contract: what it does late, every store may do late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.task import Clock

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.testing.backends import BackendConformance
from extapi.testing.stories import read_until
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

    def test_progress_marks_reach_an_idle_tail(self) -> None:
        """They may come after the call that asked for them has returned, which the suite does not expect of a local store."""
        with private_reactor() as reactor:

            async def tale() -> None:
                store = await self.opened(reactor)
                tail = store.tail(await store.revision())
                revision = await store.commit(b"/a", b"1", expected=0)
                assert [change.revision for change in await read_until(tail, revision)] == [revision]
                await store.progress()
                batch = await tail.__anext__()
                assert (list(batch.changes), batch.progress) == ([], revision)
                await store.close()

            drive(reactor, tale())
