"""The interface of admission: a :class:`Review` is a write as plugins see it, and how they change or refuse it.

Knows kinds and their conversion, but not where a request came from, or how objects are stored (behaviour I).

Source: ``k8s.io/apiserver/pkg/admission``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn, Protocol, runtime_checkable

import msgspec

from extapi.admission.audit import add_audit_annotation
from extapi.admission.reinvocation import ReinvocationContext
from extapi.admission.versions import ResourceVersions
from extapi.api.definition import Kind
from extapi.api.jsonvalue import json_copy
from extapi.api.protocols import Startable
from extapi.api.types import Obj
from extapi.api.user import User
from extapi.conversion.hub import HubConverter, Unfit
from extapi.errors import Forbidden


class Operation(StrEnum):
    """What the request does to the object; CONNECT takes over the connection. Compares equal to its name."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"

    __hash__ = str.__hash__  # that of enums, which is the same number, takes longer than a look-up


class CheckedConverter(Protocol):
    """Converts the objects of a review to the hub, after checking them against the schema.

    An author's code therefore never sees an object that violates its schema.
    """

    def check_schema(self, obj: Obj, old: Obj | None) -> None:
        """Check the new object. Cheap if the same object was checked before.

        Raises:
            Invalid: The object violates its schema.
        """
        ...

    def to_hub(self, obj: Obj, old: Obj | None) -> Any:
        """The new object as a hub object.

        Raises:
            Invalid: The object violates its schema, or does not fit its type.
        """
        ...

    def old_to_hub(self, old: Obj, obj: Obj | None) -> Any:
        """The stored object as a hub object; parts that are no longer valid are replaced by those of ``obj``.

        Raises:
            Unfit: The stored object does not fit its type, and there is no ``obj``.
        """
        ...


_pack = msgspec.msgpack.Encoder().encode


def _snapshot(value: Any) -> bytes:
    """What tells whether a value changes. msgpack, which takes half of the time of JSON, has no longer integers than 64 bits."""
    try:
        return _pack(value)
    except OverflowError:
        return msgspec.json.encode(value)


class _ReviewedObject:
    """An object of a review: a dict until a plugin accesses the hub object."""

    __slots__ = ("_before", "_hub_object", "_metadata", "raw")

    def __init__(self, raw: Obj | None) -> None:
        self.raw = raw
        self._hub_object: Any = None
        self._before = b""
        """The hub object as it was made; empty for one that a plugin has assigned."""
        self._metadata: dict[str, Any] = {}
        """The dict's metadata as they were then. The server replaces members of it, and changes none in place."""

    @property
    def accessed(self) -> bool:
        """Whether a plugin has read the object, or assigned another one."""
        return self._hub_object is not None

    def get(self, convert: Callable[[Obj], Any]) -> Any:
        if self._hub_object is None and self.raw is not None:
            self._hub_object = convert(self.raw)
            self._before = _snapshot(self._hub_object)
            self._metadata = dict(self.raw.get("metadata") or {})
        return self._hub_object

    def put(self, value: Any) -> None:
        self._hub_object = value
        self._before = b""

    def unchanged(self) -> Any:
        """The hub object, if there is one and it is as it was made; else None."""
        if not self._before:
            return None
        try:
            return self._hub_object if _snapshot(self._hub_object) == self._before else None
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None  # from_hub reports what is wrong with it

    def refresh(self) -> None:
        """Give the hub object, which is unchanged, the metadata that the dict has by now."""
        if self._hub_object is None or self.raw is None:
            return
        hub, metadata = self._hub_object, self.raw.get("metadata") or {}
        if metadata == self._metadata:
            return
        if isinstance(hub, dict):
            hub["metadata"] = json_copy(metadata)
        else:
            hub.metadata = msgspec.convert(metadata, type=type(hub.metadata))
        self._metadata, self._before = dict(metadata), _snapshot(hub)

    def restore(self) -> None:
        """Forget the hub object if it was changed; it is made again on the next access."""
        if self.unchanged() is None:
            self._hub_object = None

    def result(self, converter: HubConverter | None, version: str) -> Obj | None:
        """The object in its own version: the same dict, unless the hub object was changed or assigned."""
        if self._hub_object is None or self.unchanged() is not None:
            return self.raw
        if converter is None:
            changed: Obj = self._hub_object
            return changed
        made = converter.from_hub(self._hub_object, version)
        if not isinstance(self._hub_object, dict):
            before = {} if self.raw is None else self.raw.get("metadata") or {}
            # Fields that ObjectMeta does not have (selfLink, those of later releases) must not be dropped here.
            fields = type(self._hub_object.metadata).__struct_encode_fields__
            made["metadata"] |= {name: value for name, value in before.items() if name not in fields}
        return made


@dataclass(kw_only=True, eq=False)
class Review:
    """A write, as admission plugins see it. The server creates one for each attempt to write."""

    operation: Operation
    kind: Kind
    """The kind as it was declared; ``kind.name`` is its name."""
    group: str
    version: str
    """The version of the request."""
    user: User
    """The user who makes the request."""
    resource: str = ""
    """The plural name; by default that of the kind."""
    subresource: str = ""
    """Such as ``status``; empty for the object itself."""
    namespace: str = ""
    name: str = ""
    """The name in the request; empty on create, where the object has it."""
    obj: Obj | None = None
    """The object as a dict in ``version``."""
    old: Obj | None = None
    """The stored object as a dict in ``old_version``."""
    old_version: str = ""
    """By default ``version``."""
    converter: HubConverter | None = None
    """Converts to hub objects; None if the object has no type, and stays a dict."""
    checked_converter: CheckedConverter | None = None
    """Converts with checks; None if only ``converter`` is used."""
    dry_run: bool = False
    """Nothing will be stored, so a plugin must have no lasting side effects."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The CreateOptions, UpdateOptions or DeleteOptions of the request; on CONNECT the parameters of its query, each a list."""
    warned: Callable[[str], None] | None = None
    """Called with each warning; without it, warnings are collected in ``warnings``."""
    warnings: list[str] = field(default_factory=list)
    annotated: Callable[[str, str], None] | None = None
    """Called with each audit annotation; without it, they are collected in ``audit_annotations``."""
    audit_annotations: dict[str, str] = field(default_factory=dict)
    plugin: str = ""
    """The name of the plugin that is asked: the prefix of its audit annotations."""
    path_version: str = ""
    """The version of the resource in the request's path; by default ``version``."""
    versions: Callable[[], ResourceVersions] | None = None
    """Makes the resource in all its versions; None: it has this one only."""
    name_is_generated: bool = False
    """Whether the server has made up the name of a new object. Webhooks that may change the object do not see it yet."""
    of_collection: bool = False
    """Whether the request deletes a collection: webhooks are told no name then, only the stored object."""
    deadline: float = math.inf
    """When the request has to be answered, on the reactor's clock."""
    reinvocation: ReinvocationContext | None = None
    """What mutators have noted. The chain gives it to each review of the write."""

    def __post_init__(self) -> None:
        self.resource = self.resource or self.kind.plural
        self._new = _ReviewedObject(self.obj)
        self._old = _ReviewedObject(self.old)
        self.old_version = self.old_version or self.version
        self.path_version = self.path_version or self.version
        if not self.namespace and self.resource == "namespaces" and not self.group and not self.name_is_generated:
            self.namespace = self.name  # as the path of a namespace has it; that of a new one does not name it yet

    @property
    def object(self) -> Any:
        """The object as it will be stored; None on DELETE and CONNECT.

        It has the hub type, or the type of the storage version if there is no hub, or is a dict if there is no type. Mutators
        change it in place or assign another one. It is converted on first access.

        Raises:
            Invalid: The object violates its schema. Do not catch this: it is the response to the client.
        """
        return self._new.get(self._to_hub)

    @object.setter  # noqa: A003 - the name that authors know from AdmissionReview
    def object(self, value: Any) -> None:
        self._new.put(value)

    @property
    def old_object(self) -> Any:
        """The stored object, of the same type; None on CREATE and CONNECT. Changing it has no effect.

        A part of it, such as spec, that no longer fits its type is replaced by that of ``object``.

        Raises:
            Unfit: On DELETE, the object no longer fits its type. If the plugin does not catch this, the deletion proceeds as
                if the plugin had allowed it.
        """
        return self._old.get(self._old_to_hub)

    def as_version(self, version: str) -> Obj | None:
        """The object in its present state, as a dict in ``version``, without the defaults of that version. Do not modify it.

        Raises:
            Invalid: See :attr:`object`.
        """
        if self.checked_converter is not None and self.obj is not None and not self._new.accessed:
            self.checked_converter.check_schema(self.obj, self.old)
        obj = self.result()
        if obj is None or self.converter is None:
            return obj
        return self.converter.convert(obj, self.version, version)

    def old_as_version(self, version: str) -> Obj | None:
        """The stored object as a dict in ``version``, without the defaults of that version. Do not modify it.

        In the version of the request it is always available, even if it no longer fits its type.
        """
        if self.old is None or self.converter is None or version == self.old_version:
            return self.old
        try:
            return self.converter.convert(self.old, self.old_version, version)
        except Unfit:
            return self.converter.from_hub(self.old_object, version)

    def _to_hub(self, obj: Obj) -> Any:
        return (
            self._convert(obj, self.version)
            if self.checked_converter is None
            else self.checked_converter.to_hub(obj, self.old)
        )

    def _old_to_hub(self, old: Obj) -> Any:
        if self.checked_converter is None:
            return self._convert(old, self.old_version)
        return self.checked_converter.old_to_hub(old, self.obj)

    def _convert(self, obj: Obj, version: str) -> Any:
        return obj if self.converter is None else self.converter.to_hub(obj, version)

    def result(self) -> Obj | None:
        """The object in the version of the request: the same dict if no plugin changed it, else a new one.

        A new one lacks fields that have their default values, so it must be pruned and defaulted again.
        """
        return self._new.result(self.converter, self.version)

    @property
    def accessed(self) -> bool:
        """Whether a plugin has read one of the objects, or assigned another one."""
        return self._new.accessed or self._old.accessed

    def hub_object(self) -> Any:
        """The hub object of ``obj``, if a plugin has read it and left it as it was; else None."""
        return self._new.unchanged()

    def refresh(self) -> None:
        """Bring both objects up to date for the validators, after :meth:`result` was ``obj``.

        The metadata of the new one may have changed since a plugin read it; changes of the old one have no effect.
        """
        self._new.refresh()
        self._old.restore()

    def warn(self, text: str) -> None:
        """Send the client a warning. The write may still be accepted."""
        if self.warned is not None:
            self.warned(text)
        else:
            self.warnings.append(text)

    def add_audit_annotation(self, key: str, value: str) -> None:
        """Note something for the audit, and for the log line of the request.

        The annotation's key is ``plugin/key``. The first value of a key stays; a wrong key or another value is logged as a
        warning, and does not fail the write.

        Args:
            key: Letters, digits, ``-``, ``_`` and ``.``, at most 63.
            value: Any text; at most 10 KiB are kept. No secrets.
        """
        self.annotate(f"{self.plugin}/{key}", value)

    def annotate(self, key: str, value: str) -> None:
        """The same with a whole key: a DNS subdomain, a slash and a name."""
        if self.annotated is not None:
            self.annotated(key, value)
        else:
            add_audit_annotation(self.audit_annotations, key, value)

    def refuse(self, why: str) -> NoReturn:
        """Refuse the write.

        Raises:
            Forbidden: Always: ``R "name" is forbidden: why``, the default refusal of plugins (behaviour I5).
        """
        raise Forbidden.on(self.resource, self.group, self.display_name(), why)

    def requested_name(self) -> str:
        """The name as webhooks are told it: empty if the request names no object, since it deletes a collection.

        Source: ``k8s.io/apiserver/pkg/endpoints/handlers/delete.go`` DeleteCollection.
        """
        return "" if self.of_collection else self.name

    def display_name(self) -> str:
        """The object's name for messages; generateName if the name is not generated yet, Unknown of a collection.

        Source: ``k8s.io/apiserver/pkg/admission`` extractResourceName.
        """
        if self.requested_name():
            return self.name
        metadata = (self.obj or {}).get("metadata") or {}
        return metadata.get("name") or metadata.get("generateName") or "Unknown"


@runtime_checkable
class Mutator(Protocol):
    """May change or refuse a write. All mutators run before any validator, in order, and again after each conflict.

    Like a :class:`Validator`, it can declare the attributes ``plugin_name``, ``reinvocation_policy`` and ``side_effects``, and a
    method ``handles(review)``.

    Example::

        class Seasonal:
            async def mutate(self, review):
                if review.operation == Operation.CREATE and review.resource == "pizzas":
                    review.object.metadata.labels["season"] = "summer"
    """

    async def mutate(self, review: Review) -> None:
        """Change ``review.object``, or refuse the write by raising an ApiError or calling ``review.refuse``."""
        ...


@runtime_checkable
class Validator(Protocol):
    """May refuse a write; must not change the object, which is what will be stored.

    Example::

        class NoPineapple:
            async def validate(self, review):
                if review.operation != Operation.DELETE and "pineapple" in str(review.object):
                    review.refuse("no pineapple here")
    """

    async def validate(self, review: Review) -> None:
        """Check ``review``, and refuse the write by raising an ApiError or calling ``review.refuse``."""
        ...


__all__ = ["Mutator", "Operation", "Review", "Startable", "Validator"]
