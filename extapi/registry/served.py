"""A compiled kind: reads, checks, converts, stores and shows objects in each of its versions.

Made once at start from an author's :class:`~extapi.api.definition.Kind`. Must not know requests or stores; the rules of
writing are in ``create``, ``update`` and ``delete``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import msgspec

from extapi.api.arguments import is_feed
from extapi.api.definition import NAMESPACED, Kind
from extapi.api.jsonvalue import json_copy
from extapi.api.metadata import coerce
from extapi.api.strategy import Strategy
from extapi.api.types import Obj
from extapi.codec.strictjson import Parts, decode_stored, encode, encode_parts, encode_typed
from extapi.codec.tables import RawCells
from extapi.conversion.hub import HubConverter, Unfit
from extapi.errors import ApiError, BadRequest, FieldError, InternalError, Invalid
from extapi.managedfields.atom import Atom
from extapi.registry.declared import compiled
from extapi.registry.servedversion import ServedVersion
from extapi.registry.soundness import Soundness
from extapi.registry.waiting import WaitingConversion
from extapi.storage.keys import KeyLayout


class ServedKind:
    """A kind with all its versions. ``layout``: of its objects' keys in the store (behaviour K4).

    Raises:
        DeclarationError: Its versions are wrong, or do not fit together; with all mistakes.
    """

    def __init__(self, kind: Kind, group: str) -> None:
        self.kind = kind
        self.group = self.error_group = group
        """The group, and the one that refusals of an object's content name."""
        self.namespaced = kind.scope is NAMESPACED
        self.virtual = kind.rest is not None
        """Whether the kind has REST storage of its author, so that nothing of it is stored here."""
        self.fed = is_feed(kind.rest)
        """Whether it is a virtual kind with a feed, of which a watch cache is kept."""
        self.layout = KeyLayout(group, kind.plural, self.namespaced)
        schemas = compiled(kind)
        self.versions = {name: ServedVersion(kind, group, name, schemas[name]) for name in kind.versions}
        self.converter = HubConverter(kind, group)
        waiting = kind.behaviour.converter
        self._waiting = None if waiting is None else WaitingConversion(kind.name, waiting, self._finish_converted)
        self.waits = waiting is not None
        """Whether conversion may wait. Then the methods that do not wait take objects in the right version only."""
        self.served_with: dict[
            str, tuple[str, ...]
        ] = {}  # for extapi.registry.reviewed: found out once per subresource
        self.encode = encode_typed if kind.behaviour.answering.type_first else encode
        """Encodes an object of this kind, with its members in kube-apiserver's order."""
        sound = Soundness(kind, self.encode)
        self.check, self.to_parts = sound.check, sound.to_parts
        strategy = type(kind.strategy)
        self.prepares = strategy.prepare is not Strategy.prepare
        self.validates = strategy.validate is not Strategy.validate
        self.warns = strategy.warn is not Strategy.warn

    def coerce_and_default(self, obj: Obj, version: str) -> list[str]:
        """Coerce metadata, prune unknown fields and fill in defaults of a client's object, in place (behaviour J19-J21).

        Returns:
            The paths of unknown fields.

        Raises:
            BadRequest: Metadata has a wrong type.
        """
        decoding, given = self.kind.behaviour.decoding, obj.get("metadata")
        try:
            obj["metadata"], unknown = coerce(given)
            if decoding.knows_empty_managed_fields and given and given.get("managedFields") == []:
                obj["metadata"]["managedFields"] = []
            unknown += decoding.read(obj)
            unknown += self.prune_and_default(obj, version)
            decoding.complete(obj)
            return unknown + self.versions[version].schema.coerce_embedded(obj)
        except BadRequest as error:
            kind = self.kind.name
            raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}') from None

    def complete_applied(self, obj: Obj, version: str) -> None:
        """Coerce metadata of an object with a configuration that was applied, and prune it, in place.

        Unknown fields are left only where a schema specifies none at all, which lets them be merged. Nulls stay, unlike those
        that a client sends otherwise: validation refuses them. So do managed fields: the field manager has made them.

        Raises:
            BadRequest: A value cannot be read, and the kind does not drop what of metadata cannot be.
        """
        decoding = self.kind.behaviour.decoding
        metadata = obj.get("metadata")
        managed = metadata.pop("managedFields", None) if isinstance(metadata, dict) else None
        obj["metadata"], _ = coerce(metadata, drop_malformed=decoding.drops_applied_metadata)
        if managed:
            obj["metadata"]["managedFields"] = managed
        decoding.read(obj)
        self.versions[version].schema.prune(obj)
        decoding.complete(obj)
        with suppress(BadRequest):  # validation tells it better
            self.versions[version].schema.coerce_embedded(obj)

    def default_applied(self, obj: Obj, version: str) -> None:
        """Fill in defaults, in place, of what an apply has made; the defaults of nulls, too. Other nulls stay.

        The object may share parts with the live one, which has all defaults but in a version that is neither stored nor made
        by an author's functions.
        """
        if self.kind.hub is None and version != self.kind.storage:
            obj |= {name: json_copy(value) for name, value in obj.items() if name != "metadata"}
        self.versions[version].default_applied(obj)

    def is_stored_as(self, version: str) -> bool:
        """Whether an object of this version is stored without conversion."""
        return version == self.kind.storage

    def prune_and_default(self, obj: Obj, version: str) -> list[str]:
        """Prune and default an object, in place, that something other than a client has made or changed."""
        return self.versions[version].schema.prune_and_default(obj)

    def complete(self, obj: Obj, version: str) -> None:
        """Fill in, in place, the defaults that conversion from a hub object has left out.

        Without a hub, these are the storage version's: hub objects are of its type, and other versions can have other defaults.
        """
        if self.kind.hub is None and self.converter.hub is not None and version != self.kind.storage:
            self.versions[self.kind.storage].schema.default(obj)

    def to_hub(self, obj: Obj, version: str) -> Any:
        """The object as an author's code sees it.

        Raises:
            Unfit: Its fields do not fit their types.
            InternalError: The author's conversion failed.
        """
        try:
            return self.converter.to_hub(obj, version)
        except InternalError as error:
            raise self._blamed(error, obj, version) from error.__cause__

    def _converted(self, obj: Obj, from_version: str, to_version: str, hub: Any = None) -> Obj:
        try:
            return self.converter.convert(obj, from_version, to_version, hub)
        except InternalError as error:
            raise self._blamed(error, obj, from_version) from error.__cause__

    def _blamed(self, error: InternalError, obj: Obj, version: str) -> InternalError:
        """The error of a failed conversion. If the object breaks its schema, that is the reason, and the schema has the best text."""
        broken = self.schema_errors(obj, None, version)
        if not broken:
            return error
        unfit = Unfit(error.message, causes=error.causes)
        unfit.errors = broken
        return unfit

    def _normalize_converted(self, obj: Obj, version: str) -> None:
        """Prune, in place, an object that has just been converted to ``version``; after a conversion through a hub, default it.

        An author's function leaves out fields that have their default. Without a hub nothing was left out, and a version's
        defaults are only for objects that clients write or that are stored in it.
        """
        if self.kind.hub is not None:
            self.prune_and_default(obj, version)
        else:
            self.versions[version].schema.normalize_converted(obj)

    def to_storage(self, obj: Obj, version: str, hub: Any = None) -> Obj:
        """The object as it is stored: in the storage version. It may share parts with ``obj``.

        Args:
            obj: The object.
            version: Its version.
            hub: The same object as a hub object, if there is one already.

        Raises:
            Unfit: The object's fields do not fit their types.
            InternalError: The author's conversion failed.
        """
        storage = self.kind.storage
        if version == storage:
            return obj
        stored = self._converted(obj, version, storage, hub)
        self._normalize_converted(stored, storage)
        return stored

    def stored_in(self, value: bytes) -> str:
        """The version in which an object is stored."""
        return _version_of(decode_stored(value))

    def from_stored(self, value: bytes, version: str) -> Obj:
        """A stored object in ``version``: decoded, then as :meth:`shown`.

        Raises:
            Unfit: Its fields do not fit their types.
            InternalError: The author's conversion failed, or it is stored in a version that came after the request.
        """
        return self.shown(decode_stored(value), version)

    def shown(self, stored: Obj, version: str) -> Obj:
        """A stored object in ``version``: pruned and defaulted, in place, by today's schema, then converted.

        Raises:
            Unfit: Its fields do not fit their types.
            InternalError: The author's conversion failed, or the object is stored in a version that came after the request.
        """
        stored_in = self._stored_version(stored)
        self.prune_and_default(stored, stored_in)
        if stored_in == version:
            return stored
        obj = self._converted(stored, stored_in, version)
        self.check(obj, f"the conversion to {version}")
        self._normalize_converted(obj, version)
        return obj

    @cached_property
    def atoms(self) -> Mapping[str, Atom]:
        """The types along which objects are merged, by apiVersion: the schemas that clients see. Made for the first write."""
        return {each.api_version: each.atom() for each in self.versions.values()}

    def needs_conversion(self, value: bytes, version: str) -> bool:
        """Whether a reader of ``version`` has to wait until a stored object is converted."""
        return self.waits and _peek(value).apiVersion != self.versions[version].api_version

    async def read(self, value: bytes, version: str) -> Obj:
        """As :meth:`from_stored`. Only a kind that :attr:`waits` can wait here.

        Raises:
            ApiError: The conversion failed.
        """
        if self._waiting is None or not self.needs_conversion(value, version):
            return self.from_stored(value, version)
        return await self._waiting.one(self._opened(value), version, self.versions[version].api_version)

    async def convert(self, obj: Obj, version: str, *, raw: bool = False) -> Obj:
        """An object of any version in ``version``; waits if the kind :attr:`waits`. ``obj`` stays as it is, and may be shared.

        ``raw``: of a kind that waits, as its converter made it, not pruned.

        Raises:
            Unfit: Its fields do not fit their types.
            ApiError: The conversion failed.
        """
        if self._waiting is not None:
            finish = self._check_converted if raw else None
            return await self._waiting.one(obj, version, self.versions[version].api_version, finish)
        return self.converted(obj, version)

    def converted(self, obj: Obj, version: str) -> Obj:
        """As :meth:`convert`, with the same errors, but at once: not for a kind that :attr:`waits`."""
        before = _version_of(obj)
        if before == version:
            return obj
        # Without a hub only apiVersion is rewritten, and pruning would take the other version's fields away from both.
        made = self._converted(json_copy(obj) if self.kind.hub is None else obj, before, version)
        self._finish_converted(made, version)
        return made

    async def project_many(self, values: Sequence[bytes], version: str) -> list[Parts | ApiError]:
        """As :meth:`project`, of many objects at once; each that fails has an error of its own."""
        assert self._waiting is not None  # noqa: S101 -- only a kind that waits is asked, which a type checker cannot see
        api_version = self.versions[version].api_version
        made = await self._waiting.stored(values, self._opened, version, api_version)
        return [
            each if isinstance(each, ApiError) else self._waiting.attempt(encode_parts, each, self.encode)
            for each in made
        ]

    def _opened(self, value: bytes) -> Obj:
        """A stored object, pruned and defaulted in the version in which it is stored."""
        obj: Obj = decode_stored(value)
        self.prune_and_default(obj, self._stored_version(obj))
        return obj

    def _stored_version(self, obj: Obj) -> str:
        """The version in which an object is stored.

        Raises:
            InternalError: The version came after the request.
        """
        version = _version_of(obj)
        if version not in self.versions:
            raise InternalError.because(f"the object is stored in version {version}, which is newer than this request")
        return version

    def _finish_converted(self, obj: Obj, version: str) -> None:
        self._check_converted(obj, version)
        self._normalize_converted(obj, version)

    def _check_converted(self, obj: Obj, version: str) -> None:
        self.check(obj, f"the conversion to {version}")

    def project(self, value: bytes, version: str) -> Parts:
        """The object in ``version`` as JSON, in two parts around its resourceVersion, as the cache keeps it.

        See :class:`extapi.watch.cachedobject.Projector`.
        """
        return encode_parts(self.from_stored(value, version), self.encode)

    def cells(self, value: bytes, version: str) -> RawCells:
        """The raw cells of a projected object in the version's table."""
        return self.raw_cells(msgspec.json.decode(value), version)

    def fields(self, value: bytes, version: str) -> dict[str, str]:
        """The values of a projected object's selectable fields, except its name and namespace."""
        return self.versions[version].selectable.decoded(value)

    def raw_cells(self, obj: Obj, version: str) -> RawCells:
        """The raw cells of an object in the version's table."""
        return self.versions[version].columns.raw_cells(obj)

    def schema_errors(self, obj: Obj, old: Obj | None, version: str, part: str = "") -> list[FieldError]:
        """All errors by the schema of the version; those that ``old`` has too pass (behaviour J26).

        And those of its scale, in a write of ``part`` (behaviour J29).
        """
        served = self.versions[version]
        check = served.schema.validate_status if served.status and part == "status" else served.schema.validate
        errors = check(obj, old)
        return errors if served.scale is None else [*errors, *served.scale.errors(obj, part)]

    def knows(self, obj: Obj) -> bool:
        """Whether the object is of this kind, in any of its versions."""
        known = {version.api_version for version in self.versions.values()}
        return obj["kind"] == self.kind.name and obj.get("apiVersion") in known

    def check_type(self, obj: Obj, version: str, name: str) -> None:
        """Check the kind and version of an object, which a patch can change.

        No other error is reported with these, since the other rules are for objects of this kind.
        Source: ``apiextensions-apiserver/pkg/registry/customresource/validator.go`` ValidateTypeMeta.

        Raises:
            Invalid: They are not those of the resource.
        """
        kind, api_version = obj["kind"], obj.get("apiVersion") or ""
        if kind == self.kind.name and api_version == self.versions[version].api_version:
            return
        pairs = (("kind", kind, self.kind.name), ("apiVersion", api_version, self.versions[version].api_version))
        errors = [
            FieldError.invalid(path, found, f"must be {wanted}") for path, found, wanted in pairs if found != wanted
        ]
        if errors:
            raise Invalid.of(kind, api_version.rpartition("/")[0], name, errors)


class _Typed(msgspec.Struct):
    apiVersion: str  # noqa: N815 -- the member's name


_peek = msgspec.json.Decoder(_Typed).decode


def _version_of(obj: Obj) -> str:
    version: str = obj["apiVersion"].rpartition("/")[2]
    return version
