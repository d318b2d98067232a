"""Tools for tests of stores: a background reader, a simple model, expected refusals.

Must not know any particular store, nor what stores must do (:mod:`extapi.testing.backends`).
"""
# ruff: noqa: S101 - assert is how a test tests, also in a suite that is shipped

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, gatherResults

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Backend, Batch, KeyValue, LogEvent, Tail

E = TypeVar("E", bound=Exception)
S = TypeVar("S", bound="Suite")
T = TypeVar("T")

FAR = 1_000_000
"""So many revisions nobody writes during a test, whoever else writes to the same engine."""


def start(coroutine: Coroutine[Any, Any, T]) -> Deferred[T]:
    """Run a coroutine in the background; ``await`` the result."""
    return Deferred.fromCoroutine(coroutine)


async def together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of coroutines that run concurrently."""
    return list(await gatherResults([start(coroutine) for coroutine in coroutines], consumeErrors=True))


async def refusal(awaitable: Awaitable[object], kind: type[E]) -> E:
    """The error that the awaitable must raise."""
    try:
        result = await awaitable
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected, but it returned {result!r}")


async def read_until(tail: Tail, revision: int) -> list[LogEvent]:
    """The changes of a tail up to a revision; checks the order of changes and progress marks on the way."""
    changes: list[LogEvent] = []
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
    """A background reader that keeps everything its tail yields."""

    def __init__(self, tail: Tail) -> None:
        self.tail = tail
        self.batches: list[Batch] = []
        self._waiting: list[tuple[int, Deferred[None]]] = []
        self.done = start(self._follow())

    async def _follow(self) -> None:
        async for batch in self.tail:
            self.batches.append(batch)
            for waiter in [waiter for waiter in self._waiting if waiter[0] <= batch.progress]:
                self._waiting.remove(waiter)
                waiter[1].callback(None)

    @property
    def progress(self) -> int:
        """The log is complete up to here; 0 before the first batch."""
        return self.batches[-1].progress if self.batches else 0

    async def reached(self, revision: int) -> None:
        """Wait until the log is complete up to a revision."""
        if self.progress < revision:
            waiting: Deferred[None] = Deferred()
            self._waiting.append((revision, waiting))
            await waiting

    @property
    def changes(self) -> list[LogEvent]:
        """All changes so far."""
        return [change for batch in self.batches for change in batch.changes]


class Model:
    """The simplest possible store, to compare with: a list of all changes, read with loops."""

    def __init__(self, start: int) -> None:
        self.changes: list[LogEvent] = []
        self.revision = start

    def at(self, revision: int, prefix: bytes = b"") -> list[KeyValue]:
        """The live entries at a revision, in key order."""
        state: dict[bytes, KeyValue] = {}
        for change in self.changes:
            if change.revision <= revision:
                state.pop(change.key, None)
                if change.value is not None:
                    state[change.key] = KeyValue(change.key, change.value, change.revision)
        return sorted(entry for key, entry in state.items() if key.startswith(prefix))

    async def rise(self, store: Backend) -> None:
        """Adopt a revision that rose without a commit; it must not have gone back."""
        revision = await store.revision()
        assert revision >= self.revision
        self.revision = revision

    def live(self, key: bytes) -> KeyValue | None:
        """The live entry of a key."""
        return next((entry for entry in self.at(self.revision) if entry.key == key), None)

    def add(self, revision: int, key: bytes, value: bytes | None) -> None:
        """Add a successful commit."""
        live = self.live(key)
        self.changes.append(LogEvent(revision, key, value, live.value if live else None))
        self.revision = revision


class Suite:
    """The base of the suite's parts: the store under test."""

    durable = False
    """Whether a store still has its content after it is closed and opened again."""
    timeout = 30.0
    """The limit of one test in seconds."""
    largest = 3 * 1024 * 1024
    """Bytes of a value that the store has to keep: those of the largest body of a request, unless the store has a limit."""
    too_large: int | None = None
    """Bytes of a value that the store has to refuse with ``TooLarge``; None if it has no limit."""

    def store(self, reactor: Any) -> Backend | Awaitable[Backend]:
        """Open a store: empty the first time in a test; later the same one if it is durable."""
        raise NotImplementedError

    async def opened(self, reactor: Any) -> Backend:
        """The opened store, awaited if necessary."""
        store = self.store(reactor)
        return await store if isawaitable(store) else store


def story(test: Callable[[S, Backend], Coroutine[Any, Any, None]]) -> Callable[[S], None]:
    """Make a coroutine a test: with a new store, which is closed afterwards, on a private reactor."""

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
