"""The bytes of watch events: the frame, the object in its version, bookmarks, errors (behaviour F2, F6, F11).

An encoder is a pure function: an event's bytes depend on the object, the event type and the revision, and all watchers of
an event stream share them. Tables and partial metadata have encoders of their own in ``registry/``, which knows the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from twisted.logger import Logger

from extapi.codec.strictjson import encode, encode_status
from extapi.errors import ApiError, InternalError
from extapi.http.response import PIECE, Chunk
from extapi.watch.cachedobject import CachedObject
from extapi.watch.events import WatchEvent

INITIAL_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the initial events."""

_log = Logger()


class EventEncoder(Protocol):
    """Encodes watch events in one media type and one version."""

    representation: str
    """The version in which it reads objects."""
    distinct_first: bool
    """Whether the first event of a watch is encoded differently: a table has its column definitions there."""

    def event(self, event_type: str, cached: CachedObject, revision: int, *, first: bool = False) -> bytes:
        """One event, with its newline.

        Args:
            event_type: ADDED, MODIFIED or DELETED.
            cached: The object.
            revision: The resourceVersion to send.
            first: Whether it is the first event of a watch.

        Raises:
            ApiError: The object could not be converted.
        """
        ...

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """A bookmark, with its newline; ``initial_end`` annotates it as the end of the initial events."""
        ...

    def error(self, error: ApiError) -> bytes:
        """The ERROR event that ends a watch with a Status (behaviour F8, F20)."""
        ...


class JSONErrorEncoder:
    """ERROR events in JSON, for every encoder that writes JSON."""

    def error(self, error: ApiError) -> bytes:
        """See :class:`EventEncoder`."""
        return frame("ERROR", encode_status(error.status()))


class ObjectEncoder(JSONErrorEncoder):
    """Encodes whole objects in JSON, in one version. ``api_version`` is ``<group>/<version>``."""

    distinct_first = False

    def __init__(self, version: str, api_version: str, kind: str) -> None:
        self.representation = version
        self._type = {"kind": kind, "apiVersion": api_version}

    def event(self, event_type: str, cached: CachedObject, revision: int, *, first: bool = False) -> bytes:  # noqa: ARG002 -- all alike
        """See :class:`EventEncoder`."""
        return frame(event_type, cached.serialized(self.representation).with_revision(revision))

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:  # noqa: ARG002 -- all alike
        """See :class:`EventEncoder`."""
        return frame(
            "BOOKMARK", encode({**self._type, "metadata": bookmark_metadata(revision, initial_end=initial_end)})
        )


def bookmark_metadata(revision: int, *, initial_end: bool) -> dict[str, object]:
    """The metadata of a bookmark's object."""
    metadata: dict[str, object] = {"resourceVersion": str(revision)}
    if initial_end:
        metadata["annotations"] = {INITIAL_END: "true"}
    return metadata


def frame(event_type: str, encoded: bytes) -> bytes:
    """The JSON of an event around an encoded object, with its newline."""
    return b'{"type":"%b","object":%b}\n' % (event_type.encode(), encoded)


def encode_event(encoder: EventEncoder, event: WatchEvent, *, first: bool = False) -> bytes:
    """Encode an event.

    Raises:
        ApiError: The object could not be converted, or the encoder failed on it, which must not stop other objects' events.
    """
    try:
        return encoder.event(event.type, event.object, event.revision, first=first)
    except ApiError:
        raise
    except Exception as error:
        _log.failure("an event could not be encoded")
        raise InternalError.because("the event could not be encoded") from error


def to_chunks(events: Iterable[bytes]) -> Iterator[Chunk]:
    """Join encoded events to chunks of at most :data:`PIECE` bytes; a larger event is a chunk by itself."""
    held: list[bytes] = []
    size = 0
    for event in events:
        if held and size + len(event) > PIECE:
            yield Chunk(b"".join(held))
            held, size = [], 0
        held.append(event)
        size += len(event)
    if held:
        yield Chunk(b"".join(held))
