"""The seam of admission: a :class:`Review` is what plugins are shown of a write, and how they change or refuse it.

Knows kinds and their conversion; knows neither where a request came from nor how objects are stored. Source of the
rules: ``k8s.io/apiserver/pkg/admission`` (spec I).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn, Protocol, runtime_checkable

import msgspec

from extapi.api.author import Startable
from extapi.api.definition import Kind
from extapi.api.types import Obj
from extapi.api.user import User
from extapi.conversion.hub import HubConverter, Unfit
from extapi.errors import Forbidden


class Operation(StrEnum):
    """What is about to happen to the object. Compares equal to its name."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class Viewer(Protocol):
    """Who says in which form an object is shown to an author's code, and that one which breaks its schema is not."""

    def judge(self, obj: Obj, old: Obj | None) -> None:
        """Raises :class:`extapi.errors.Invalid` for a new object that breaks its schema. Cheap where it was asked before."""
        ...

    def shown(self, obj: Obj, old: Obj | None) -> Any:
        """The new object in the form that authors see. Raises :class:`extapi.errors.Invalid` for one that must not be shown."""
        ...

    def shown_old(self, old: Obj, obj: Obj | None) -> Any:
        """The stored object in that form. Raises :class:`extapi.conversion.hub.Unfit` if there is none, and no ``obj`` either."""
        ...


class _New:
    """The object that a review is about: a dict until someone asks for the form that authors see."""

    __slots__ = ("_before", "_converter", "_form", "raw", "version")

    def __init__(self, raw: Obj | None, version: str, converter: HubConverter | None) -> None:
        self.raw = raw
        self.version = version
        self._converter = converter
        self._form: Any = None
        self._before = b""

    @property
    def shown(self) -> bool:
        """Whether somebody has seen the object, or put another one in its place."""
        return self._form is not None

    def get(self, show: Callable[[Obj], Any]) -> Any:
        if self._form is None and self.raw is not None:
            self._form = show(self.raw)
            self._before = msgspec.json.encode(self._form)
        return self._form

    def put(self, value: Any) -> None:
        self._form = value
        self._before = b""

    def result(self) -> Obj | None:
        """The object in its own version: the very dict it came in, unless what authors see was changed."""
        if self._form is None or self._unchanged():
            return self.raw
        if self._converter is None:
            changed: Obj = self._form
            return changed
        made = self._converter.from_hub(self._form, self.version)
        if not isinstance(self._form, dict):
            before = {} if self.raw is None else self.raw.get("metadata") or {}
            # What ObjectMeta does not name (selfLink, fields of a later release) is nobody's to drop here.
            fields = type(self._form.metadata).__struct_encode_fields__
            made["metadata"] |= {name: value for name, value in before.items() if name not in fields}
        return made

    def in_version(self, version: str) -> Obj | None:
        obj = self.result()
        if obj is None or self._converter is None:
            return obj
        return self._converter.convert(obj, self.version, version)

    def _unchanged(self) -> bool:
        if not self._before:
            return False
        try:
            return msgspec.json.encode(self._form) == self._before
        except (TypeError, ValueError, OverflowError, RecursionError):
            return False  # from_hub says what is wrong with it


@dataclass(kw_only=True, eq=False)
class Review:
    """One write, as admission plugins see it. The server makes one for each attempt to write."""

    operation: Operation
    kind: Kind
    """As it was declared; ``kind.name`` is its name."""
    group: str
    version: str
    """The version that the request speaks."""
    user: User
    """Who asks."""
    resource: str = ""
    """The plural name; the kind's, if not given."""
    subresource: str = ""
    """``status``, or another; empty for the object itself."""
    namespace: str = ""
    name: str = ""
    """That of the request: empty on create, where the object has its own."""
    obj: Obj | None = None
    """The object as a dict in ``version``."""
    old: Obj | None = None
    """The stored object as a dict in ``old_version``."""
    old_version: str = ""
    """As ``version``, if not given."""
    converter: HubConverter | None = None
    """How objects become hub objects; None: what is reviewed has no type, and stays a dict."""
    viewer: Viewer | None = None
    """Who decides what is shown; None: the converter alone."""
    dry_run: bool = False
    """Nothing will be stored: a plugin must do nothing that stays."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """CreateOptions, UpdateOptions or DeleteOptions of the request."""
    warned: Callable[[str], None] | None = None
    """Takes each warning; without it they are kept in ``warnings``."""
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.resource = self.resource or self.kind.plural
        self._new = _New(self.obj, self.version, self.converter)
        self._old_form: Any = None
        self.old_version = self.old_version or self.version

    @property
    def object(self) -> Any:
        """The object as it shall become; None on DELETE.

        Of the hub type; of the storage version's type where there is no hub; a dict where there is no type. Mutators change
        it in place or assign another. Made when first asked for, since an object that breaks its schema is not shown:
        raises :class:`extapi.errors.Invalid`, which is the client's answer.
        """
        return self._new.get(self._show)

    @object.setter  # noqa: A003 -- the name that authors know from AdmissionReview
    def object(self, value: Any) -> None:
        self._new.put(value)

    @property
    def old_object(self) -> Any:
        """The stored object, in the same form; None on CREATE. Changing it has no effect.

        Where a part of it, such as spec, does not fit its type any more, that of ``object`` stands in its place. On DELETE
        there is none: raises :class:`extapi.conversion.hub.Unfit`, and the object goes as if the plugin had agreed.
        """
        if self._old_form is None and self.old is not None:
            self._old_form = self._show_old(self.old)
        return self._old_form

    def as_version(self, version: str) -> Obj | None:
        """The object as it stands now, as a dict in ``version``, not defaulted for it. Not to be changed.

        Raises :class:`extapi.errors.Invalid` as ``object`` does.
        """
        if self.viewer is not None and self.obj is not None and not self._new.shown:
            self.viewer.judge(self.obj, self.old)
        return self._new.in_version(version)

    def old_as_version(self, version: str) -> Obj | None:
        """The stored object as a dict in ``version``, not defaulted for it. Not to be changed.

        In the request's version it is there in any case, also if it does not fit its type any more.
        """
        if self.old is None or self.converter is None or version == self.old_version:
            return self.old
        try:
            return self.converter.convert(self.old, self.old_version, version)
        except Unfit:
            return self.converter.from_hub(self.old_object, version)

    def _show(self, obj: Obj) -> Any:
        return self._plain(obj, self.version) if self.viewer is None else self.viewer.shown(obj, self.old)

    def _show_old(self, old: Obj) -> Any:
        if self.viewer is None:
            return self._plain(old, self.old_version)
        return self.viewer.shown_old(old, self.obj)

    def _plain(self, obj: Obj, version: str) -> Any:
        return obj if self.converter is None else self.converter.to_hub(obj, version)

    def result(self) -> Obj | None:
        """The object in the request's version: the same dict if nobody changed it, else a new one.

        A new one leaves out fields that have their default: it has to be pruned and defaulted again.
        """
        return self._new.result()

    @property
    def looked(self) -> bool:
        """Whether a plugin has asked for one of the objects, or put another one in its place."""
        return self._new.shown or self._old_form is not None

    def warn(self, text: str) -> None:
        """Tell the client something, though the write may well be accepted."""
        if self.warned is not None:
            self.warned(text)
        else:
            self.warnings.append(text)

    def refuse(self, why: str) -> NoReturn:
        """Refuse the write as plugins do by default: 403 ``R "name" is forbidden: why`` (spec I5)."""
        raise Forbidden.on(self.resource, self.group, self.called(), why)

    def called(self) -> str:
        """The object's name for messages: a name that is still to be generated is called by its beginning."""
        if self.name:
            return self.name
        metadata = (self.obj or {}).get("metadata") or {}
        return metadata.get("name") or metadata.get("generateName") or "Unknown"


@runtime_checkable
class Mutator(Protocol):
    """May change the object, and refuse. All mutators run before any validator, in order, again after each conflict.

    Example::

        class Seasonal:
            async def mutate(self, review):
                if review.operation == Operation.CREATE and review.resource == "pizzas":
                    review.object.metadata.labels["season"] = "summer"
    """

    async def mutate(self, review: Review) -> None:
        """Look at ``review`` and change ``review.object``. Raises an ApiError, or calls ``review.refuse``, to refuse."""
        ...


@runtime_checkable
class Validator(Protocol):
    """May refuse, and changes nothing: it sees what is about to be stored.

    Example::

        class NoPineapple:
            async def validate(self, review):
                if review.operation != Operation.DELETE and "pineapple" in str(review.object):
                    review.refuse("no pineapple here")
    """

    async def validate(self, review: Review) -> None:
        """Look at ``review``. Raises an ApiError, or calls ``review.refuse``, to refuse."""
        ...


__all__ = ["Mutator", "Operation", "Review", "Startable", "Validator"]
