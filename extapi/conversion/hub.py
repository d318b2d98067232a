"""Conversion by an author's functions: from any version to the kind's hub type, and from there to any version.

Knows the types of one kind and calls the author's code; must not know stores, requests or schemas. Every failure is an
:class:`~extapi.errors.InternalError` with the kind, the version and, for a value of a wrong type, its path. The author's
exception is its ``__cause__``, for the log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from extapi.api.definition import Kind, Version
from extapi.api.jsonvalue import json_copy
from extapi.api.types import Obj, Object, ObjectMeta
from extapi.api.versions import group_version
from extapi.errors import FieldError, FieldErrorType, InternalError, StatusCause
from extapi.managedfields.fieldmanager import without_managed_fields


class Unfit(InternalError):
    """An object that cannot be converted or shown to an author's code, since its fields do not fit their types.

    The schema accepts no such object: it was stored before the type changed, or msgspec is stricter than a format.
    ``errors``: what is wrong, and where; the answer to a client's write is 422 with them.
    """

    errors: Sequence[FieldError] = ()

    @classmethod
    def of(cls, kind: str, api_version: str, why: str) -> Unfit:
        """``why``: msgspec's text, such as ``Expected `int`, got `str` - at `$.spec.size```."""
        text = f"conversion of {kind} failed at {api_version}: {why}"
        unfit = cls(f"Internal error occurred: {text}", causes=[StatusCause(message=text)])
        what, _, at = why.rpartition(" - at `$")
        unfit.errors = [FieldError(FieldErrorType.INVALID, at.strip(".`") if what else "", detail=what or why)]
        return unfit


class HubConverter:
    """Converts objects of one kind between its versions.

    Without a hub type, all versions have the same fields: only ``apiVersion`` is rewritten (behaviour J47), and an author's
    code gets the type of the storage version, or a dict if that has none.
    """

    def __init__(self, kind: Kind, group: str) -> None:
        self.kind = kind
        self.group = group
        self._hub = kind.hub or _type_of(kind.versions[kind.storage])
        self._types = {name: _type_of(version) or self._hub for name, version in kind.versions.items()}
        self._defaults = {
            struct_type: _struct_defaults(struct_type)
            for struct_type in {self._hub, *self._types.values()}
            if struct_type is not None
        }
        shown = self._types if kind.hub is not None else dict.fromkeys(self._types, self._hub)
        self._untyped = {
            name: struct_type is None or _has_untyped(inspect.type_info(struct_type), set())
            for name, struct_type in shown.items()
        }

    @property
    def hub(self) -> type[Object] | None:
        """The type of the objects that :meth:`to_hub` makes; None: dicts."""
        return self._hub

    def api_version(self, version: str) -> str:
        """The ``apiVersion`` of objects of ``version``."""
        return group_version(self.group, version)

    def to_hub(self, obj: Obj, version: str) -> Any:
        """The object, which is in ``version``, as a hub object with the same metadata; without a hub type as a dict.

        The result shares nothing with ``obj``.

        Raises:
            Unfit: The object's fields do not fit their types.
            InternalError: The author's function failed.
        """
        if self._hub is None:
            return self._copied(obj, version)
        struct = self._typed(self._unshared(obj, version), version)
        if self.kind.hub is None:
            return struct
        convert = self.kind.versions[version].to_hub
        if convert is None:  # the version's type is the hub type
            return struct
        hub = self._called(convert, struct, version, "to_hub", self._hub)
        # Metadata is the server's: changes by the author's function are ignored.
        hub.metadata = struct.metadata
        return hub

    def from_hub(self, hub: Any, version: str, *, whole: bool = False) -> Obj:
        """A hub object as a dict in ``version``, without fields that have their default.

        Args:
            hub: The object.
            version: The version to convert it to.
            whole: Keep parts such as spec and status, even if they equal their default.

        Raises:
            InternalError: The author's function failed, or made something else.
        """
        if isinstance(hub, dict):
            return {**self._copied(hub, version), "apiVersion": self.api_version(version), "kind": self.kind.name}
        if not isinstance(hub, Object):
            wanted = "dict" if self._hub is None else self._hub.__name__
            raise self._failed(version, f"{type(hub).__name__} instead of {wanted}")
        convert = self.kind.versions[version].from_hub
        struct = hub
        if convert is not None:
            metadata = hub.metadata
            struct = self._called(convert, hub, version, "from_hub", self._types[version])
            struct.metadata = metadata
        try:
            obj = msgspec.to_builtins(struct)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise self._failed(version, f"what from_hub made cannot be written: {error}") from error
        if not whole:
            self.drop_defaults(obj, type(struct))
        obj.setdefault("metadata", {})
        return {**obj, "apiVersion": self.api_version(version), "kind": self.kind.name}

    def fits(self, obj: Obj, version: str) -> bool:
        """Whether the object, which is in ``version``, fits its type; without types always."""
        try:
            self._typed(obj, version)
        except Unfit:
            return False
        return True

    def drop_defaults(self, obj: Obj, struct_type: type[Object]) -> None:
        """Remove, in place, the parts that equal their default in type ``struct_type``, as :meth:`from_hub` does."""
        for name, default in self._defaults[struct_type].items():
            if obj.get(name) == default:
                del obj[name]

    def convert(self, obj: Obj, from_version: str, to_version: str, hub: Any = None) -> Obj:
        """The object in ``to_version``; ``obj`` stays as it is, but shares its metadata with the result (behaviour J49).

        The caller prunes and defaults the result for ``to_version``.

        Args:
            obj: The object.
            from_version: Its version.
            to_version: The version to convert it to.
            hub: The same object as :meth:`to_hub` made it, if the caller has it.

        Raises:
            Unfit: The object's fields do not fit their types.
            InternalError: The author's function failed.
        """
        if from_version == to_version:
            return obj
        if self.kind.hub is None:
            if self.kind.behaviour.converter is not None:
                raise self._failed(to_version, "its converter may have to wait, which is impossible here")
            return {**obj, "apiVersion": self.api_version(to_version)}
        if hub is None:
            hub = self.to_hub(without_managed_fields(obj), from_version)  # the result has the metadata of obj
        result = self.from_hub(hub, to_version)
        if "metadata" in obj:
            result["metadata"] = obj["metadata"]
        else:
            del result["metadata"]
        return result

    def _typed(self, obj: Obj, version: str) -> Any:
        struct_type = self._types[version] if self.kind.hub is not None else self._hub
        try:
            return msgspec.convert(obj, Any if struct_type is None else struct_type, strict=True)
        except msgspec.ValidationError as error:
            raise Unfit.of(self.kind.name, self.api_version(version), str(error)) from error
        except RecursionError as error:
            raise self._failed(version, str(error)) from error

    def _unshared(self, obj: Obj, version: str) -> Obj:
        """The object with copies of what has no type: msgspec passes that on as it is."""
        if self._untyped[version]:
            return self._copied(obj, version)
        metadata = obj.get("metadata")
        managed = metadata.get("managedFields") if isinstance(metadata, dict) else None
        return {**obj, "metadata": {**metadata, "managedFields": json_copy(managed)}} if managed and metadata else obj

    def _copied(self, obj: Obj, version: str) -> Obj:
        try:
            copied: Obj = json_copy(obj)
        except RecursionError as error:
            raise self._failed(version, "the object is nested too deep") from error
        return copied

    def _called(
        self, function: Callable[[Any], Any], argument: Any, version: str, name: str, wanted: type[Object] | None
    ) -> Any:
        try:
            result = function(argument)
        except Exception as error:
            raise self._failed(version, f"{name} raised {type(error).__name__}") from error
        if wanted is not None and not isinstance(result, wanted):
            raise self._failed(version, f"{name} returned {type(result).__name__} instead of {wanted.__name__}")
        return result

    def _failed(self, version: str, why: str) -> InternalError:
        return InternalError.because(
            f"conversion of {self.kind.name} failed at {self.api_version(version)}: {why}",
        )


def _type_of(version: Version) -> type[Object] | None:
    return version.type if isinstance(version.type, type) else None


def _has_untyped(type_: inspect.Type, known: set[type]) -> bool:
    """Whether a type has parts without one, but for managed fields; ``known``: Structs that need not be looked at again."""
    match type_:
        case inspect.StructType(cls=cls, fields=fields):
            if cls is ObjectMeta or cls in known:
                return False
            known.add(cls)
            return any(_has_untyped(field.type, known) for field in fields)
        case inspect.Metadata(type=inner):
            return _has_untyped(inner, known)
        case inspect.UnionType(types=types):
            return any(_has_untyped(each, known) for each in types)
        case inspect.ListType(item_type=item):
            return _has_untyped(item, known)
        case inspect.DictType(value_type=value):
            return _has_untyped(value, known)
        case inspect.StrType() | inspect.BoolType() | inspect.IntType() | inspect.FloatType() | inspect.NoneType():
            return False
    return not isinstance(type_, inspect.EnumType | inspect.LiteralType)


def _struct_defaults(struct_type: type[Object]) -> dict[str, Any]:
    """The defaults of the parts of an object, as JSON: msgspec omits other defaults by itself, but not these."""
    return {
        field.encode_name: msgspec.to_builtins(field.default_factory())
        for field in msgspec.structs.fields(struct_type)
        if field.name != "metadata" and field.default_factory is not msgspec.NODEFAULT
    }
