"""An object in the cache: its bytes as stored, and its serialization in each version, made when first requested.

Responsible for keeping objects small (no tree of dicts, nothing for the garbage collector to walk) and for confining a
failed conversion to the readers of that object in that version. Must not know watches, or how an object is converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

import msgspec
from twisted.logger import Logger

from extapi.codec.strictjson import Parts, join
from extapi.errors import ApiError, InternalError
from extapi.storage.keys import KeyLayout

_MAX_LABEL_SETS: Final = 10_000
"""How many label sets are shared; beyond that, sharing starts over."""


class Projector(Protocol):
    """Converts stored bytes to what readers of a version see; implemented in ``registry/``."""

    waits: bool
    """Whether a conversion may have to wait. Then only objects that need none are projected one by one."""

    def needs_conversion(self, value: bytes, version: str) -> bool:
        """Whether the stored object has to be projected by :meth:`project_many`."""
        ...

    async def project_many(self, values: Sequence[bytes], version: str) -> Sequence[Parts | ApiError]:
        """As :meth:`project`, of many objects at once; for each its result or its error."""
        ...

    def project(self, value: bytes, version: str) -> Parts:
        """The stored object in ``version``, encoded without resourceVersion and split where it belongs.

        See :func:`extapi.codec.strictjson.encode_parts`.

        Raises:
            ApiError: The object cannot be converted.
        """
        ...

    def cells(self, value: bytes, version: str) -> tuple[Any, ...]:
        """The raw values of the version's table columns; ``value`` is the result of :meth:`project`, joined."""
        ...

    def fields(self, value: bytes, version: str) -> dict[str, str]:
        """The selectable fields besides name and namespace; ``value`` is the result of :meth:`project`, joined."""
        ...


class Representation:
    """A version and how the cache makes it; shared by all objects serialized in that version."""

    __slots__ = ("_failures", "projector", "sent", "terminated", "version", "waits")

    def __init__(self, version: str, projector: Projector) -> None:
        self.version = version
        self.projector = projector
        self.waits = projector.waits
        """Whether objects have to be prepared before they are read: see :mod:`extapi.watch.preparation`."""
        self._failures: Mapping[int, ApiError] = {}
        self.sent = 0
        """Events that watchers of this version have been sent, bookmarks and errors included."""
        self.terminated = 0
        """Its watchers that were ended because they were too slow."""

    @contextmanager
    def failing(self, failures: Mapping[int, ApiError]) -> Iterator[None]:
        """Show readers, until the end of the block, why the objects of these revisions could not be prepared."""
        self._failures = failures
        try:
            yield
        finally:
            self._failures = {}

    def why_lacking(self, revision: int) -> ApiError:
        """Why an object cannot be read that has to be prepared."""
        return self._failures.get(revision) or NotPrepared.because(f"the object is not there in {self.version} yet")


class NotPrepared(InternalError):
    """An object that has to be prepared was read before it was: a mistake, unless the reader asks what to prepare."""


class SerializedObject(msgspec.Struct, gc=False):
    """An object in one version."""

    representation: Representation
    revision: int
    """The revision of the cached object."""
    data: bytes
    """The encoded object with its resourceVersion: what almost every reader needs, ready to send."""
    offset: int
    """Where the resourceVersion starts in ``data``."""
    length: int
    """How many bytes the resourceVersion takes."""
    is_stored: bool
    """Whether ``data`` without resourceVersion equals the stored bytes; the cached object then keeps no copy of them."""
    next: SerializedObject | None = None
    """The same object in another version: a linked list of one or two is smaller than any dict."""
    columns: tuple[Any, ...] | None = None
    selectable: dict[str, str] | None = None
    error: ApiError | None = None
    """Why the object cannot be converted; raised to every reader."""

    @property
    def without_revision(self) -> bytes:
        """The encoded object without resourceVersion."""
        return self.data[: self.offset] + self.data[self.offset + self.length :]

    def with_revision(self, revision: int) -> bytes:
        """The object as compact JSON with ``revision`` as its resourceVersion.

        Raises:
            ApiError: The conversion failed.
        """
        if revision == self.revision and self.error is None:
            return self.data
        if self.error is not None:
            raise copy_error(self.error)
        return join(self.data[: self.offset], self.data[self.offset + self.length :], revision)

    def raw_cells(self) -> tuple[Any, ...]:
        """The raw values of the table columns, made once.

        Raises:
            ApiError: The conversion failed.
        """
        if self.error is not None:
            raise copy_error(self.error)
        if self.columns is None:
            self.columns = self.representation.projector.cells(self.without_revision, self.representation.version)
        return self.columns

    def fields(self) -> dict[str, str]:
        """The values of the version's selectable fields, made once.

        Raises:
            ApiError: The conversion failed.
        """
        if self.error is not None:
            raise copy_error(self.error)
        if self.selectable is None:
            self.selectable = self.representation.projector.fields(self.without_revision, self.representation.version)
        return self.selectable


def copy_error(error: ApiError) -> ApiError:
    """A copy to raise: an exception that is stored and raised again and again would keep every frame it passed."""
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    return copy


class CacheSource:
    """What the objects of one cache share: where they are in the store, how they are serialized, their label sets."""

    _log = Logger()

    def __init__(self, layout: KeyLayout, projector: Projector) -> None:
        self.layout = layout
        self._projector = projector
        self._representations: dict[str, Representation] = {}
        self._others: dict[str, Projector] = {}
        self._labels: dict[bytes, dict[str, str]] = {}

    def share(self, versions: Iterable[str], projector: Projector) -> None:
        """Serve the objects in further versions, which ``projector`` makes."""
        self._others.update(dict.fromkeys(versions, projector))

    def representation(self, version: str) -> Representation:
        """The representation of a version; always the same instance."""
        representation = self._representations.get(version)
        if representation is None:
            representation = self._representations[version] = Representation(
                version, self._others.get(version, self._projector)
            )
        return representation

    def labels(self, value: bytes) -> dict[str, str]:
        """The labels of a stored object; equal labels are one dict.

        An object that cannot be decoded has no labels here; its readers get the error from :meth:`serialize`.
        """
        try:
            raw = bytes(_peek(value).metadata.labels)
            found = self._labels.get(raw)
            if found is None:
                found = (raw and _decode_labels(raw)) or {}
                if len(self._labels) >= _MAX_LABEL_SETS:
                    self._labels.clear()
                self._labels[raw] = found
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return {}
        return found

    def serialize(self, value: bytes, version: str, revision: int, parts: Parts | None = None) -> SerializedObject:
        """Serialize stored bytes in a version.

        Never raises: the error is kept in :attr:`SerializedObject.error`. An exception that is no ``ApiError`` is logged
        and becomes an InternalError.

        Args:
            value: The object as stored.
            version: The version to convert to.
            revision: The revision of ``value``.
            parts: The result of :meth:`Projector.project`, if it is known already.
        """
        representation = self.representation(version)
        try:
            if representation.waits and parts is None and representation.projector.needs_conversion(value, version):
                raise representation.why_lacking(revision)  # noqa: TRY301 -- kept as other errors are
            head, tail = representation.projector.project(value, version) if parts is None else parts
        except ApiError as error:
            return SerializedObject(representation, revision, b"", 0, 0, is_stored=False, error=copy_error(error))
        except Exception:  # noqa: BLE001 -- one object that breaks a converter must not stop the others
            self._log.failure("an object could not be converted to {version}", version=version)
            broken = InternalError.because("the stored object could not be converted")
            return SerializedObject(representation, revision, b"", 0, 0, is_stored=False, error=broken)
        data = join(head, tail, revision)
        size = len(head) + len(tail)
        stored = size == len(value) and value.startswith(head) and value.endswith(tail)
        return SerializedObject(representation, revision, data, len(head), len(data) - size, stored)


class CachedObject(msgspec.Struct, gc=False):
    """An object as of ``revision``. Immutable, except that serializations are added."""

    key: bytes
    revision: int
    stored: bytes | None
    """The stored bytes; None once a serialization has the same bytes."""
    labels: dict[str, str]
    """Shared between objects: do not modify."""
    source: CacheSource
    first: SerializedObject | None = None
    """The head of the linked list of serializations."""

    @property
    def value(self) -> bytes:
        """The stored bytes: a JSON object without resourceVersion."""
        serialized = self.first
        while self.stored is None and serialized is not None:
            if serialized.is_stored:
                return serialized.without_revision
            serialized = serialized.next
        return self.stored or b""

    @property
    def size(self) -> int:
        """How many bytes are stored."""
        serialized = self.first
        while self.stored is None and serialized is not None:
            if serialized.is_stored:
                return len(serialized.data) - serialized.length
            serialized = serialized.next
        return len(self.stored or b"")

    @property
    def namespace(self) -> str:
        """The namespace; empty if the resource is cluster-scoped."""
        return self.source.layout.namespace(self.key)

    @property
    def name(self) -> str:
        """The name."""
        return self.source.layout.name(self.key)

    def find(self, version: str) -> SerializedObject | None:
        """The object in ``version``, if it has been made."""
        serialized = self.first
        while serialized is not None and serialized.representation.version != version:
            serialized = serialized.next
        return serialized

    def serialized(self, version: str) -> SerializedObject:
        """The object in ``version``, made on first request. Never raises: see :attr:`SerializedObject.error`.

        If conversion may have to wait, the object must have been prepared, and an error is not kept.
        """
        serialized = self.first
        while serialized is not None:
            if serialized.representation.version == version:
                return serialized
            serialized = serialized.next
        serialized = self.source.serialize(self.value, version, self.revision)
        if serialized.error is None or not serialized.representation.waits:
            self.add(serialized)
        return serialized

    def add(self, serialized: SerializedObject) -> None:
        """Add a serialization."""
        serialized.next, self.first = self.first, serialized
        if serialized.is_stored:
            self.stored = None

    def drop(self, version: str) -> None:
        """Let go of a serialization, unless it is what holds the stored bytes."""
        before, serialized = None, self.first
        while serialized is not None and serialized.representation.version != version:
            before, serialized = serialized, serialized.next
        if serialized is None or serialized.is_stored:
            return
        if before is None:
            self.first = serialized.next
        else:
            before.next = serialized.next

    def fields(self) -> dict[str, str]:
        """The fields that are selectable in every version."""
        layout, key = self.source.layout, self.key
        return {"metadata.name": layout.name(key), "metadata.namespace": layout.namespace(key)}

    def fields_in(self, version: str) -> dict[str, str]:
        """All fields that are selectable in ``version``.

        Raises:
            ApiError: The conversion failed.
        """
        return self.fields() | self.serialized(version).fields()


class _Metadata(msgspec.Struct):
    labels: msgspec.Raw = msgspec.Raw(b"")


class _Labelled(msgspec.Struct):
    metadata: _Metadata


_peek = msgspec.json.Decoder(_Labelled).decode
_decode_labels = msgspec.json.Decoder(dict[str, str] | None).decode
