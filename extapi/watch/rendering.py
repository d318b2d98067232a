"""The bytes of watch events: the frame, the object in its version, bookmarks, errors (spec F2, F6, F11).

A renderer is pure: an event's bytes depend on the entry, the type and the revision, and are shared by all watchers of a
lane. Forms other than the object itself (tables, partial metadata) are renderers too, made where their columns are known.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from twisted.logger import Logger

from extapi.codec.strictjson import encode, encode_status
from extapi.errors import ApiError, InternalError
from extapi.watch.entry import Entry

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"

INITIAL_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the initial events."""


_log = Logger()


class Occurrence(NamedTuple):
    """What a watcher is told: the type, the object as it is shown, and the revision that it is shown with."""

    kind: str
    entry: Entry
    revision: int


class Renderer(Protocol):
    """Makes the bytes of one form in one version."""

    distinct_first: bool
    """Whether a watcher's first event differs from the same event as a later one (tables carry their columns there)."""

    def event(self, kind: str, entry: Entry, revision: int, *, first: bool = False) -> bytes:
        """One event, with its newline. ``kind``: ADDED, MODIFIED or DELETED. Raises the error of a failed conversion."""
        ...

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:
        """A bookmark, with its newline; ``initial_end``: annotated as the end of the initial events."""
        ...

    def error(self, error: ApiError) -> bytes:
        """The event that ends a watch with a Status (spec F8, F20)."""
        ...


class JSONErrors:
    """What the renderers in JSON have in common."""

    def error(self, error: ApiError) -> bytes:
        """See :class:`Renderer`; the same in all forms."""
        return frame("ERROR", encode_status(error.status()))


class ObjectRenderer(JSONErrors):
    """The objects as they are, in one version. ``api_version``: ``<group>/<version>``."""

    distinct_first = False

    def __init__(self, version: str, api_version: str, kind: str) -> None:
        self._version = version
        self._type = {"kind": kind, "apiVersion": api_version}

    def event(self, kind: str, entry: Entry, revision: int, *, first: bool = False) -> bytes:  # noqa: ARG002 -- all alike
        """See :class:`Renderer`."""
        return frame(kind, entry.encoded(self._version).joined(revision))

    def bookmark(self, revision: int, *, initial_end: bool, first: bool = False) -> bytes:  # noqa: ARG002 -- all alike
        """See :class:`Renderer`."""
        return frame(
            "BOOKMARK", encode({**self._type, "metadata": bookmark_metadata(revision, initial_end=initial_end)})
        )


def bookmark_metadata(revision: int, *, initial_end: bool) -> dict[str, object]:
    """The metadata of a bookmark's object."""
    metadata: dict[str, object] = {"resourceVersion": str(revision)}
    if initial_end:
        metadata["annotations"] = {INITIAL_END: "true"}
    return metadata


def frame(kind: str, encoded: bytes) -> bytes:
    """An event around an encoded object."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), encoded)


def render(renderer: Renderer, occurrence: Occurrence, *, first: bool = False) -> bytes:
    """An event's bytes. Raises only :class:`ApiError`: an object that breaks a renderer must not stop the resource."""
    try:
        return renderer.event(occurrence.kind, occurrence.entry, occurrence.revision, first=first)
    except ApiError:
        raise
    except Exception as error:
        _log.failure("an event could not be rendered")
        raise InternalError.because("the event could not be encoded") from error
