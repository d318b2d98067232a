"""Kinds and subresources that answer themselves (``Kind.serves``, ``Subresource(serves=...)``) as the verbs see them.

Shape, rules and admission are those of stored kinds; instead of a store there is the author's object, and the verbs are
the methods that it has. Nothing is filled in: uid, creationTimestamp and the like are the author's (reviews have none).
Source: the ``REST`` types in k8s.io/kubernetes that have no ``registry.Store``, such as those of reviews.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from extapi.admission.base import Operation, Review
from extapi.api.definition import Asked, Kind, Subresource, Version
from extapi.api.types import Obj
from extapi.api.user import ANONYMOUS, User
from extapi.codec.tables import Columns
from extapi.errors import Conflict, FieldError, InternalError, NotFound
from extapi.registry.base import Admission, Change, DeleteRules, Listing, Place, Query
from extapi.registry.delete import check_preconditions
from extapi.registry.rendering import FreshRendering, FreshRenderings
from extapi.registry.selectable import selectable
from extapi.registry.served import ServedKind
from extapi.registry.writing import Store, Write


class _Virtual:
    """What can be done with every resource that answers itself. ``kind``: what is sent and answered; ``path``: in the URL."""

    subresource = ""
    _serves: Any
    _version = ""
    """What is spoken, where that is not the version of the request."""
    _parent: Store | None = None

    def __init__(self, kind: ServedKind, path: ServedKind) -> None:
        self._kind = kind
        self.group = path.group
        self.plural = path.kind.plural
        self.kind = kind.kind.name
        self.list_kind = kind.kind.list_kind
        self.namespaced = path.namespaced
        self._selectable = {version: selectable(kind.kind, version) for version in kind.versions}
        self.native = path.kind.native

    def api_version(self, at: Place) -> str:
        """See :class:`extapi.registry.base.Resource`."""
        return self._kind.versions[self._spoken(at)].api_version

    def selectable(self, at: Place) -> tuple[str, ...]:
        """See :class:`extapi.registry.base.Resource`."""
        return self._selectable[self._spoken(at)]

    def accept(self, at: Place, obj: Obj) -> list[str]:
        """See :class:`extapi.registry.base.Resource`."""
        return self._kind.accept(obj, self._spoken(at))

    def columns(self, at: Place) -> Columns:
        """See :class:`extapi.registry.base.Resource`."""
        return self._kind.versions[self._spoken(at)].columns

    def _spoken(self, at: Place) -> str:
        return self._version or at.version

    def _asked(self, at: Place, name: str, user: User | None, *, dry_run: bool = False) -> Asked:
        return Asked(user or User(ANONYMOUS), at.version, at.namespace, name, dry_run)

    def _write(self, at: Place, name: str, admit: Admission) -> _Write:
        return _Write(self._kind, Place(self._spoken(at), at.namespace), admit, (self.group, self.plural, name))

    def _obj(self, at: Place, made: Any) -> Obj:
        """What the author's code gave, in the request's version: pruned, defaulted."""
        if made is None:
            raise InternalError.because(f"what serves {self.plural} gave no {self.kind}")
        version = self._spoken(at)
        obj = self._kind.converter.from_hub(made, version, whole=True)
        obj.setdefault("metadata", {})
        self._kind.check(obj, f"what serves {self.plural}")
        self._kind.complete(obj, version)
        self._kind.settle(obj, version)
        return obj

    def _shown(self, at: Place, obj: Obj) -> FreshRendering:
        return FreshRendering(self._kind, self._spoken(at), obj, 0)

    def _missing(self, name: str) -> NotFound:
        return NotFound.named(self.plural, self.group, name)

    async def _check_parent(self, at: Place, name: str) -> None:
        """Raises :class:`NotFound` unless the object is there whose subresource this is."""
        if self._parent is not None:
            await self._parent.cache.fresh()
            if self._parent.cache.get(at.namespace, name) is None:
                raise self._missing(name)

    async def _got(self, at: Place, name: str, user: User | None) -> Obj:
        await self._check_parent(at, name)
        found = await self._serves.get(self._asked(at, name, user))
        if found is None:
            raise self._missing(name)
        return self._obj(at, found)


class _Creates(_Virtual):
    async def create(self, at: Place, obj: Obj, *, admit: Admission) -> FreshRendering:
        """See :class:`extapi.registry.base.Creater`."""
        return await self.create_named(at, "", obj, admit=admit)

    async def create_named(self, at: Place, name: str, obj: Obj, *, admit: Admission) -> FreshRendering:
        """See :class:`extapi.registry.base.NamedCreater`."""
        write = self._write(at, name, admit)
        self._kind.check_type(obj, self._spoken(at), name or obj["metadata"].get("name", ""))
        obj = await write.mutated(Operation.CREATE, obj, None, _keep)
        await self._check_parent(at, name)
        await write.checked(Operation.CREATE, obj, None)
        asked = self._asked(at, name, admit.user, dry_run=admit.dry_run)
        return self._shown(at, self._obj(at, await self._serves.create(asked, write.shown(obj, None))))


class _Gets(_Virtual):
    async def get(self, at: Place, name: str, resource_version: str = "") -> FreshRendering:
        """See :class:`extapi.registry.base.Getter`; there is one state of the object, the present one."""
        del resource_version
        return self._shown(at, await self._got(at, name, at.user))


class _Lists(_Virtual):
    async def list(self, at: Place, query: Query) -> Listing:
        """See :class:`extapi.registry.base.Lister`: all that the selectors match, in the author's order, in one page."""
        found = await self._serves.list(self._asked(at, "", at.user))
        objects = [self._obj(at, one) for one in found]
        if not (query.labels.empty and query.fields.empty):
            objects = [obj for obj in objects if self._matches(at, query, obj)]
        return Listing(FreshRenderings([self._shown(at, obj) for obj in objects]), 0)

    def _matches(self, at: Place, query: Query, obj: Obj) -> bool:
        metadata: Mapping[str, Any] = obj["metadata"]
        fields = {f"metadata.{name}": metadata.get(name, "") for name in ("name", "namespace")}
        fields |= self._kind.versions[self._spoken(at)].selectable.values(obj)
        return query.labels.matches(metadata.get("labels") or {}) and query.fields.matches(fields)


class _Updates(_Virtual):
    async def update(self, at: Place, name: str, change: Change, *, admit: Admission) -> FreshRendering:
        """See :class:`extapi.registry.base.Updater`; a resourceVersion is compared where the author's object has one."""
        old = await self._got(at, name, admit.user)
        obj = await change(old)
        self._kind.check_type(obj, self._spoken(at), name)
        write = self._write(at, name, admit)
        obj = await write.mutated(Operation.UPDATE, obj, old, _keep)
        given, live = (one["metadata"].get("resourceVersion", "") for one in (obj, old))
        if given and live and given != live:
            raise Conflict.on(self.plural, self.group, name, Conflict.MODIFIED)
        await write.checked(Operation.UPDATE, obj, old)
        asked = self._asked(at, name, admit.user, dry_run=admit.dry_run)
        return self._shown(at, self._obj(at, await self._serves.update(asked, write.shown(obj, old))))


class _Deletes(_Virtual):
    async def delete(
        self, at: Place, name: str, rules: DeleteRules, *, admit: Admission
    ) -> tuple[FreshRendering, bool]:
        """See :class:`extapi.registry.base.Deleter`. An author who returns the object says that it is still there."""
        if hasattr(self._serves, "get"):
            old = await self._got(at, name, admit.user)
        else:
            await self._check_parent(at, name)
            old = self._obj(at, {"metadata": {"name": name}})
        check_preconditions(self._kind, name, old, rules.preconditions)
        await self._write(at, name, admit).deletable(name, old)
        left = await self._serves.delete(self._asked(at, name, admit.user, dry_run=admit.dry_run))
        if left is not None:
            return self._shown(at, self._obj(at, left)), False
        old["metadata"].setdefault("uid", "")
        return self._shown(at, old), True


_VERBS: Mapping[str, type[_Virtual]] = {
    "create": _Creates,
    "get": _Gets,
    "list": _Lists,
    "update": _Updates,
    "delete": _Deletes,
}


def _able(cls: type[_Virtual], serves: Any) -> type[_Virtual]:
    """``cls`` with the verbs whose methods ``serves`` has: one at least, as the declaration has been checked."""
    verbs = [verb for verb in _VERBS if hasattr(serves, verb)]
    return type(cls.__name__, (cls, *(_VERBS[verb] for verb in verbs)), {})


class VirtualResource(_Virtual):
    """The main resource of a kind with ``serves``. Has the methods of the verbs that the author's object has."""

    def __new__(cls, kind: ServedKind) -> Self:
        """An instance with just these verbs."""
        return super().__new__(_able(cls, kind.kind.serves))  # type: ignore[return-value]  # a subclass

    def __init__(self, kind: ServedKind) -> None:
        super().__init__(kind, kind)
        self._serves = kind.kind.serves


class VirtualSubresource(_Virtual):
    """A subresource with ``serves``; its verbs are those of the author's object, which is told the name in the path.

    ``kind``: of the objects that it is below; ``parent``: where they are stored, so that a missing one is 404.
    """

    def __new__(cls, kind: ServedKind, name: str, sub: Subresource, parent: Store | None) -> Self:
        """An instance with just these verbs."""
        del kind, name, parent
        return super().__new__(_able(cls, sub.serves))  # type: ignore[return-value]  # a subclass

    def __init__(self, kind: ServedKind, name: str, sub: Subresource, parent: Store | None) -> None:
        super().__init__(subresource_kind(kind, sub), kind)
        self.subresource = name
        self._serves = sub.serves
        self._version = sub.version
        self._parent = parent


def subresource_kind(kind: ServedKind, sub: Subresource) -> ServedKind:
    """What a subresource of ``kind`` speaks: a kind of its own, or the very same."""
    if not sub.kind or sub.type is None:
        return kind
    versions = {version: Version(sub.type) for version in ([sub.version] if sub.version else kind.versions)}
    own = Kind(
        sub.kind, versions=versions, storage=next(iter(versions)), scope=kind.kind.scope, plural=kind.kind.plural
    )
    return ServedKind(own, sub.group or kind.group)


class _Write(Write):
    """A write of what answers itself. The rules of metadata are left to the author: a review has no name."""

    def __init__(self, kind: ServedKind, at: Place, admit: Admission, path: tuple[str, str, str]) -> None:
        super().__init__(kind, at, admit)
        self._group, self._plural, self._path_name = path

    def _name(self, obj: Obj) -> str:
        return self._path_name or super()._name(obj)

    def _review(self, operation: Operation, name: str, obj: Obj | None, old: Obj | None) -> Review:
        review = super()._review(operation, name, obj, old)
        review.group, review.resource = self._group, self._plural
        return review

    def _metadata_errors(self, obj: Obj, old: Obj | None) -> list[FieldError]:
        del obj, old
        return []


def _keep(_: Obj) -> None:
    """Nothing of what plugins change has to be put back."""
