"""The cache of one resource: its objects in order, serialized; its recent events; its watchers; and the way to its store.

The :class:`~extapi.watch.cacher.Cacher` fills it and applies commits. While it is current, which with a single process it
always is, reads do not wait for the store. Must not know requests: parameters arrive parsed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from extapi.clock import Clock
from extapi.http.response import Streaming
from extapi.storage.base import Backend, KeyValue, LogEvent, Unavailable
from extapi.storage.keys import successor
from extapi.watch.broadcaster import Broadcaster
from extapi.watch.cachedobject import CachedObject, CacheSource, Projector, Representation
from extapi.watch.cachewatcher import WatchLimits
from extapi.watch.conversioncalls import ConversionCalls, ConversionLimits
from extapi.watch.encoding import EventEncoder
from extapi.watch.events import ADDED, CacheEvent, WatchEvent, to_watch_event
from extapi.watch.expected import ExpectedCommits
from extapi.watch.history import EventHistory, HistorySettings
from extapi.watch.orderedobjects import OrderedObjects
from extapi.watch.position import Position
from extapi.watch.preparation import Preparation
from extapi.watch.preparedstream import StreamTypes
from extapi.watch.refusals import refused_write, unavailable
from extapi.watch.selection import Predicate, Selection
from extapi.watch.snapshot import ObjectPage, Prepare, read_page, select_page
from extapi.watch.stream import Backlog, WatchOptions
from extapi.watch.unread import UnreadVersions


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """The bounds of one resource's cache."""

    history: HistorySettings = field(default_factory=HistorySettings)
    limits: WatchLimits = field(default_factory=WatchLimits)
    conversion: ConversionLimits = field(default_factory=ConversionLimits)


class ResourceCache:
    """The cache of one resource, created by :meth:`~extapi.watch.cacher.Cacher.add`."""

    def __init__(
        self, source: CacheSource, *, backend: Backend, position: Position, clock: Clock, settings: CacheSettings
    ) -> None:
        self._source = source
        self._layout = source.layout
        self._key = source.layout.key
        self._backend = backend
        self._position = position
        self._clock = clock
        self._limits = settings.limits
        self.calls = ConversionCalls(clock, settings.conversion)
        """For conversions that may wait, those of writes included."""
        self._preparation = Preparation(source, self.calls, settings.conversion)
        self._objects = OrderedObjects()
        self._history = EventHistory(clock, settings.history)
        self._streams = StreamTypes(source, self._preparation, settings.conversion)
        self._broadcaster = Broadcaster(source, clock, self._streams.event_stream)
        self._unread = UnreadVersions(clock, self._objects, self._broadcaster.versions)
        self._expected = ExpectedCommits(source)
        self.expect = self._expected.add
        """Announces a commit: see :meth:`~extapi.watch.expected.ExpectedCommits.add`. One that fails is forgotten."""

    @property
    def prefix(self) -> bytes:
        """The prefix of its objects' keys."""
        return self._layout.prefix

    def share(self, versions: Iterable[str], projector: Projector) -> None:
        """Serve the objects in further versions, those of another kind that is stored here; ``projector`` makes them."""
        self._source.share(versions, projector)

    # -- called by the cacher

    def fill(self, entries: Iterable[KeyValue], revision: int) -> None:
        """Start over from the content of the store at ``revision``."""
        self._objects.fill(self._object(key, value, changed) for key, value, changed in entries)
        self._history.start(revision)

    def apply(self, change: LogEvent) -> None:
        """Apply a commit from the log, and publish it to watchers."""
        key = change.key
        cached: CachedObject | None
        if change.value is None:
            cached = None
            previous = self._objects.pop(key)
        else:
            previous = self._objects.get(key)
            cached = self._objects[key] = self._object(key, change.value, change.revision)
            if self._expected.commits:
                self._expected.arrive(cached)
        event = self._history.add(change.revision, cached, previous)
        self._broadcaster.publish(event)

    def end_watches(self, *, closed: bool = False) -> None:
        """End all watches cleanly; ``closed``: end later ones at once, too."""
        self._broadcaster.end(closed=closed)
        if closed:
            self._unread.close()

    def _object(self, key: bytes, value: bytes, revision: int) -> CachedObject:
        return CachedObject(key, revision, value, self._source.labels(value), self._source)

    # -- reading

    @property
    def revision(self) -> int:
        """The cache is complete up to this revision."""
        return self._position.revision

    def representation(self, version: str) -> Representation:
        """What the readers of a version share."""
        return self._source.representation(version)

    def __len__(self) -> int:
        return len(self._objects)

    async def fresh(self, operation: str = "get") -> int:
        """Wait until every commit that has returned is in the cache (behaviour E24, K12).

        Args:
            operation: What the client does, for the error.

        Returns:
            The revision of the cache.

        Raises:
            ServerTimeout: The store cannot be read now (behaviour K18).
            Timeout: The cache does not catch up within 3 s.
            TooManyRequests: The cache is being filled.
        """
        position = self._position
        try:
            current = await self._backend.revision()
        except Unavailable as error:
            position.check_ready()
            raise unavailable(self._layout, operation) from error
        if position.revision < current or not position.ready:
            await position.at_least(current)
        return position.revision

    async def at_least(self, revision: int) -> int:
        """Wait until the cache is complete up to ``revision`` (behaviour E24).

        Returns:
            The revision of the cache.

        Raises:
            Timeout: It is not within 3 s.
            TooManyRequests: The cache is being filled.
        """
        await self._position.at_least(revision)
        return self._position.revision

    def get(self, namespace: str, name: str) -> CachedObject | None:
        """The object, or None if it does not exist.

        Raises:
            TooManyRequests: The cache is being filled.
        """
        if not self._position.ready:
            self._position.check_ready()
        return self._objects.get(self._key(namespace, name))

    def peek(self, namespace: str, name: str) -> CachedObject | None:
        """The object, or None if it does not exist or the cache is not ready; writers then read the store."""
        return self._objects.get(self._key(namespace, name)) if self._position.ready else None

    def page(self, namespace: str | None, after: bytes | str, limit: int, selection: Selection) -> ObjectPage:
        """Selected objects in key order.

        Args:
            namespace: The namespace; empty or None for all.
            after: Only objects with greater keys.
            limit: The number of objects; 0 for all.
            selection: Which of these objects.

        Raises:
            TooManyRequests: The cache is being filled.
        """
        self._position.check_ready()
        if selection.version not in self._unread.read:
            self._unread.mark(selection.version)
        after = after.encode() if isinstance(after, str) else after
        prefix, predicate = self._range(namespace, selection)
        name = selection.name
        if name is not None and (namespace or not self._layout.namespaced):
            return self._single(namespace or "", name, after, predicate)
        end = successor(prefix)
        objects = self._objects.between(max(prefix, _following(after)), end)
        selected = selection.select(objects, self._source, within_namespace=prefix != self._layout.prefix)
        found = list(islice(selected, limit) if limit else selected)
        # With a selector, whether any of the remaining objects matches is left to the next page, as in kube-apiserver.
        full = limit and len(found) == limit
        remaining = self._objects.count(_following(found[-1].key), end) if full else 0
        return ObjectPage(found, remaining > 0, None if selection.by_selector else remaining)

    async def prepare(self, objects: Sequence[CachedObject], version: str) -> None:
        """Wait until all objects can be read in ``version``: needed before every read, if conversion may wait.

        Raises:
            ApiError: One of them cannot be converted, or not in time.
        """
        await self._preparation.require(objects, version)

    async def prepared_page(
        self, namespace: str | None, after: bytes | str, limit: int, selection: Selection
    ) -> ObjectPage:
        """As :meth:`page`, if conversion may wait: fields that are selected by are prepared first; for errors see :meth:`prepare`."""
        if (prepare := self._preparer(selection)) is None:
            return self.page(namespace, after, limit, selection)
        objects = self._candidates(namespace, after.encode() if isinstance(after, str) else after, selection)
        return await select_page(objects, limit=limit, predicate=selection.predicate(self._source), prepare=prepare)

    def _candidates(self, namespace: str | None, after: bytes, selection: Selection) -> Sequence[CachedObject]:
        """The objects that a selection could select, whatever their fields."""
        unselective = selection.without_fields()
        name = selection.name
        if name is not None and (namespace or not self._layout.namespaced):
            self._position.check_ready()
            return self._single(namespace or "", name, after, unselective.predicate(self._source)).objects
        return self.page(namespace, after, 0, unselective).objects

    def _preparer(self, selection: Selection) -> Prepare | None:
        """Prepares objects for the predicate of a selection; None if it needs nothing prepared."""
        if selection.reads_fields and self._source.representation(selection.version).waits:
            return partial(self.prepare, version=selection.version)
        return None

    def _range(self, namespace: str | None, selection: Selection) -> tuple[bytes, Predicate | None]:
        """The prefix of the keys in question, and the predicate for the objects under it."""
        prefix = self._layout.namespace_prefix(namespace or "")
        return prefix, selection.predicate(self._source, within_namespace=prefix != self._layout.prefix)

    def _single(self, namespace: str, name: str, after: bytes, predicate: Predicate | None) -> ObjectPage:
        """A list of one name is a lookup."""
        cached = self._objects.get(self._key(namespace, name))
        if cached is None or cached.key <= after or (predicate is not None and not predicate(cached)):
            return ObjectPage((), more=False, remaining=None)
        return ObjectPage((cached,), more=False, remaining=None)

    async def page_at(
        self, revision: int, namespace: str | None, after: bytes | str, limit: int, selection: Selection
    ) -> ObjectPage:
        """As :meth:`page`, but as of ``revision``: from memory if nothing has changed since, else from the store (behaviour K13).

        Raises:
            Compacted: The store no longer has the revision.
            Future: The store does not have the revision yet.
            ServerTimeout: The store cannot be read now (behaviour K18).
        """
        position, prepare = self._position, self._preparer(selection)
        if position.ready and self._history.changed <= revision <= position.revision:
            if prepare is not None:
                return await self.prepared_page(namespace, after, limit, selection)
            return self.page(namespace, after, limit, selection)
        after = after.encode() if isinstance(after, str) else after
        prefix, predicate = self._range(namespace, selection)
        read = partial(read_page, self._backend, self._source, prefix, at=revision, after=after)
        try:
            return await read(limit=limit, predicate=predicate, prepare=prepare)
        except Unavailable as error:
            raise unavailable(self._layout, "list") from error

    # -- the store, past the cache

    async def live(self, operation: str, key: bytes) -> KeyValue | None:
        """Read an object from the store.

        Args:
            operation: What the client does, for the error.
            key: The object's key.

        Raises:
            ServerTimeout: The store cannot be read now (behaviour K18).
        """
        try:
            return await self._backend.get(key)
        except Unavailable as error:
            raise unavailable(self._layout, operation) from error

    async def commit(self, operation: str, key: bytes, value: bytes | None, *, expected: int) -> int:
        """Write to the store; see :meth:`extapi.storage.base.Backend.commit`.

        Args:
            operation: What the client does, for the error.
            key: The object's key.
            value: The object as it is to be stored; None deletes it.
            expected: The revision that the key must have; 0 if it must not exist.

        Returns:
            The new revision.

        Raises:
            RevisionConflict: The key has another revision.
            RequestTooLarge: The store never accepts so large a value.
            ServerTimeout: The store takes no writes now (behaviour K18).
            Timeout: Whether the store has written it cannot be told (behaviour K18).
            TooManyRequests: The store has too much to do; nothing was written.
        """
        try:
            return await self._backend.commit(key, value, expected=expected)
        except Exception as error:
            if value is not None:
                self._expected.forget(value)
            if (refusal := refused_write(error, self._layout, operation)) is not None:
                raise refusal from error
            raise

    # -- watching

    def watch(
        self,
        selection: Selection,
        encoding: Hashable,
        encoder: EventEncoder,
        *,
        since: int | None = None,
        initial: bool = False,
        bookmarks: bool = False,
        initial_end_bookmark: bool = False,
        deadline_seconds: float = 1800.0,
    ) -> Streaming:
        """A stream of the selected events (behaviour F3-F12, F17, F21).

        Later errors are events of the stream. For initial events as fresh as the store, await :meth:`fresh` first.

        Args:
            selection: The objects to watch.
            encoding: Identifies the encoding (version and media type); watches with equal values share encoded bytes.
            encoder: Makes these bytes.
            since: See :class:`~extapi.watch.stream.WatchOptions`, here and below.
            initial: See there.
            bookmarks: See there.
            initial_end_bookmark: See there.
            deadline_seconds: See there.

        Raises:
            TooManyRequests: The cache is being filled (behaviour F18).
        """
        self._position.check_ready()
        options = WatchOptions(since, initial, bookmarks, initial_end_bookmark, deadline_seconds)
        waits = self._source.representation(encoder.representation).waits
        return self._streams.watch_type(encoder, selection)(
            clock=self._clock,
            position=self._position,
            broadcaster=self._broadcaster,
            selection=selection,
            encoding=encoding,
            encoder=encoder,
            options=options,
            limits=self._limits,
            backlog=partial(self._unprepared_backlog if waits else self._backlog, selection, options),
        )

    def _backlog(self, selection: Selection, options: WatchOptions) -> Backlog:
        """What a new watcher is sent before live events; pending events are delivered to all others first.

        Raises:
            Expired: Some of the events since ``options.since`` have been dropped (behaviour F8).
            TooManyRequests: The cache is being filled.
        """
        self._position.check_ready()
        self._broadcaster.flush()
        revision = self._position.revision
        if options.initial:
            objects = self.page(selection.namespace, b"", 0, selection).objects
            return Backlog((WatchEvent(ADDED, cached, cached.revision) for cached in objects), not objects, revision)
        if not options.since:
            return Backlog((), empty=True, revision=revision)
        predicate = selection.predicate(self._source)
        missed = self._history.after(options.since)
        events = [event for change in missed if (event := to_watch_event(predicate, change)) is not None]
        return Backlog(events, not events, revision)

    def _unprepared_backlog(self, selection: Selection, options: WatchOptions) -> Backlog:
        """As :meth:`_backlog`, if conversion may wait: all that could be selected, once its fields can be read."""
        self._position.check_ready()
        self._broadcaster.flush()
        changes: Iterable[CacheEvent] = ()
        if options.initial:
            objects = self._candidates(selection.namespace, b"", selection)
            changes = (CacheEvent(cached.revision, cached, None, 0) for cached in objects)
        elif options.since:
            changes = self._history.after(options.since)
        return Backlog((), empty=True, revision=self._position.revision, changes=changes)


def _following(key: bytes) -> bytes:
    """The smallest key that is greater."""
    return key + b"\0"
