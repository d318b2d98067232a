"""An object in the cache: its bytes as stored, and its serialization in each version, made when first requested.

Responsible for keeping objects small (no tree of dicts, nothing for the garbage collector to walk) and for confining a
failed conversion to the readers of that object in that version. Must not know watches, or how an object is converted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec
from twisted.logger import Logger

from extapi.codec.strictjson import join
from extapi.errors import ApiError, InternalError
from extapi.storage.keys import KeyLayout

_MAX_LABEL_SETS: Final = 10_000
"""How many label sets are shared; beyond that, sharing starts over."""


class Projector(Protocol):
    """Converts stored bytes to what readers of a version see; implemented in ``registry/``."""

    def project(self, value: bytes, version: str) -> tuple[bytes, bytes]:
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

    __slots__ = ("projector", "version")

    def __init__(self, version: str, projector: Projector) -> None:
        self.version = version
        self.projector = projector


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
            raise _copy(self.error)
        return join(self.data[: self.offset], self.data[self.offset + self.length :], revision)

    def raw_cells(self) -> tuple[Any, ...]:
        """The raw values of the table columns, made once.

        Raises:
            ApiError: The conversion failed.
        """
        if self.error is not None:
            raise _copy(self.error)
        if self.columns is None:
            self.columns = self.representation.projector.cells(self.without_revision, self.representation.version)
        return self.columns

    def fields(self) -> dict[str, str]:
        """The values of the version's selectable fields, made once.

        Raises:
            ApiError: The conversion failed.
        """
        if self.error is not None:
            raise _copy(self.error)
        if self.selectable is None:
            self.selectable = self.representation.projector.fields(self.without_revision, self.representation.version)
        return self.selectable


def _copy(error: ApiError) -> ApiError:
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

    def serialize(
        self, value: bytes, version: str, revision: int, parts: tuple[bytes, bytes] | None = None
    ) -> SerializedObject:
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
            head, tail = representation.projector.project(value, version) if parts is None else parts
        except ApiError as error:
            return SerializedObject(representation, revision, b"", 0, 0, is_stored=False, error=_copy(error))
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
    def namespace(self) -> str:
        """The namespace; empty if the resource is cluster-scoped."""
        return self.source.layout.namespace(self.key)

    @property
    def name(self) -> str:
        """The name."""
        return self.source.layout.name(self.key)

    def serialized(self, version: str) -> SerializedObject:
        """The object in ``version``, made on first request. Never raises: see :attr:`SerializedObject.error`."""
        serialized = self.first
        while serialized is not None:
            if serialized.representation.version == version:
                return serialized
            serialized = serialized.next
        serialized = self.source.serialize(self.value, version, self.revision)
        self.add(serialized)
        return serialized

    def add(self, serialized: SerializedObject) -> None:
        """Add a serialization."""
        serialized.next, self.first = self.first, serialized
        if serialized.is_stored:
            self.stored = None

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
