"""Watches that an author's code serves, each by itself: its events, selected and encoded as the client asked.

There is no cache: the code yields what there is, then what changes, so a watch cannot resume. Must not know the verbs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.api.feed import ObjectEvent
from extapi.api.types import Obj
from extapi.clock import Clock, sleep, stop_timer
from extapi.errors import ApiError
from extapi.http.response import Chunk, Sink
from extapi.registry.served import ServedKind
from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.cachewatcher import CacheWatcher, WatchLimits
from extapi.watch.encoding import EventEncoder
from extapi.watch.events import ADDED, DELETED, MODIFIED
from extapi.watch.selection import Predicate

TURN: Final = 200
"""Events that are taken in one turn of the reactor."""
MAX_SHOWN: Final = 100_000
"""Objects that a watch with selectors may have shown: their names are remembered."""


class NoEventError(Exception):
    """An author's code yielded what is no event; the text tells the operator why."""


class OpenWatches:
    """The watches of one resource that are open, so that they can be ended."""

    def __init__(self) -> None:
        self._open: set[CacheWatcher] = set()
        self._closed = False

    def add(self, watcher: CacheWatcher) -> None:
        """A watch begins; it ends at once if all were ended."""
        self._open.add(watcher)
        if self._closed:
            watcher.end()

    def remove(self, watcher: CacheWatcher) -> None:
        """The watch is over."""
        self._open.discard(watcher)

    def end(self) -> None:
        """End all watches cleanly, also those that begin later."""
        self._closed = True
        for watcher in tuple(self._open):
            watcher.end()


class AuthorWatch:
    """The body of a watch's response; a :data:`~extapi.http.response.Streaming`.

    Args:
        kind: The kind.
        version: The version of the request.
        begin: Begins the author's events.
        made: Checks and converts an object of the author to the version.
        encoder: Encodes events.
        predicate: Selects objects; None selects all.
        source: What the objects share.
        clock: A reactor.
        seconds: How long the watch lasts.
        watches: Where it is known while it is open.
    """

    _log = Logger()

    def __init__(
        self,
        kind: ServedKind,
        version: str,
        begin: Callable[[], Any],
        *,
        made: Callable[[Any], Obj],
        encoder: EventEncoder,
        predicate: Predicate | None,
        source: CacheSource,
        clock: Clock,
        seconds: float,
        watches: OpenWatches,
    ) -> None:
        self._kind = kind
        self._version = version
        self._begin = begin
        self._made = made
        self._encoder = encoder
        self._predicate = predicate
        self._source = source
        self._clock = clock
        self._seconds = seconds
        self._watches = watches
        self._limit = WatchLimits().pending
        self._shown: set[bytes] = set()
        self._first = True

    async def __call__(self, sink: Sink) -> None:
        """Write the watch until it is over. An ApiError becomes its last event; any other failure is logged, and ends it."""
        if self._seconds <= 0:
            return
        watcher = CacheWatcher(sink, self._clock, self._limit)
        deadline = self._clock.callLater(self._seconds, watcher.end)
        sink.on_closed(watcher.end)
        self._watches.add(watcher)
        over: Deferred[None] = Deferred()
        following = Deferred.fromCoroutine(self._events(sink, watcher))
        # Code that does not let itself be cancelled must not keep the connection.
        following.addBoth(lambda result: None if over.called else over.callback(result))
        try:
            await watcher.wait(over)
        except ApiError as error:
            sink.write(Chunk(self._encoder.error(error)))
        except NoEventError as error:
            self._failed(f"watch: {error}", None)
        except Exception:  # noqa: BLE001 -- whatever an author's code raises, the client connects again
            failure: Failure = Failure()  # type: ignore[no-untyped-call]  # Twisted's
            self._failed("watch raised an exception", failure)
        finally:
            self._watches.remove(watcher)
            stop_timer(deadline)
            following.cancel()

    def _failed(self, why: str, failure: Failure | None) -> None:
        text = f"a watch of {self._kind.kind.plural} failed: {why}"
        if failure is None:
            self._log.error("{text}", text=text)
        else:
            self._log.failure("{text}", failure=failure, text=text)

    async def _events(self, sink: Sink, watcher: CacheWatcher) -> None:
        """Write the author's events as fast as the client reads them."""
        generator = self._begin()
        if not isinstance(generator, AsyncGenerator):
            raise NoEventError(f"it returned a value of type {type(generator).__name__}, and is no async generator")
        number = 0
        async with aclosing(generator) as events:
            async for event in events:
                if watcher.ended:
                    return
                data = self._encoded(event)
                if data:
                    sink.write(Chunk(data))
                if sink.pending > self._limit:
                    await sink.drained()
                number += 1
                if number % TURN == 0:
                    await sleep(self._clock, 0)

    def _encoded(self, event: Any) -> bytes:
        """The bytes of an event; empty if it is not selected.

        Raises:
            NoEventError: It is no event.
            ApiError: Its object cannot be shown.
        """
        if not isinstance(event, ObjectEvent) or event.type not in {ADDED, MODIFIED, DELETED}:
            raise NoEventError(f"it yielded a value of type {type(event).__name__} instead of an ObjectEvent")
        obj = self._made(event.object)
        metadata = obj["metadata"]
        name, namespace = metadata.get("name"), metadata.get("namespace") or ""
        given = metadata.pop("resourceVersion", "") or "0"
        if not isinstance(name, str) or not name or not isinstance(namespace, str) or not str(given).isdecimal():
            raise NoEventError("it yielded an object without a name, or with a resourceVersion that is no number")
        revision, value = int(given), b"".join(self._kind.to_parts(obj, self._version))
        key = self._kind.layout.key(namespace, name)
        cached = CachedObject(key, revision, value, self._source.labels(value), self._source)
        event_type = self._selected(event.type, cached)
        if not event_type:
            return b""
        data = self._encoder.event(event_type, cached, revision, first=self._first)
        self._first = False
        return data

    def _selected(self, event_type: str, cached: CachedObject) -> str:
        """The type of the event for this watch (behaviour F12); empty if it gets none."""
        if self._predicate is None:
            return event_type
        known = cached.key in self._shown
        if event_type != DELETED and self._predicate(cached):
            if len(self._shown) >= MAX_SHOWN:
                raise NoEventError(f"it has shown more than {MAX_SHOWN} objects to a watch with selectors")
            self._shown.add(cached.key)
            return MODIFIED if known else ADDED
        self._shown.discard(cached.key)
        return DELETED if known else ""
