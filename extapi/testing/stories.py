"""What tests of a store are told with: a reader that runs beside the test, a simple model, an expected refusal.

It must not know any particular store; what a store has to do stands in :mod:`extapi.testing.backends`.
"""
# ruff: noqa: S101 - assert is how a test tests, also in a suite that is shipped

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, gatherResults

from extapi.storage.base import Backend, Batch, Change, Entry, Tail
from extapi.testing.reactor import drive, private_reactor

E = TypeVar("E", bound=Exception)
S = TypeVar("S", bound="Suite")
T = TypeVar("T")


def start(coroutine: Coroutine[Any, Any, T]) -> Deferred[T]:
    """Run a coroutine beside the one that asks; wait for it by ``await``."""
    return Deferred.fromCoroutine(coroutine)


async def together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of coroutines that run at once."""
    return list(await gatherResults([start(coroutine) for coroutine in coroutines], consumeErrors=True))


async def refusal(awaitable: Awaitable[object], kind: type[E]) -> E:
    """The error that the awaitable has to end with."""
    try:
        result = await awaitable
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected, but it returned {result!r}")


async def read_until(tail: Tail, revision: int) -> list[Change]:
    """What the tail yields until it is complete up to a revision; checks the order of changes and marks on the way."""
    changes: list[Change] = []
    progress = 0
    async for batch in tail:
        for change in batch.changes:
            assert progress < change.revision <= batch.progress
            assert not changes or changes[-1].revision < change.revision
            changes.append(change)
        assert progress <= batch.progress
        progress = batch.progress
        if progress >= revision:
            return changes
    raise AssertionError(f"the tail ended at {progress}, before {revision}")


class Follower:
    """A reader that runs beside the test and keeps what its tail yields."""

    def __init__(self, tail: Tail) -> None:
        self.tail = tail
        self.batches: list[Batch] = []
        self.done = start(self._follow())

    async def _follow(self) -> None:
        async for batch in self.tail:
            self.batches.append(batch)

    @property
    def changes(self) -> list[Change]:
        """All changes so far."""
        return [change for batch in self.batches for change in batch.changes]


class Model:
    """The simplest store there is, to compare with: every change ever made, and nothing cleverer than a loop."""

    def __init__(self, start: int) -> None:
        self.changes: list[Change] = []
        self.revision = start

    def at(self, revision: int, prefix: bytes = b"") -> list[Entry]:
        """The live entries as of a revision, in key order."""
        state: dict[bytes, Entry] = {}
        for change in self.changes:
            if change.revision <= revision:
                state.pop(change.key, None)
                if change.value is not None:
                    state[change.key] = Entry(change.key, change.value, change.revision)
        return sorted(entry for key, entry in state.items() if key.startswith(prefix))

    def live(self, key: bytes) -> Entry | None:
        """The live entry of a key."""
        return next((entry for entry in self.at(self.revision) if entry.key == key), None)

    def add(self, revision: int, key: bytes, value: bytes | None) -> None:
        """Note a commit that went through."""
        live = self.live(key)
        self.changes.append(Change(revision, key, value, live.value if live else None))
        self.revision = revision


class Suite:
    """What the parts of a suite have in common: the store they test."""

    durable = False
    """Whether a store that is closed and opened again has everything."""
    timeout = 30.0
    """Seconds a test may take."""

    def store(self, reactor: Any) -> Backend | Awaitable[Backend]:
        """An open store: empty the first time in a test, the same one afterwards if it is durable."""
        raise NotImplementedError

    async def opened(self, reactor: Any) -> Backend:
        """The store, waited for where that is needed."""
        store = self.store(reactor)
        return await store if isawaitable(store) else store


def story(test: Callable[[S, Backend], Coroutine[Any, Any, None]]) -> Callable[[S], None]:
    """Make a test of a coroutine: with a fresh store, which is closed afterwards, on a reactor of its own."""

    def run(self: S) -> None:
        with private_reactor() as reactor:

            async def whole() -> None:
                store = await self.opened(reactor)
                try:
                    await test(self, store)
                finally:
                    await store.close()

            drive(reactor, whole(), timeout=self.timeout)

    run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
    return run
