"""One object of the cache: the bytes of the store, and the forms made of them when somebody first asks.

Responsible for keeping an object small (no tree of dicts, nothing for the garbage collector to walk) and for keeping a
failed conversion to the readers of that object in that version. Must not know watches, or how a projection is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec
from twisted.logger import Logger

from extapi.codec.strictjson import join
from extapi.errors import ApiError, InternalError

_MAX_LABEL_SETS: Final = 10_000
"""Label sets shared at a time; when they are more, sharing starts anew."""


class Projector(Protocol):
    """How stored bytes become what readers of one version see; ``registry/`` has it."""

    def project(self, value: bytes, version: str) -> tuple[bytes, bytes]:
        """The stored object in ``version``, encoded without resourceVersion and cut where that belongs.

        See :func:`extapi.codec.strictjson.split_resource_version`. Raises :class:`extapi.errors.ApiError`.
        """
        ...

    def cells(self, value: bytes, version: str) -> tuple[Any, ...]:
        """The raw values of the version's table columns; ``value`` is the object in ``version``, as projected."""
        ...

    def fields(self, value: bytes, version: str) -> dict[str, str]:
        """What field selectors may ask for besides name and namespace; ``value`` is the object in ``version``, as projected."""
        ...


class Shape:
    """One version as one cache shows it: shared by all forms of that version."""

    __slots__ = ("projector", "version")

    def __init__(self, version: str, projector: Projector) -> None:
        self.version = version
        self.projector = projector


class Form(msgspec.Struct, gc=False):
    """An object in one version. ``other`` chains the forms of one entry: there are one or two, and no dict is smaller."""

    shape: Shape
    revision: int
    """The entry's."""
    data: bytes
    """The encoded object with its resourceVersion: what almost every reader wants, as it is."""
    cut: int
    """Where in ``data`` the resourceVersion stands."""
    width: int
    """How many bytes it takes."""
    stored: bool
    """Whether ``data`` without resourceVersion is what the store holds: then the entry keeps no copy of that."""
    other: Form | None = None
    columns: tuple[Any, ...] | None = None
    selectable: dict[str, str] | None = None
    error: ApiError | None = None
    """Why there is no such form: every reader is told."""

    @property
    def bare(self) -> bytes:
        """The encoded object without resourceVersion."""
        return self.data[: self.cut] + self.data[self.cut + self.width :]

    def joined(self, revision: int) -> bytes:
        """The object as compact JSON with ``revision`` as its resourceVersion. Raises the error of the conversion."""
        if revision == self.revision and self.error is None:
            return self.data
        if self.error is not None:
            raise _again(self.error)
        return join(self.data[: self.cut], self.data[self.cut + self.width :], revision)

    def raw_cells(self) -> tuple[Any, ...]:
        """The raw values of the table columns; made once. Raises the error of the conversion."""
        if self.error is not None:
            raise _again(self.error)
        if self.columns is None:
            self.columns = self.shape.projector.cells(self.bare, self.shape.version)
        return self.columns

    def fields(self) -> dict[str, str]:
        """The values of the version's selectable fields; made once. Raises the error of the conversion."""
        if self.error is not None:
            raise _again(self.error)
        if self.selectable is None:
            self.selectable = self.shape.projector.fields(self.bare, self.shape.version)
        return self.selectable


def _again(error: ApiError) -> ApiError:
    """A twin to raise: an exception that is kept and raised many times would keep the frames it went through."""
    twin = type(error).__new__(type(error), *error.args)
    twin.__dict__.update(error.__dict__)
    return twin


class Source:
    """What the entries of one cache have in common: where they stand in the store, their shapes, their label sets."""

    _log = Logger()

    def __init__(self, prefix: bytes, namespaced: bool, projector: Projector) -> None:
        self.prefix = prefix
        self.namespaced = namespaced
        self._projector = projector
        self._shapes: dict[str, Shape] = {}
        self._others: dict[str, Projector] = {}
        self._labels: dict[bytes, dict[str, str]] = {}

    def key(self, namespace: str, name: str) -> bytes:
        """The store's key of an object."""
        return self.prefix + (f"{namespace}/{name}" if self.namespaced else name).encode()

    def share(self, versions: Iterable[str], projector: Projector) -> None:
        """Show the objects in further versions, which ``projector`` makes."""
        self._others.update(dict.fromkeys(versions, projector))

    def shape(self, version: str) -> Shape:
        """The shape of a version; always the same one."""
        shape = self._shapes.get(version)
        if shape is None:
            shape = self._shapes[version] = Shape(version, self._others.get(version, self._projector))
        return shape

    def labels(self, value: bytes) -> dict[str, str]:
        """The labels of a stored object, one dict a content. What cannot be read has none: its readers get the error."""
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

    def form(self, value: bytes, version: str, revision: int, parts: tuple[bytes, bytes] | None = None) -> Form:
        """The form of stored bytes in a version; ``parts``: head and tail, where they are known already.

        Never raises: an error is kept in the form. What is not an API error is logged, and becomes one.
        """
        shape = self.shape(version)
        try:
            head, tail = shape.projector.project(value, version) if parts is None else parts
        except ApiError as error:
            return Form(shape, revision, b"", 0, 0, stored=False, error=_again(error))
        except Exception:  # noqa: BLE001 -- one object that breaks somebody's converter must not stop the others
            self._log.failure("an object could not be shown in {version}", version=version)
            broken = InternalError.because("the stored object could not be converted")
            return Form(shape, revision, b"", 0, 0, stored=False, error=broken)
        data = join(head, tail, revision)
        size = len(head) + len(tail)
        stored = size == len(value) and value.startswith(head) and value.endswith(tail)
        return Form(shape, revision, data, len(head), len(data) - size, stored)


class Entry(msgspec.Struct, gc=False):
    """An object as it was from ``revision`` on. Never changed, except that forms are added."""

    key: bytes
    revision: int
    kept: bytes | None
    """As stored; None once a form has the same bytes."""
    labels: dict[str, str]
    """Shared between objects: not to be changed."""
    source: Source
    first: Form | None = None

    @property
    def value(self) -> bytes:
        """As stored: a JSON object without resourceVersion."""
        form = self.first
        while self.kept is None and form is not None:
            if form.stored:
                return form.bare
            form = form.other
        return self.kept or b""

    @property
    def namespace(self) -> str:
        """The namespace, or the empty string; read from the key."""
        if not self.source.namespaced:
            return ""
        return self.key[len(self.source.prefix) :].partition(b"/")[0].decode(errors="replace")

    @property
    def name(self) -> str:
        """The name; read from the key."""
        return self.key[self.key.rfind(b"/") + 1 :].decode(errors="replace")

    def encoded(self, version: str) -> Form:
        """The object in ``version``; made when first asked for. Never raises: see :attr:`Form.error`."""
        form = self.first
        while form is not None:
            if form.shape.version == version:
                return form
            form = form.other
        form = self.source.form(self.value, version, self.revision)
        self.prime(form)
        return form

    def prime(self, form: Form) -> None:
        """Add a form that was made elsewhere."""
        form.other, self.first = self.first, form
        if form.stored:
            self.kept = None

    def fields(self) -> dict[str, str]:
        """The values that field selectors may ask for in each version."""
        return {"metadata.name": self.name, "metadata.namespace": self.namespace}

    def fields_in(self, version: str) -> dict[str, str]:
        """The values that field selectors may ask for in ``version``. Raises the error of the conversion."""
        return self.fields() | self.encoded(version).fields()


class _Metadata(msgspec.Struct):
    labels: msgspec.Raw = msgspec.Raw(b"")


class _Labelled(msgspec.Struct):
    metadata: _Metadata


_peek = msgspec.json.Decoder(_Labelled).decode
_decode_labels = msgspec.json.Decoder(dict[str, str] | None).decode
