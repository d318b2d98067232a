"""Conversion by an author's functions: from any version to the kind's hub type, and from there to any version.

Knows the types of one kind and calls the author's code; knows nothing of stores, requests or schemas. Whatever goes
wrong in there is an :class:`~extapi.errors.InternalError` that names the kind, the version and, for a value of a wrong
type, its path; the author's own exception is its ``__cause__``, for the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from extapi.api.definition import Kind, Version
from extapi.api.types import Obj, Object
from extapi.api.versions import group_version
from extapi.errors import InternalError


class HubConverter:
    """Takes objects of one kind between its versions.

    Where the kind has no hub type, all versions have one form: only ``apiVersion`` is rewritten (spec J47), and the type
    that author code is given is that of the storage version, or the plain dict if that has none.
    """

    def __init__(self, kind: Kind, group: str) -> None:
        self.kind = kind
        self.group = group
        self._hub = kind.hub or _type_of(kind.versions[kind.storage])
        self._types = {name: _type_of(version) or self._hub for name, version in kind.versions.items()}
        self._defaults = {
            form: _struct_defaults(form) for form in {self._hub, *self._types.values()} if form is not None
        }

    @property
    def hub(self) -> type[Object] | None:
        """The type of the objects that :meth:`to_hub` makes; None: there are no types, objects stay dicts."""
        return self._hub

    def api_version(self, version: str) -> str:
        """What objects of ``version`` have as their ``apiVersion``."""
        return group_version(self.group, version)

    def to_hub(self, obj: Obj, version: str) -> Any:
        """The object, which is in ``version``, as a hub object with the same metadata; without a hub type a dict.

        Never shares anything with ``obj``. Raises InternalError.
        """
        if self._hub is None:
            return _copied(obj)
        if self.kind.hub is None:
            return self._typed(obj, self._hub, version)
        struct = self._typed(obj, self._types[version], version)
        convert = self.kind.versions[version].to_hub
        if convert is None:  # the version's type is the hub type
            return struct
        hub = self._called(convert, struct, version, "to_hub", self._hub)
        # Metadata is the server's: whatever the author's function did about it does not count.
        hub.metadata = struct.metadata
        return hub

    def from_hub(self, hub: Any, version: str, *, whole: bool = False) -> Obj:
        """A hub object as a dict in ``version``: apiVersion and kind set, fields that have their default left out.

        ``whole``: parts such as spec and status stay, even if all in them is as by default. Raises InternalError.
        """
        if isinstance(hub, dict):
            return {**_copied(hub), "apiVersion": self.api_version(version), "kind": self.kind.name}
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

    def drop_defaults(self, obj: Obj, form: type[Object]) -> None:
        """Take out, in place, the parts of an object of type ``form`` that equal their default, as from_hub leaves them out."""
        for name, default in self._defaults[form].items():
            if obj.get(name) == default:
                del obj[name]

    def convert(self, obj: Obj, from_version: str, to_version: str) -> Obj:
        """The object in ``to_version``, with the original's metadata dict itself (spec J49); ``obj`` is not changed.

        The result has to be pruned and defaulted for ``to_version``. Raises InternalError.
        """
        if from_version == to_version:
            return obj
        if self.kind.hub is None:
            return {**obj, "apiVersion": self.api_version(to_version)}
        result = self.from_hub(self.to_hub(obj, from_version), to_version)
        if "metadata" in obj:
            result["metadata"] = obj["metadata"]
        else:
            del result["metadata"]
        return result

    def _typed(self, obj: Obj, form: type[Object] | None, version: str) -> Any:
        try:
            return msgspec.convert(obj, form, strict=True)
        except (msgspec.ValidationError, RecursionError) as error:
            raise self._failed(version, str(error)) from error

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


def _struct_defaults(form: type[Object]) -> dict[str, Any]:
    """What the parts of an object are by default, as JSON. msgspec leaves out other defaults by itself, but not these."""
    return {
        field.encode_name: msgspec.to_builtins(field.default_factory())
        for field in msgspec.structs.fields(form)
        if field.name != "metadata" and field.default_factory is not msgspec.NODEFAULT
    }


def _copied(value: Any) -> Any:
    """A deep copy of JSON data."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value
