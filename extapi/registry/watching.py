"""Watching a stored kind: from which revision, with which events first, and how they are encoded (behaviour F4-F9, F20)."""

from __future__ import annotations

from random import Random

import msgspec

from extapi.api.behaviour import Serializer
from extapi.api.types import Obj
from extapi.clock import Clock
from extapi.codec.options import parse_resource_version
from extapi.codec.protobufmeta import status_bytes
from extapi.codec.protobufwriting import EVENT_LENGTH, event_frame
from extapi.errors import ApiError
from extapi.http.response import Streaming
from extapi.registry.base import RequestScope, WatchEncoding, WatchQuery
from extapi.registry.served import ServedKind
from extapi.registry.servedversion import ServedVersion
from extapi.registry.store import Store
from extapi.registry.transforms import MetadataTransform, TableTransform
from extapi.watch.cachedobject import CachedObject
from extapi.watch.encoding import EventEncoder, JSONErrorEncoder, ObjectEncoder, bookmark_metadata, frame
from extapi.watch.selection import Selection

MIN_SECONDS = 1800.0
"""The least duration of a watch without ``timeoutSeconds``, in seconds; the longest is twice this.

Source: ``--min-request-timeout`` of kube-apiserver (behaviour F3).
"""


async def watch(
    store: Store, scope: RequestScope, wanted: WatchQuery, encoding: WatchEncoding, selection: Selection
) -> Streaming:
    """The stream of a watch.

    Raises:
        ApiError: The resourceVersion is none (behaviour F10).
    """
    revision = parse_resource_version(wanted.query.resource_version)
    version = store.kind.versions[scope.version]
    # If the request does not mention them, initial events depend on the revision, and no bookmark ends them (behaviour F15).
    initial = wanted.send_initial_events is True or (wanted.send_initial_events is None and not revision)
    if revision is None:
        await store.cache.fresh("list")
    return store.cache.watch(
        selection,
        (version.representation, encoding),
        event_encoder(store.kind, store.clock, version, encoding),
        since=revision,
        initial=initial,
        bookmarks=wanted.bookmarks,
        initial_end_bookmark=wanted.send_initial_events is True and wanted.bookmarks,
        deadline_seconds=chosen_seconds(store.random) if wanted.seconds is None else wanted.seconds,
    )


def chosen_seconds(random: Random) -> float:
    """How long a watch lasts whose client does not say: spread, so that those that began together do not all end together."""
    return MIN_SECONDS * (1 + random.random())


def event_encoder(served: ServedKind, clock: Clock, version: ServedVersion, encoding: WatchEncoding) -> EventEncoder:
    """The encoder of a watch's events, in a version of a kind."""
    encoder = _stream_encoder(served, clock, version, encoding)
    return WebSocketEncoder(encoder, protobuf=encoding.protobuf) if encoding.websocket else encoder


def _stream_encoder(served: ServedKind, clock: Clock, version: ServedVersion, encoding: WatchEncoding) -> EventEncoder:
    kind = served.kind
    representation, transform = version.representation, encoding.transform
    if transform is None:
        if encoding.protobuf and kind.behaviour.protobuf is not None:
            return ProtobufEncoder(representation, version.api_version, kind.name, kind.behaviour.protobuf)
        return ObjectEncoder(representation, version.api_version, kind.name)
    if transform.kind == "Table":
        tables = TableTransform(version.columns, clock, transform.version, encoding.include)
        return TableEncoder(representation, version.api_version, kind.name, tables)
    metadata = MetadataTransform(transform.version, encoding.protobuf)
    return (ProtobufMetadataEncoder if encoding.protobuf else MetadataEncoder)(representation, metadata)


class TableEncoder(JSONErrorEncoder):
    """Each event is a Table of one row."""

    distinct_first = True

    def __init__(self, representation: str, api_version: str, kind: str, tables: TableTransform) -> None:
        self.representation = representation
        self._type = {"kind": kind, "apiVersion": api_version}
        self._tables = tables

    def event(self, event_type: str, cached: CachedObject, revision: int, *, first: bool = False) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        serialized = cached.serialized(self.representation)

        def decoded() -> Obj:
            obj: Obj = msgspec.json.decode(serialized.with_revision(revision))
            return obj

        return frame(event_type, self._tables.event(serialized.raw_cells(), decoded, revision, first=first))

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        obj = {**self._type, "metadata": bookmark_metadata(revision, initial_end=initial_end)}
        return frame("BOOKMARK", self._tables.bookmark(obj, revision, first=first))


class MetadataEncoder(JSONErrorEncoder):
    """Each event carries the object's metadata only."""

    distinct_first = False

    def __init__(self, representation: str, transform: MetadataTransform) -> None:
        self.representation = representation
        self._transform = transform

    def event(self, event_type: str, cached: CachedObject, revision: int, *, first: bool = False) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        del first
        return self._event(
            event_type, msgspec.json.decode(cached.serialized(self.representation).with_revision(revision))
        )

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        del first
        return self._event("BOOKMARK", {"metadata": bookmark_metadata(revision, initial_end=initial_end)})

    def _event(self, event_type: str, obj: Obj) -> bytes:
        return frame(event_type, self._transform.object(obj))


class WebSocketEncoder:
    """Each event of another encoder as a WebSocket message, without the length that goes before it in a stream of protobuf.

    Source: ``k8s.io/apiserver/pkg/endpoints/handlers/watch.go`` websocketFramer.
    """

    def __init__(self, encoder: EventEncoder, *, protobuf: bool) -> None:
        self._encoder = encoder
        self._protobuf = protobuf
        self.representation = encoder.representation
        self.distinct_first = encoder.distinct_first

    def event(self, event_type: str, cached: CachedObject, revision: int, *, first: bool = False) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        return self._message(self._encoder.event(event_type, cached, revision, first=first))

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        return self._message(self._encoder.bookmark(revision, initial_end=initial_end, first=first))

    def error(self, error: ApiError) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        return self._message(self._encoder.error(error))

    def _message(self, event: bytes) -> bytes:
        from extapi.http.messages import message_frame  # noqa: PLC0415 - the library is only loaded where used

        return message_frame(event[EVENT_LENGTH:], text=False) if self._protobuf else message_frame(event, text=True)


class _ProtobufErrors:
    """The errors of all encoders in protobuf."""

    def error(self, error: ApiError) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        return event_frame("ERROR", status_bytes(error.status()))


class ProtobufMetadataEncoder(_ProtobufErrors, MetadataEncoder):
    """The same in protobuf, whatever the kind."""

    def _event(self, event_type: str, obj: Obj) -> bytes:
        return event_frame(event_type, self._transform.object(obj))


class ProtobufEncoder(_ProtobufErrors):
    """The objects as they are, in protobuf."""

    distinct_first = False

    def __init__(self, representation: str, api_version: str, kind: str, serializer: Serializer) -> None:
        self.representation = representation
        self._type = {"kind": kind, "apiVersion": api_version}
        self._serializer = serializer

    def event(self, event_type: str, cached: CachedObject, revision: int, *, first: bool = False) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        del first
        obj = msgspec.json.decode(cached.serialized(self.representation).with_revision(revision))
        return event_frame(event_type, self._serializer.encode(obj))

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """See :class:`extapi.watch.encoding.EventEncoder`."""
        del first
        obj = {**self._type, "metadata": bookmark_metadata(revision, initial_end=initial_end)}
        return event_frame("BOOKMARK", self._serializer.encode(obj))
