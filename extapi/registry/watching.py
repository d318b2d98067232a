"""Watching a stored kind: which form, from which revision, with which events first (spec F4-F9, F20)."""

from __future__ import annotations

from typing import Any

import msgspec

from extapi.api.types import Obj
from extapi.client.clock import Clock
from extapi.codec.options import parse_resource_version
from extapi.codec.partial import partial
from extapi.codec.protobuf import Messages
from extapi.codec.protobufmeta import partial_bytes, status_bytes
from extapi.codec.protobufwriting import event_frame
from extapi.codec.strictjson import encode
from extapi.codec.tables import Columns, row, row_object, table_head
from extapi.errors import ApiError
from extapi.listener.call import Streaming
from extapi.registry.base import Place, WatchForm, WatchQuery
from extapi.registry.served import ServedVersion
from extapi.registry.writing import Store
from extapi.watch.entry import Entry
from extapi.watch.rendering import JSONErrors, ObjectRenderer, Renderer, bookmark_metadata, frame
from extapi.watch.selection import Selection


async def watch(store: Store, at: Place, wanted: WatchQuery, form: WatchForm, selection: Selection) -> Streaming:
    """The stream of a watch. Raises :class:`ApiError` for a resourceVersion that is none (spec F10)."""
    revision = parse_resource_version(wanted.query.resource_version)
    version = store.kind.versions[at.version]
    # Without a word about them, initial events come as they always did, and nothing marks their end (spec F15).
    initial = wanted.send_initial_events is True or (wanted.send_initial_events is None and not revision)
    if revision is None:
        await store.cache.fresh("list")
    return store.cache.watch(
        selection,
        (version.shape, form),
        _renderer(store, version, form),
        since=revision,
        initial=initial,
        bookmarks=wanted.bookmarks,
        initial_end_bookmark=wanted.send_initial_events is True and wanted.bookmarks,
        deadline_seconds=wanted.seconds,
    )


def _renderer(store: Store, version: ServedVersion, form: WatchForm) -> Renderer:
    kind = store.kind
    shape = version.shape
    if form.kind == "table":
        return TableRenderer(shape, version.api_version, kind.kind.name, version.columns, form, store.clock)
    if form.kind == "metadata":
        made = ProtobufMetadataRenderer if form.protobuf else MetadataRenderer
        return made(shape, form)
    native = kind.kind.native
    if form.protobuf and native is not None:
        return ProtobufRenderer(shape, version.api_version, kind.kind.name, native.protobuf)
    return ObjectRenderer(shape, version.api_version, kind.kind.name)


class TableRenderer(JSONErrors):
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


class MetadataRenderer(JSONErrors):
    """Each event carries the object's metadata only."""

    distinct_first = False

    def __init__(self, version: str, form: WatchForm) -> None:
        self._version = version
        self._meta = form.group_version.rpartition("/")[2]

    def event(self, kind: str, entry: Entry, revision: int, *, first: bool = False) -> bytes:
        """See :class:`extapi.watch.rendering.Renderer`."""
        del first
        return self._event(kind, msgspec.json.decode(entry.encoded(self._version).joined(revision)))

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """See :class:`extapi.watch.rendering.Renderer`."""
        del first
        return self._event("BOOKMARK", {"metadata": bookmark_metadata(revision, initial_end=initial_end)})

    def _event(self, kind: str, obj: Obj) -> bytes:
        return frame(kind, encode(partial(obj, version=self._meta)))


class _ProtobufErrors:
    """What the renderers in protobuf have in common."""

    def error(self, error: ApiError) -> bytes:
        """See :class:`extapi.watch.rendering.Renderer`."""
        return event_frame("ERROR", status_bytes(error.status()))


class ProtobufMetadataRenderer(_ProtobufErrors, MetadataRenderer):
    """The same in protobuf, whatever the kind."""

    def _event(self, kind: str, obj: Obj) -> bytes:
        return event_frame(kind, partial_bytes(obj, version=self._meta))


class ProtobufRenderer(_ProtobufErrors):
    """The objects as they are, in protobuf."""

    distinct_first = False

    def __init__(self, version: str, api_version: str, kind: str, messages: Messages) -> None:
        self._version = version
        self._type = {"kind": kind, "apiVersion": api_version}
        self._messages = messages

    def event(self, kind: str, entry: Entry, revision: int, *, first: bool = False) -> bytes:
        """See :class:`extapi.watch.rendering.Renderer`."""
        del first
        obj = msgspec.json.decode(entry.encoded(self._version).joined(revision))
        return event_frame(kind, self._messages.enveloped(obj))

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """See :class:`extapi.watch.rendering.Renderer`."""
        del first
        obj = {**self._type, "metadata": bookmark_metadata(revision, initial_end=initial_end)}
        return event_frame("BOOKMARK", self._messages.enveloped(obj))
