"""All objects of one resource, in order, encoded; its last events; and its watchers.

Filled and kept up by the :class:`~extapi.watch.cacher.Cacher`. Reading never waits for the store when the cache is
current, which on one process it is. Must not know requests: numbers come parsed, errors about them are the caller's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from sortedcontainers import SortedDict

from extapi.client.clock import Clock
from extapi.codec.strictjson import split_resource_version
from extapi.errors import ServerTimeout
from extapi.listener.call import Streaming
from extapi.storage.base import Backend, Change, Entry as StoredEntry, Unavailable
from extapi.storage.keys import successor
from extapi.watch.entry import Entry, Projector, Source
from extapi.watch.group import seen
from extapi.watch.history import History, HistorySettings
from extapi.watch.lane import Audience
from extapi.watch.position import Position
from extapi.watch.rendering import ADDED, Occurrence, Renderer
from extapi.watch.selection import Selection, Test
from extapi.watch.snapshot import EntryPage, read_page
from extapi.watch.stream import Backlog, WatchOptions, WatchStream
from extapi.watch.watcher import Watcher, WatchLimits

Parts = tuple[bytes, bytes]

_EXPECTED: Final = 256
_EXPECTED_BYTES: Final = 16 * 1024 * 1024
"""How many commits under way may have left their forms; of a commit that never comes they are pushed out by others."""


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """The bounds of one resource's cache."""

    history: HistorySettings = field(default_factory=HistorySettings)
    limits: WatchLimits = field(default_factory=WatchLimits)


class ResourceCache:
    """One resource. Made by :meth:`~extapi.watch.cacher.Cacher.add`."""

    def __init__(
        self, source: Source, *, backend: Backend, position: Position, clock: Clock, settings: CacheSettings
    ) -> None:
        self._source = source
        self._backend = backend
        self._position = position
        self._clock = clock
        self._limits = settings.limits
        self._entries: SortedDict[bytes, Entry] = SortedDict()
        self._history = History(clock, settings.history)
        self._audience = Audience(source, clock)
        self._expected: OrderedDict[bytes, Mapping[str, Parts]] = OrderedDict()
        self._expected_bytes = 0

    def share(self, versions: Iterable[str], projector: Projector) -> None:
        """Show the objects in further versions: those of another kind that is stored here. ``projector`` makes them."""
        self._source.share(versions, projector)

    # -- kept up by the cacher

    def fill(self, entries: Iterable[StoredEntry], revision: int) -> None:
        """Begin anew with what the store had at ``revision``."""
        self._entries = SortedDict((key, self._entry(key, value, changed)) for key, value, changed in entries)
        self._history.start(revision)

    def apply(self, change: Change) -> None:
        """Take a commit from the log, and have the watchers told."""
        key = change.key
        previous: Entry | None
        entry: Entry | None
        if change.value is None:
            entry = None
            previous = self._entries.pop(key, None)
        else:
            previous = self._entries.get(key)
            entry = self._entries[key] = self._entry(key, change.value, change.revision)
            if self._expected:
                self._prime(entry)
        event = self._history.add(change.revision, entry, previous)
        self._audience.tell(event)

    def end_watches(self, *, closed: bool = False) -> None:
        """End all watches cleanly; ``closed``: also those that come later."""
        self._audience.end(closed=closed)

    def _entry(self, key: bytes, value: bytes, revision: int) -> Entry:
        return Entry(key, revision, value, self._source.labels(value), self._source)

    # -- what writers know already

    def expect(self, value: bytes, forms: str | Mapping[str, Parts]) -> None:
        """A commit of ``value`` is coming: here are forms of it, so that nobody makes them again.

        ``forms``: by version, head and tail as :meth:`Projector.project` gives them; or just the version in which the
        object looks as it is stored. Bounded; of a commit that fails they are forgotten in time.
        """
        if isinstance(forms, str):
            forms = {forms: split_resource_version(value)}
        if self._expected.pop(value, None) is None:
            self._expected_bytes += len(value)
        self._expected[value] = forms
        while len(self._expected) > _EXPECTED or self._expected_bytes > _EXPECTED_BYTES:
            gone, _ = self._expected.popitem(last=False)
            self._expected_bytes -= len(gone)

    def _prime(self, entry: Entry) -> None:
        value = entry.value
        forms = self._expected.pop(value, None)
        if forms is not None:
            self._expected_bytes -= len(value)
            for version, parts in forms.items():
                entry.prime(self._source.form(value, version, entry.revision, parts))

    # -- reading

    @property
    def revision(self) -> int:
        """Everything up to this revision is here."""
        return self._position.revision

    def __len__(self) -> int:
        return len(self._entries)

    async def fresh(self, operation: str = "get") -> int:
        """Make sure that every commit that has returned is here (spec E24, K12); the revision that the cache has.

        Raises TooManyRequests while the cache is filled, ServerTimeout when the store does not answer (spec K18), and
        Timeout when the cache does not catch up within 3 s.
        """
        position = self._position
        try:
            current = await self._backend.revision()
        except Unavailable as error:
            position.check_ready()
            raise ServerTimeout.on(*self._names(), operation) from error
        if position.revision < current or not position.ready:
            await position.at_least(current)
        return position.revision

    def _names(self) -> tuple[str, str]:
        """Resource and group, as the prefix has them; what has no dot there stands for the group without a name."""
        _, _, group, resource, _ = self._source.prefix.decode().split("/")
        return resource, group if "." in group else ""

    async def at_least(self, revision: int) -> int:
        """Wait up to 3 s for ``revision`` (spec E24); the revision that the cache has. Raises Timeout, TooManyRequests."""
        await self._position.at_least(revision)
        return self._position.revision

    def get(self, namespace: str, name: str) -> Entry | None:
        """The object. Raises TooManyRequests while the cache is filled."""
        if not self._position.ready:
            self._position.check_ready()
        found: Entry | None = self._entries.get(self._source.key(namespace, name))
        return found

    def peek(self, namespace: str, name: str) -> Entry | None:
        """The object if it is at hand: for writers, who ask the store where the cache knows nothing."""
        found: Entry | None = self._entries.get(self._source.key(namespace, name)) if self._position.ready else None
        return found

    def page(self, namespace: str | None, after: bytes | str, limit: int, selection: Selection) -> EntryPage:
        """Up to ``limit`` (0: all) selected objects of a namespace (empty: all) with keys after ``after``, in key order.

        Raises TooManyRequests while the cache is filled.
        """
        self._position.check_ready()
        after = after.encode() if isinstance(after, str) else after
        prefix, test = self._range(namespace, selection)
        name = selection.name
        if name is not None and (namespace or not self._source.namespaced):
            return self._single(namespace or "", name, after, test)
        keys = self._keys(prefix, after)
        entries = self._entries
        if test is None:
            found = [entries[key] for key in (islice(keys, limit) if limit else keys)]
            remaining = self._count_after(prefix, found[-1].key) if limit and len(found) == limit else 0
            return EntryPage(found, remaining > 0, None if selection.by_selector else remaining)
        matching = (entry for key in keys if test(entry := entries[key]))
        found = list(islice(matching, limit) if limit else matching)
        # Whether what follows is selected as well is for the next page to find out, as in kube-apiserver.
        more = bool(limit) and len(found) == limit and self._count_after(prefix, found[-1].key) > 0
        return EntryPage(found, more, None)

    def _range(self, namespace: str | None, selection: Selection) -> tuple[bytes, Test | None]:
        """The prefix of the keys in question, and the test that is left."""
        source = self._source
        if namespace and source.namespaced:
            return source.prefix + f"{namespace}/".encode(), selection.test(source, within_namespace=True)
        return source.prefix, selection.test(source)

    def _keys(self, prefix: bytes, after: bytes) -> Iterator[bytes]:
        first, inclusive = (prefix, True) if after < prefix else (after, False)
        keys: Iterator[bytes] = self._entries.irange(first, successor(prefix), inclusive=(inclusive, False))
        return keys

    def _count_after(self, prefix: bytes, key: bytes) -> int:
        end = self._entries.bisect_left(successor(prefix))
        return int(end - self._entries.bisect_right(key))

    def _single(self, namespace: str, name: str, after: bytes, test: Test | None) -> EntryPage:
        """A list by name is a look-up."""
        entry: Entry | None = self._entries.get(self._source.key(namespace, name))
        if entry is None or entry.key <= after or (test is not None and not test(entry)):
            return EntryPage((), more=False, remaining=None)
        return EntryPage((entry,), more=False, remaining=None)

    async def page_at(
        self, revision: int, namespace: str | None, after: bytes | str, limit: int, selection: Selection
    ) -> EntryPage:
        """As :meth:`page`, but as of ``revision``: from memory if nothing changed since, else from the store (spec K13).

        Raises the store's ``Compacted`` and ``Future``, and ServerTimeout.
        """
        position = self._position
        if position.ready and self._history.changed <= revision <= position.revision:
            return self.page(namespace, after, limit, selection)
        after = after.encode() if isinstance(after, str) else after
        prefix, test = self._range(namespace, selection)
        try:
            return await read_page(
                self._backend, self._source, prefix, at=revision, after=after, limit=limit, test=test
            )
        except Unavailable as error:
            raise ServerTimeout.on(*self._names(), "list") from error

    # -- watching

    def watch(
        self,
        selection: Selection,
        render_key: Hashable,
        renderer: Renderer,
        *,
        since: int | None = None,
        initial: bool = False,
        bookmarks: bool = False,
        initial_end_bookmark: bool = False,
        deadline_seconds: float = 1800.0,
    ) -> Streaming:
        """A stream of the selected events (spec F3-F12, F17, F21); see :class:`~extapi.watch.stream.WatchOptions`.

        Watches with equal ``render_key`` (version and form) share the bytes that ``renderer`` makes. Raises
        TooManyRequests while the cache is filled (F18); all later errors are events of the stream. Who wants initial
        events as fresh as the store awaits :meth:`fresh` before.
        """
        self._position.check_ready()
        options = WatchOptions(since, initial, bookmarks, initial_end_bookmark, deadline_seconds)

        def join(watcher: Watcher) -> Backlog:
            backlog = self._backlog(selection, options)
            newcomer = backlog.empty and not options.initial_end_bookmark
            self._audience.join(watcher, render_key, renderer, selection, newcomer=newcomer)
            return backlog

        return WatchStream(
            clock=self._clock,
            position=self._position,
            renderer=renderer,
            options=options,
            limits=self._limits,
            enter=self._audience.enter,
            join=join,
            leave=lambda watcher: self._audience.leave(watcher, render_key, selection),
            flush=self._audience.flush,
        )

    def _backlog(self, selection: Selection, options: WatchOptions) -> Backlog:
        """What a watcher that joins now is told first. Raises Expired (spec F8), TooManyRequests."""
        self._position.check_ready()
        self._audience.flush()
        revision = self._position.revision
        if options.initial:
            entries = self.page(selection.namespace, b"", 0, selection).entries
            return Backlog((Occurrence(ADDED, entry, entry.revision) for entry in entries), not entries, revision)
        if not options.since:
            return Backlog((), empty=True, revision=revision)
        test = selection.test(self._source)
        found = [
            occurrence for event in self._history.after(options.since) if (occurrence := seen(test, event)) is not None
        ]
        return Backlog(found, not found, revision)
