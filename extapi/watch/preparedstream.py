"""Watches of a kind whose conversion may wait: each event is sent once its object is there in the watch's version.

Otherwise they are as all others: the order, the sharing and the errors are those of :mod:`extapi.watch.broadcaster` and
:mod:`extapi.watch.stream`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from twisted.internet.defer import Deferred

from extapi.errors import ApiError
from extapi.http.response import Chunk
from extapi.watch.broadcaster import EventStream
from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.cachewatcher import CacheWatcher
from extapi.watch.conversioncalls import ConversionLimits
from extapi.watch.encoding import EventEncoder, encode_event, to_chunks
from extapi.watch.eventqueue import EventQueue, Failures
from extapi.watch.events import CacheEvent, objects_read, to_watch_event
from extapi.watch.preparation import Preparation
from extapi.watch.selection import Predicate, Selection
from extapi.watch.stream import Backlog, WatchStream
from extapi.watch.watchergroup import WatcherGroup


class PreparedEventStream(EventStream):
    """The events of a resource in one encoding, after the conversion of their objects."""

    def __init__(
        self, encoder: EventEncoder, source: CacheSource, preparation: Preparation, limits: ConversionLimits
    ) -> None:
        super().__init__(encoder, source)
        self._representation = source.representation(encoder.representation)
        self._queue = EventQueue(
            preparation,
            encoder.representation,
            limits,
            reads=self._reads,
            deliver=self._deliver_prepared,
            overflow=self._end,
        )

    def deliver(self, changes: Sequence[CacheEvent]) -> None:
        """See :class:`~extapi.watch.broadcaster.EventStream`. Changes that must be converted are sent later."""
        self._queue.put(changes)

    def add(self, watcher: CacheWatcher, selection: Selection, *, unstarted: bool) -> WatcherGroup:
        """See :class:`~extapi.watch.broadcaster.EventStream`. The changes that wait now are not for the watcher."""
        group = self.group(selection)
        group.reserve(watcher, unstarted=unstarted)
        self._queue.then(lambda: group.join(watcher))
        return group

    def when_delivered(self, call: Callable[[], None]) -> None:
        """See :class:`~extapi.watch.broadcaster.EventStream`."""
        self._queue.then(call)

    def close(self) -> None:
        """See :class:`~extapi.watch.broadcaster.EventStream`."""
        self._queue.close()

    def _reads(self, change: CacheEvent) -> list[CachedObject]:
        return [cached for group in self._groups.values() for cached in group.reads(change)]

    def _deliver_prepared(self, changes: Sequence[CacheEvent], failures: Failures) -> None:
        with self._representation.failing(failures):
            super().deliver(changes)

    def _end(self) -> None:
        """End all watches, since too many changes wait. Their clients go on where they were."""
        for group in tuple(self._groups.values()):
            group.end()


class PreparedWatchStream(WatchStream):
    """The body of a watch's response, with initial events that are converted a few at a time."""

    def __init__(
        self,
        *,
        encoder: EventEncoder,
        source: CacheSource,
        predicate: Predicate | None,
        preparation: Preparation,
        step: int,
        **options: Any,
    ) -> None:
        """Prepare a watch.

        Args:
            encoder: See :class:`~extapi.watch.stream.WatchStream`.
            source: What the cached objects share.
            predicate: Which objects to send.
            preparation: Converts objects.
            step: How many initial events are converted together.
            options: The other arguments of :class:`~extapi.watch.stream.WatchStream`.
        """
        super().__init__(encoder=encoder, **options)
        self._representation = source.representation(encoder.representation)
        self._predicate = predicate
        self._preparation = preparation
        self._step = step

    async def _send_initial(self, watcher: CacheWatcher, group: WatcherGroup, backlog: Backlog) -> None:
        changes = iter(backlog.changes)
        first = True
        while part := list(islice(changes, self._step)):
            failures = await self._prepared(watcher, part)
            if watcher.ended:
                return
            with self._representation.failing(failures):
                events = self._encoded(watcher, part, first=first)
            if events and first:
                first = False
                group.start(watcher)
            self._representation.sent += len(events)
            await watcher.send(to_chunks(events))
            if watcher.failure is not None:
                return
        end = []
        if self._options.initial_end_bookmark:
            self._representation.sent += 1
            end.append(Chunk(self._encoder.bookmark(backlog.revision, initial_end=True, first=first)))
        await watcher.send_initial(end)

    async def _prepared(self, watcher: CacheWatcher, part: Sequence[CacheEvent]) -> Failures:
        """Wait until the objects of a part are converted, or until the watch ends."""
        read = [cached for change in part for cached in objects_read(self._predicate, change)]
        lacking = self._preparation.lacking(read, self._representation.version)
        failures: Failures = {}

        async def prepare() -> None:
            nonlocal failures
            failures = await self._preparation.prepare(lacking, self._representation.version)

        if lacking:
            await watcher.wait(Deferred.fromCoroutine(prepare()))
        return failures

    def _encoded(self, watcher: CacheWatcher, part: Sequence[CacheEvent], *, first: bool) -> list[bytes]:
        """The events of a part, up to the first that fails, whose error becomes the watcher's."""
        encoded: list[bytes] = []
        for change in part:
            try:
                event = to_watch_event(self._predicate, change)
                if event is not None:
                    encoded.append(encode_event(self._encoder, event, first=first and not encoded))
            except ApiError as error:
                watcher.failure = error
                break
        return encoded


class StreamTypes:
    """Chooses between the streams of one resource: conversion waits for some of its versions, or for none."""

    def __init__(self, source: CacheSource, preparation: Preparation, limits: ConversionLimits) -> None:
        self._source = source
        self._preparation = preparation
        self._limits = limits

    def event_stream(self, encoder: EventEncoder, source: CacheSource) -> EventStream:
        """The events in one encoding."""
        if not source.representation(encoder.representation).waits:
            return EventStream(encoder, source)
        return PreparedEventStream(encoder, source, self._preparation, self._limits)

    def watch_type(self, encoder: EventEncoder, selection: Selection) -> Callable[..., WatchStream]:
        """What makes the body of a watch."""
        if not self._source.representation(encoder.representation).waits:
            return WatchStream
        return partial(
            PreparedWatchStream,
            source=self._source,
            predicate=selection.predicate(self._source),
            preparation=self._preparation,
            step=self._limits.objects,
        )
