"""Watching a stored kind: which form, from which revision, with which events first (spec F4-F9, F20)."""

from __future__ import annotations

from typing import Any

import msgspec

from extapi.client.clock import Clock
from extapi.codec.options import parse_resource_version
from extapi.codec.partial import partial
from extapi.codec.strictjson import encode
from extapi.codec.tables import Columns, row, row_object, table_head
from extapi.listener.call import Streaming
from extapi.registry.base import Place, WatchForm, WatchQuery
from extapi.registry.writing import Store
from extapi.watch.entry import Entry
from extapi.watch.rendering import ObjectRenderer, Renderer, bookmark_metadata, frame
from extapi.watch.selection import Selection


async def watch(store: Store, at: Place, wanted: WatchQuery, form: WatchForm, selection: Selection) -> Streaming:
    """The stream of a watch. Raises :class:`ApiError` for a resourceVersion that is none (spec F10)."""
    revision = parse_resource_version(wanted.query.resource_version)
    # Without a word about them, initial events come as they always did, and nothing marks their end (spec F15).
    initial = wanted.send_initial_events is True or (wanted.send_initial_events is None and not revision)
    if revision is None:
        await store.cache.fresh("list")
    return store.cache.watch(
        selection,
        (at.version, form),
        _renderer(store, at, form),
        since=revision,
        initial=initial,
        bookmarks=wanted.bookmarks,
        initial_end_bookmark=wanted.send_initial_events is True and wanted.bookmarks,
        deadline_seconds=wanted.seconds,
    )


def _renderer(store: Store, at: Place, form: WatchForm) -> Renderer:
    kind = store.kind
    version = kind.versions[at.version]
    if form.kind == "table":
        return TableRenderer(at.version, version.api_version, kind.kind.name, version.columns, form, store.clock)
    if form.kind == "metadata":
        return MetadataRenderer(at.version, form)
    return ObjectRenderer(at.version, version.api_version, kind.kind.name)


class TableRenderer:
    """Each event is a Table of one row; the columns come with a watcher's first one only (spec F20)."""

    distinct_first = True

    def __init__(
        self, version: str, api_version: str, kind: str, columns: Columns, form: WatchForm, clock: Clock
    ) -> None:
        self._version = version
        self._type = {"kind": kind, "apiVersion": api_version}
        self._columns = columns
        self._include: Any = form.include_object
        self._table = form.group_version.rpartition("/")[2]
        self._clock = clock

    def event(self, kind: str, entry: Entry, revision: int, *, first: bool = False) -> bytes:
        """See :class:`extapi.watch.rendering.Renderer`."""
        shown = entry.encoded(self._version)
        cells = self._columns.render(shown.raw_cells(), self._clock.seconds())
        obj = None
        if self._include != "None":
            obj = row_object(msgspec.json.decode(shown.joined(revision)), self._include, version=self._table)
        return frame(kind, self._one(row(cells, obj), revision, first=first))

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """See :class:`extapi.watch.rendering.Renderer`; the row has no values (observed on 1.36.3)."""
        obj = {**self._type, "metadata": bookmark_metadata(revision, initial_end=initial_end)}
        shown = row_object(obj, "Object" if self._include == "Object" else "Metadata", version=self._table)
        return frame("BOOKMARK", self._one(row(self._columns.bookmark_cells(), shown), revision, first=first))

    def _one(self, only: bytes, revision: int, *, first: bool) -> bytes:
        definitions = self._columns.definitions if first else None
        head = table_head(definitions, {"resourceVersion": str(revision)}, version=self._table)
        return head + only + b"]}"


class MetadataRenderer:
    """Each event carries the object's metadata only."""

    distinct_first = False

    def __init__(self, version: str, form: WatchForm) -> None:
        self._version = version
        self._table = form.group_version.rpartition("/")[2]

    def event(self, kind: str, entry: Entry, revision: int, *, first: bool = False) -> bytes:
        """See :class:`extapi.watch.rendering.Renderer`."""
        del first
        obj = msgspec.json.decode(entry.encoded(self._version).joined(revision))
        return frame(kind, encode(partial(obj, version=self._table)))

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """See :class:`extapi.watch.rendering.Renderer`."""
        del first
        obj = {"metadata": bookmark_metadata(revision, initial_end=initial_end)}
        return frame("BOOKMARK", encode(partial(obj, version=self._table)))
