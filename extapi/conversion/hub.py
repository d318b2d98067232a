"""Conversion by an author's functions: from any version to the kind's hub type, and from there to any version.

Knows the types of one kind and calls the author's code; knows nothing of stores, requests or schemas. Whatever goes
wrong in there is an :class:`~extapi.errors.InternalError` that names the kind, the version and, for a value of a wrong
type, its path; the author's own exception is its ``__cause__``, for the log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from extapi.api.definition import Kind, Version
from extapi.api.types import Obj, Object
from extapi.api.versions import group_version
from extapi.errors import FieldError, FieldErrorType, InternalError, StatusCause


class Unfit(InternalError):
    """An object that cannot be converted, or be shown to an author's code, for what it is: its fields are not of their types.

    The schema lets no such object in. It was stored before the type changed, or msgspec is stricter than a format.
    ``errors``: what is wrong, and where. A client's write is answered with them, as 422.
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

        Never shares anything with ``obj``. Raises :class:`Unfit`, or another InternalError.
        """
        if self._hub is None:
            return self._copied(obj, version)
        struct = self._typed(obj, version)
        if self.kind.hub is None:
            return struct
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
        """Whether a Struct can be made of the object, which is in ``version``; without types always."""
        try:
            self._typed(obj, version)
        except Unfit:
            return False
        return True

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

    def _typed(self, obj: Obj, version: str) -> Any:
        form = self._types[version] if self.kind.hub is not None else self._hub
        try:
            return msgspec.convert(obj, Any if form is None else form, strict=True)
        except msgspec.ValidationError as error:
            raise Unfit.of(self.kind.name, self.api_version(version), str(error)) from error
        except RecursionError as error:
            raise self._failed(version, str(error)) from error

    def _copied(self, obj: Obj, version: str) -> Obj:
        try:
            copied: Obj = _copied(obj)
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
