"""A kind, compiled: what each of its versions needs to be read, checked, converted, stored and shown.

Made once at start from an author's :class:`~extapi.api.definition.Kind`. Knows no request and no store; the rules of
writing stand in ``create``, ``update`` and ``delete`` beside it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from twisted.logger import Logger

from extapi.api.definition import NAMESPACED, Kind
from extapi.api.jsonvalue import NotJSONError, check
from extapi.api.metadata import coerce
from extapi.api.strategy import Strategy
from extapi.api.types import Obj
from extapi.api.versions import by_priority, group_version, version_priority
from extapi.codec.strictjson import MAX_DEPTH, decode_stored, encode, is_deeper, split_resource_version
from extapi.codec.tables import Columns, RawCells
from extapi.conversion.hub import HubConverter, Unfit
from extapi.errors import BadRequest, FieldError, InternalError, Invalid
from extapi.registry.declared import compiled
from extapi.registry.selectable import Selectable
from extapi.schema.program import Schema
from extapi.schema.structural import Structural

CORE = "core"
"""What the core group is called in keys of the store. No other group can be: theirs have a dot."""


class ServedVersion:
    """One version of a kind with its schema, which has been found to be right, and its columns."""

    __slots__ = ("api_version", "columns", "name", "schema", "selectable", "shape", "structural", "warning")

    def __init__(self, kind: Kind, group: str, name: str, structural: Structural) -> None:
        self.name = name
        self.shape = name
        """What the cache calls the form that objects have in this version."""
        self.api_version = group_version(group, name)
        self.structural = structural
        self.schema = Schema(structural)
        self.selectable = Selectable(kind, name)
        self.columns = Columns(kind.columns_of(name))
        self.warning = _deprecation(kind, group, name)


class ServedKind:
    """A kind with all its versions. ``prefix`` is where its objects are in the store (spec K4).

    Raises :class:`DeclarationError` with all that is wrong with its versions, and between them.
    """

    _log = Logger()

    def __init__(self, kind: Kind, group: str) -> None:
        self.kind = kind
        self.group = group
        self.error_group = group
        """The group that refusals of an object's content name."""
        self.namespaced = kind.scope is NAMESPACED
        self.virtual = kind.serves is not None
        """Whether the kind answers itself, and nothing of it is stored."""
        self.prefix = f"/registry/{group or CORE}/{kind.plural}/".encode()
        schemas = compiled(kind)
        self.versions = {name: ServedVersion(kind, group, name, schemas[name]) for name in kind.versions}
        self.converter = HubConverter(kind, group)
        strategy = type(kind.strategy)
        self.prepares = strategy.prepare is not Strategy.prepare
        self.validates = strategy.validate is not Strategy.validate
        self.warns = strategy.warn is not Strategy.warn

    def key(self, namespace: str, name: str) -> bytes:
        """The store's key of an object."""
        return self.prefix + (f"{namespace}/{name}" if self.namespaced else name).encode()

    def accept(self, obj: Obj, version: str) -> list[str]:
        """Bring what a client sent into shape in place: coerce metadata, prune, default (spec J19-J21).

        Returns the paths of unknown fields. Raises :class:`BadRequest` for metadata of a wrong type.
        """
        try:
            obj["metadata"], unknown = coerce(obj.get("metadata"))
            unknown += self.settle(obj, version)
            return unknown + self.versions[version].schema.coerce_embedded(obj)
        except BadRequest as error:
            kind = self.kind.name
            raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}') from None

    def is_stored_as(self, version: str) -> bool:
        """Whether an object of this version is stored as it is."""
        return version == self.kind.storage

    def settle(self, obj: Obj, version: str) -> list[str]:
        """Prune and default in place, after something other than a client made or changed the object."""
        return self.versions[version].schema.coerce(obj)

    def complete(self, obj: Obj, version: str) -> None:
        """Fill in, in place, what is as by default in an object that was a hub object until now, and left out therefore.

        Where there is no hub, hub objects are of the storage version's type, and another version may have other defaults.
        """
        if self.kind.hub is None and self.converter.hub is not None and version != self.kind.storage:
            self.versions[self.kind.storage].schema.default(obj)

    def to_hub(self, obj: Obj, version: str) -> Any:
        """The object in the form that an author's code is shown. Raises :class:`Unfit`, or another :class:`InternalError`."""
        try:
            return self.converter.to_hub(obj, version)
        except InternalError as error:
            raise self._blamed(error, obj, version) from error.__cause__

    def _converted(self, obj: Obj, from_version: str, to_version: str) -> Obj:
        try:
            return self.converter.convert(obj, from_version, to_version)
        except InternalError as error:
            raise self._blamed(error, obj, from_version) from error.__cause__

    def _blamed(self, error: InternalError, obj: Obj, version: str) -> InternalError:
        """The error of an object that cannot be converted: if it breaks its schema that is why, and the schema says it best."""
        broken = self.rules(obj, None, version)
        if not broken:
            return error
        unfit = Unfit(error.message, causes=error.causes)
        unfit.errors = broken
        return unfit

    def _shape_converted(self, obj: Obj, version: str) -> None:
        """Bring into shape, in place, what has just been converted to ``version``.

        An author's function leaves out what is as by default. Where there is none, what is missing stays so: a version's
        defaults are for what clients write in it, and for what is stored in it. Source: ``schemaCoercingConverter`` of
        ``apiextensions-apiserver/pkg/apiserver``; ``versioning.codec.Decode`` fills in defaults before it converts.
        """
        if self.kind.hub is not None:
            self.settle(obj, version)
        else:
            schema = self.versions[version].schema
            schema.prune(obj)
            schema.drop_nulls(obj)

    def to_stored(self, obj: Obj, version: str) -> bytes:
        """The bytes for the store: converted to the storage version, without resourceVersion.

        Raises :class:`Unfit`, or another :class:`InternalError` for what only an author's code can have made.
        """
        stored = self._converted(obj, version, self.kind.storage)
        if version != self.kind.storage:
            self._shape_converted(stored, self.kind.storage)
        return self.to_bytes(stored, version)

    def to_bytes(self, stored: Obj, version: str) -> bytes:
        """The bytes of an object in the version that it has; ``version``: in which it was, for errors."""
        try:
            value = encode(stored)
            # An object cannot be nested deeper than it has brackets; few have as many.
            if value.count(b"{") + value.count(b"[") > MAX_DEPTH and is_deeper(stored, MAX_DEPTH):
                raise NotJSONError("", f"nested deeper than {MAX_DEPTH} levels")  # noqa: TRY301 - refused as what is no JSON
        except NotJSONError as error:
            whose = "the code" if version == self.kind.storage else f"the conversion to {self.kind.storage}"
            raise self._unsound(whose, error) from None
        return value

    def check(self, obj: Obj, whose: str) -> None:
        """Raises an :class:`InternalError` if an object that an author's code made or changed is not JSON for every client.

        Comes before everything that works with the object: a single number that clients cannot read would make each list
        of the kind unreadable to them. ``whose``: the code, for the message.
        """
        try:
            check(obj)
        except NotJSONError as error:
            raise self._unsound(whose, error) from None

    def _unsound(self, whose: str, error: NotJSONError) -> InternalError:
        unsound = InternalError.because(f"{whose} of {self.kind.name} made what is no JSON for clients: {error}")
        self._log.error("{text}", text=unsound.message)  # here, as the cache keeps some for its readers
        return unsound

    def stored_in(self, value: bytes) -> str:
        """The version in which an object is stored."""
        return _version_of(decode_stored(value))

    def from_stored(self, value: bytes, version: str) -> Obj:
        """A stored object in ``version``: decoded, pruned and defaulted by today's schema, converted, brought into shape.

        Raises :class:`Unfit`, or another :class:`InternalError` of the converter.
        """
        obj: Obj = decode_stored(value)
        stored_in = _version_of(obj)
        self.settle(obj, stored_in)
        if stored_in != version:
            obj = self._converted(obj, stored_in, version)
            self.check(obj, f"the conversion to {version}")
            self._shape_converted(obj, version)
        return obj

    def project(self, value: bytes, version: str) -> tuple[bytes, bytes]:
        """The object in ``version`` as JSON, cut where its resourceVersion belongs: what the cache keeps.

        Source of the seam: :class:`extapi.watch.entry.Projector`.
        """
        return split_resource_version(encode(self.from_stored(value, version)))

    def cells(self, value: bytes, version: str) -> RawCells:
        """The raw cells of a projected object in the version's table."""
        return self.raw_cells(msgspec.json.decode(value), version)

    def fields(self, value: bytes, version: str) -> dict[str, str]:
        """The values of a projected object that field selectors may ask for, besides its name and namespace."""
        return self.versions[version].selectable.decoded(value)

    def raw_cells(self, obj: Obj, version: str) -> RawCells:
        """The raw cells of an object in the version's table."""
        return self.versions[version].columns.raw_cells(obj)

    def rules(self, obj: Obj, old: Obj | None, version: str) -> list[FieldError]:
        """All errors by the schema of the version; with ``old``, those that were there before are let pass (spec J26)."""
        return self.versions[version].schema.validate(obj, old)

    def knows(self, obj: Obj) -> bool:
        """Whether the object is of this kind, in any of its versions."""
        known = {version.api_version for version in self.versions.values()}
        return obj["kind"] == self.kind.name and obj.get("apiVersion") in known

    def check_type(self, obj: Obj, version: str, name: str) -> None:
        """Raises :class:`Invalid` for an object that is of another kind or version, which a patch can make of it.

        This is told alone, since no other rule means such an object. Source: ``customresource.ValidateTypeMeta``.
        """
        kind, api_version = obj["kind"], obj.get("apiVersion") or ""
        pairs = (("kind", kind, self.kind.name), ("apiVersion", api_version, self.versions[version].api_version))
        errors = [
            FieldError.invalid(path, found, f"must be {wanted}") for path, found, wanted in pairs if found != wanted
        ]
        if errors:
            raise Invalid.of(kind, api_version.rpartition("/")[0], name, errors)


def _version_of(obj: Obj) -> str:
    version: str = obj["apiVersion"].rpartition("/")[2]
    return version


def _deprecation(kind: Kind, group: str, name: str) -> str:
    """The text of the Warning header of a deprecated version, or the empty string (spec J43)."""
    deprecated = kind.versions[name].deprecated
    if not deprecated:
        return ""
    if isinstance(deprecated, str):
        return deprecated
    better = [
        other
        for other in by_priority(kind.served_versions())
        if not kind.versions[other].deprecated and version_priority(other) < version_priority(name)
    ]
    text = f"{group_version(group, name)} {kind.name} is deprecated"
    return f"{text}; use {group_version(group, better[0])} {kind.name}" if better else text
