"""What a feed says, as a log: the backend from which the watch cache of a virtual kind is filled.

It is a log in memory that only this process writes: what ``list`` and ``changes`` of the author's object say, and what
writes through this server answer. Each object that differs from the last one is a commit, so resourceVersions, bookmarks,
resuming and ``410`` are those of every store. Asking for the current revision is asking the author: a consistent read lists.
When the feed fails, the log breaks off, and the :class:`~extapi.watch.cacher.Cacher` starts over.

Source: ``k8s.io/client-go/tools/cache`` Reflector, which keeps a store from a list and what follows.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, Final, NamedTuple

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.api.feed import RELIST, Deleted
from extapi.api.protocols import Feed, RESTRequest
from extapi.authentication.loopback import APISERVER
from extapi.clock import sleep, stop_timer
from extapi.errors import qualified
from extapi.registry.feedobject import FedObject, FeedEncoder, FeedError, only_forgets_managers
from extapi.registry.served import ServedKind
from extapi.storage.base import KeyValue, Page, Unavailable
from extapi.storage.memory import MemoryBackend
from extapi.storage.tail import LogReader

LIST_SECONDS: Final = 30.0
"""How long ``list`` may take, in seconds."""
MAX_OBJECTS: Final = 500_000
"""Objects that a feed may have: they are all kept in memory."""
TURN: Final = 200
"""Objects, or changes, that are taken in one turn of the reactor."""
_MOST_DELETED: Final = 100_000
"""Deletions that are remembered while the author is asked; one more, and the answer is of no use."""


class _Entry(NamedTuple):
    digest: bytes
    revision: int


class FeedLog:
    """The log of one feed; a :class:`~extapi.storage.base.Backend`. ``clock``: a reactor."""

    _log = Logger()

    def __init__(self, kind: ServedKind, clock: Any) -> None:
        self.memory = MemoryBackend(clock)
        self.name = qualified(kind.kind.plural, kind.group)
        self._kind = kind
        self._feed: Feed = kind.kind.rest  # type: ignore[assignment]  # checked when the kind was declared
        self._clock = clock
        self._context: Any = None
        self._begun = False
        self._encoder = FeedEncoder(kind)
        self._entries: dict[bytes, _Entry] = {}
        self._by_digest: dict[bytes, bytes] = {}
        self._asking = 0
        """How many answers of the author's code are awaited."""
        self._deleted: dict[bytes, int] = {}
        """Objects that were deleted meanwhile, with the revisions."""
        self._waiting: list[Deferred[None]] = []
        """Reads that wait for a list which begins after they came."""
        self._listing = False
        self._followed = False
        self._following: Deferred[None] | None = None
        self._failure = ""
        self._tail: LogReader | None = None
        self._stopped = False

    def begin(self, context: Any) -> None:
        """Allow the author's methods to be called; ``changes`` gets ``context``."""
        self._context, self._begun = context, True

    def stop(self) -> None:
        """Call the author's methods no more."""
        self._stopped = True
        if self._following is not None:
            self._following.cancel()

    # -- the author's answers

    async def relist(self) -> None:
        """List, and commit what differs. Calls share lists, but none gets a list that began before the call.

        Raises:
            Unavailable: The feed failed; the reason has been logged.
        """
        self._follow()
        waiting: Deferred[None] = Deferred(self._forget)
        self._waiting.append(waiting)
        if not self._listing:
            self._listing = True
            Deferred.fromCoroutine(self._list_for_waiting())
        await waiting

    def _forget(self, gone: Deferred[None]) -> None:
        if gone in self._waiting:
            self._waiting.remove(gone)

    async def _list_for_waiting(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, []
                failure: Unavailable | None = None
                try:
                    await self._list()
                except Unavailable as error:
                    failure = error
                for each in (waiting for waiting in asked if not waiting.called):  # some no longer wait
                    if failure is None:
                        each.callback(None)
                    else:
                        each.errback(Unavailable(str(failure)))
        finally:
            self._listing = False

    async def _list(self) -> None:
        """One list.

        Raises:
            Unavailable: The feed failed.
        """
        request = RESTRequest(APISERVER, self._kind.kind.storage)
        try:
            with self.asking() as asked:
                await self._apply_list(await self._answered(self._feed.list(request)), asked)
        except FeedError as error:
            raise self.failed(f"list: {error}") from None
        except GeneratorExit:  # nobody waits for it any more
            raise
        except BaseException as error:  # an author's code may also exit
            failure: Failure = Failure()  # type: ignore[no-untyped-call]  # Twisted's
            raise self.failed("list raised an exception", failure) from error

    async def _answered(self, asking: Awaitable[Any]) -> Any:
        """What the author's code returns in time. Code that does not let itself be cancelled is left alone.

        Raises:
            FeedError: It takes too long.
        """
        answer: Deferred[Any] = Deferred()
        running = Deferred.fromCoroutine(_driven(asking))
        running.addBoth(lambda result: None if answer.called else answer.callback(result))
        late = FeedError(f"it did not return within {LIST_SECONDS:g} s")
        timer = self._clock.callLater(LIST_SECONDS, lambda: None if answer.called else answer.errback(late))
        try:
            return await answer
        finally:
            stop_timer(timer)
            running.cancel()

    async def _apply_list(self, listed: Any, asked: int) -> None:
        """Commit what differs from a list, but for objects that changed while the author was asked.

        Raises:
            FeedError: It is no list of objects of the kind.
        """
        seen: set[bytes] = set()
        for number, made in enumerate(_objects(listed), 1):
            if number > MAX_OBJECTS:
                raise FeedError(f"there are more than {MAX_OBJECTS} objects")
            digest = self._encoder.digest(made)
            key = self._by_digest.get(digest) if digest else None
            if key is None:
                key = await self._put(made, digest, asked=asked)
            if key in seen:
                raise FeedError(f"two objects have the key {key.decode()}")
            seen.add(key)
            if number % TURN == 0:
                await sleep(self._clock, 0)
        if len(self._deleted) > _MOST_DELETED:
            raise FeedError("too many objects were deleted meanwhile")
        gone = [key for key in self._entries if key not in seen]
        for number, key in enumerate(gone, 1):
            await self._remove(key, asked=asked)
            if number % TURN == 0:
                await sleep(self._clock, 0)

    @contextmanager
    def asking(self) -> Iterator[int]:
        """The revision at which the author's code is asked what there is. What changes until the end is newer than the answer."""
        self._asking += 1
        try:
            yield self.memory.current
        finally:
            self._asking -= 1
            if not self._asking:
                self._deleted.clear()

    async def take(self, key: bytes, made: Any, asked: int, namespace: str = "") -> int:
        """Commit one object that the author's code was asked for, None if there is none, unless it changed meanwhile.

        Returns:
            The revision at which a reader sees it.

        Raises:
            FeedError: It is no object of the kind, or another one.
        """
        if made is None:
            await self._remove(key, asked=asked)
        elif await self._put(made, self._encoder.digest(made), asked=asked, namespace=namespace) != key:
            raise FeedError(f"get: it gave another object than {key.decode()}")
        return self.memory.current

    def encode(self, made: Any, namespace: str = "") -> FedObject:
        """See :meth:`extapi.registry.feedobject.FeedEncoder.encode`."""
        return self._encoder.encode(made, namespace)

    async def put(self, made: Any, namespace: str = "") -> KeyValue:
        """Commit an object that a write answered.

        Raises:
            FeedError: It is no object of the kind.
        """
        key = await self._put(made, self._encoder.digest(made), namespace=namespace, written=True)
        found = await self.memory.get(key)
        assert found is not None  # noqa: S101 -- it has just been committed, and nothing came between
        return found

    async def remove(self, key: bytes) -> int:
        """Commit that an object is gone; returns the current revision."""
        await self._remove(key)
        return self.memory.current

    async def _put(
        self, made: Any, digest: bytes, *, asked: int | None = None, namespace: str = "", written: bool = False
    ) -> bytes:
        """Commit an object if it differs; its key.

        Args:
            made: The object.
            digest: Of the object.
            asked: When the author's code was asked for it, if that may be long ago.
            namespace: The namespace of an object that names none.
            written: Whether it is the answer to a write. Else the managed fields of the last one stay, if only they have
                gone: the author's storage has no room for them.
        """
        key, value = self._encoder.encode(made, namespace)
        entry = self._entries.get(key)
        changed = entry.revision if entry is not None else self._deleted.get(key, 0)
        if asked is not None and changed > asked:
            return key
        live = await self.memory.get(key)
        if live is None and len(self._entries) >= MAX_OBJECTS:
            raise FeedError(f"there are more than {MAX_OBJECTS} objects")
        if live is not None and (live.value == value or (not written and only_forgets_managers(value, live.value))):
            self._set(key, _Entry(digest, live.revision))
            return key
        self._set(
            key, _Entry(digest, self.memory.current + 1)
        )  # first: the commit resumes readers, who may write in turn
        await self.memory.commit(key, value, expected=live.revision if live else 0)
        return key

    async def _remove(self, key: bytes, *, asked: int | None = None) -> None:
        entry = self._entries.get(key)
        if entry is None or (asked is not None and entry.revision > asked):
            return
        self._set(key, None)
        if self._asking:
            self._deleted[key] = self.memory.current + 1
        await self.memory.commit(key, None, expected=entry.revision)

    def _set(self, key: bytes, entry: _Entry | None) -> None:
        before = self._entries.pop(key, None)
        if before is not None and self._by_digest.get(before.digest) == key:
            del self._by_digest[before.digest]
        if entry is not None:
            self._entries[key] = entry
            if entry.digest:
                self._by_digest[entry.digest] = key

    # -- the author's changes

    def _follow(self) -> None:
        """Take changes from now on, unless that is being done."""
        if self._followed or self._stopped or not self._begun:
            return
        self._followed, self._failure = True, ""
        self._following = following = Deferred.fromCoroutine(self._changes())
        following.addErrback(self._broken)

    async def _changes(self) -> None:
        """Commit what ``changes`` yields.

        Raises:
            Exception: It ended, or yielded what is no change.
        """
        number = 0
        generator = self._feed.changes(self._context)
        if not isinstance(generator, AsyncGenerator):
            raise FeedError(f"it returned a value of type {type(generator).__name__}, and is no async generator")
        async with aclosing(generator) as changes:
            async for change in changes:
                number += 1
                if change is RELIST:
                    await self.relist()
                elif isinstance(change, Deleted):
                    await self._remove(self._kind.layout.key(change.namespace, change.name))
                else:
                    await self._put(change, self._encoder.digest(change))
                if change is RELIST or number % TURN == 0:
                    await sleep(self._clock, 0)
        raise FeedError("it ended, but has to yield changes for as long as the server runs")

    def _broken(self, failure: Failure) -> None:
        """Break the log off: watches end, and the cacher starts over."""
        self._followed, self._following = False, None
        if self._stopped:
            return
        if isinstance(failure.value, Unavailable):
            self._failure = str(failure.value)
        elif isinstance(failure.value, FeedError):
            self._failure = str(self.failed(f"changes: {failure.value}"))
        else:
            self._failure = str(self.failed("changes raised an exception", failure))
        if self._tail is not None:
            self._tail.end(Unavailable(self._failure))

    def failed(self, why: str, failure: Failure | None = None) -> Unavailable:
        """Log why the feed failed, and with what; the error for readers of the log."""
        text = f"the feed of {self.name} failed: {why}"
        if failure is None:
            self._log.error("{text}", text=text)
        else:
            self._log.failure("{text}", failure=failure, text=text)
        return Unavailable(text)

    # -- the backend

    async def get(self, key: bytes) -> KeyValue | None:
        """See :meth:`extapi.storage.base.Backend.get`."""
        return await self.memory.get(key)

    async def revision(self) -> int:
        """See :meth:`extapi.storage.base.Backend.revision`: the author is asked what there is."""
        if not self._begun or self._stopped:
            raise Unavailable(f"the feed of {self.name} is not being followed")
        await self.relist()
        return await self.memory.revision()

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`."""
        return await self.memory.page(prefix, at=at, after=after, limit=limit)

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.commit`; only the author writes.

        Raises:
            Unavailable: Always.
        """
        del key, value, expected
        raise Unavailable(f"the feed of {self.name} is written by its author's code")

    def tail(self, after: int) -> LogReader:
        """See :meth:`extapi.storage.base.Backend.tail`; it also breaks off when the feed fails."""
        self._tail = tail = self.memory.tail(after)
        if self._failure:
            tail.end(Unavailable(self._failure))
        return tail

    async def progress(self) -> None:
        """See :meth:`extapi.storage.base.Backend.progress`."""
        await self.memory.progress()

    async def compact(self, revision: int, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.compact`."""
        return await self.memory.compact(revision, expected=expected)

    async def oldest(self) -> int:
        """See :meth:`extapi.storage.base.Backend.oldest`."""
        return await self.memory.oldest()

    async def close(self) -> None:
        """See :meth:`extapi.storage.base.Backend.close`."""
        self.stop()
        await self.memory.close()


async def _driven(asking: Awaitable[Any]) -> Any:
    """Make a coroutine, as only coroutines become Deferreds, of whatever can be awaited."""
    return await asking


def _objects(listed: Any) -> Iterable[Any]:
    if isinstance(listed, str | bytes | dict) or not isinstance(listed, Iterable):
        raise FeedError(f"it returned a value of type {type(listed).__name__} instead of objects")
    return listed
