"""Virtual resources: kinds and subresources with REST storage of the author (``Kind.rest``, ``Subresource(rest=...)``).

Schema, rules and admission are those of stored kinds. In place of the store there is the author's object, whose methods
are the verbs. No system metadata is set: uid, creationTimestamp and the like are the author's (reviews have none). Only
managed fields are given to the author's object, which keeps them or not, as the generic handlers of k8s.io/apiserver do.
A kind with a feed, which can be watched, is in :mod:`extapi.registry.fed`.
Source: the ``REST`` types in ``kubernetes/pkg/registry`` without a ``registry.Store``, such as those of reviews.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any, Self, TypeVar

from extapi.admission.base import Operation, Review
from extapi.api.definition import Kind, Version
from extapi.api.protocols import RESTRequest
from extapi.api.subresource import Subresource
from extapi.api.types import Obj
from extapi.api.user import ANONYMOUS, User
from extapi.clock import Clock
from extapi.codec.options import parse_resource_version
from extapi.codec.tables import Columns
from extapi.errors import Conflict, Expired, FieldError, InternalError, Invalid, NotFound
from extapi.http.response import Chunk, Sink, Streaming
from extapi.managedfields.fieldmanager import FieldManager
from extapi.registry.authorwatch import AuthorWatch, OpenWatches
from extapi.registry.base import (
    Admission,
    Creation,
    DeleteRules,
    ListResult,
    Query,
    RequestScope,
    UpdateFunction,
    WatchEncoding,
    WatchQuery,
)
from extapi.registry.delete import check_preconditions
from extapi.registry.fieldmanagers import FieldManagers, keep_managed_fields
from extapi.registry.results import DecodedResult, ObjectResultList
from extapi.registry.reviewed import RequestPath, ReviewedVersions
from extapi.registry.selectable import selectable
from extapi.registry.served import ServedKind
from extapi.registry.store import Store
from extapi.registry.watching import chosen_seconds, event_encoder
from extapi.registry.writing import Write
from extapi.watch.cachedobject import CacheSource
from extapi.watch.encoding import EventEncoder
from extapi.watch.selection import Selection


class Virtual:
    """What all virtual resources can do. ``kind``: of bodies and answers; ``path``: the kind that the URL names."""

    subresource = ""
    _rest: Any
    _version = ""
    """The version of bodies and answers, where it is not the request's."""
    _parent: Store | None = None

    def __init__(self, kind: ServedKind, path: ServedKind) -> None:
        self._kind = kind
        self._path = path
        self.group = path.group
        self.plural = path.kind.plural
        self.kind = kind.kind.name
        self.list_kind = kind.kind.list_kind
        self.namespaced = path.namespaced
        self._selectable = {version: selectable(kind.kind, version) for version in kind.versions}
        self.behaviour = path.kind.behaviour
        self._field_managers = FieldManagers(kind, kind.convert, subresource=self.subresource, resets=False)

    def api_version(self, scope: RequestScope) -> str:
        """See :class:`extapi.registry.base.Resource`."""
        return self._kind.versions[self._version_of(scope)].api_version

    def selectable(self, scope: RequestScope) -> tuple[str, ...]:
        """See :class:`extapi.registry.base.Resource`."""
        return self._selectable[self._version_of(scope)]

    def field_manager(self, scope: RequestScope) -> FieldManager:
        """See :class:`extapi.registry.base.Resource`."""
        return self._field_managers.of(self._version_of(scope))

    def coerce_and_default(self, scope: RequestScope, obj: Obj) -> list[str]:
        """See :class:`extapi.registry.base.Resource`."""
        return self._kind.coerce_and_default(obj, self._version_of(scope))

    def columns(self, scope: RequestScope) -> Columns:
        """See :class:`extapi.registry.base.Resource`."""
        return self._kind.versions[self._version_of(scope)].columns

    def _version_of(self, scope: RequestScope) -> str:
        return self._version or scope.version

    def _request(
        self, scope: RequestScope, name: str, user: User | None, *, dry_run: bool = False, old: Any = None
    ) -> RESTRequest:
        return RESTRequest(user or User(ANONYMOUS), scope.version, scope.namespace, name, dry_run, old)

    async def _updated(self, scope: RequestScope, name: str, write: Write, obj: Obj, old: Obj, admit: Admission) -> Any:
        """What the author's code returns for an update."""
        new, before = write.to_hub(obj, old), write.old_to_hub(old, obj)
        request = self._request(scope, name, admit.user, dry_run=admit.dry_run, old=before)
        return await self._rest.update(request, new)

    def _write(self, scope: RequestScope, name: str, admit: Admission) -> PathWrite:
        whose = RequestScope(self._version_of(scope), scope.namespace)
        return PathWrite(self._kind, whose, admit, RequestPath(self._path, scope.version, name))

    def _obj(self, scope: RequestScope, made: Any) -> Obj:
        """What the author's code returned, in the request's version, pruned and defaulted."""
        if made is None:
            raise InternalError.because(f"what serves {self.plural} gave no {self.kind}")
        version = self._version_of(scope)
        obj = self._kind.converter.from_hub(made, version, whole=True)
        obj.setdefault("metadata", {})
        self._kind.check(obj, f"what serves {self.plural}")
        self._kind.complete(obj, version)
        self._kind.prune_and_default(obj, version)
        return obj

    def _shown(self, scope: RequestScope, obj: Obj) -> DecodedResult:
        return DecodedResult(self._kind, self._version_of(scope), obj, 0)

    def _missing(self, name: str) -> NotFound:
        return NotFound.named(self.plural, self.group, name)

    async def _check_parent(self, scope: RequestScope, name: str) -> None:
        """Check that the object exists whose subresource this is.

        Raises:
            NotFound: It does not.
        """
        if self._parent is not None:
            await self._parent.cache.fresh()
            if self._parent.cache.get(scope.namespace, name) is None:
                raise self._missing(name)

    async def _got(self, scope: RequestScope, name: str, user: User | None) -> Obj:
        await self._check_parent(scope, name)
        found = await self._rest.get(self._request(scope, name, user))
        if found is None:
            raise self._missing(name)
        return self._obj(scope, found)

    async def _create(
        self, scope: RequestScope, name: str, obj: Obj, admit: Admission, *, named: str = ""
    ) -> DecodedResult:
        """Have the author's code create an object; ``named``: see :meth:`Write.mutated`."""
        write = self._write(scope, name, admit)
        self._kind.check_type(obj, self._version_of(scope), name or obj["metadata"].get("name", ""))
        obj = await write.mutated(Operation.CREATE, obj, None, _keeper(obj, admit), named=named)
        await self._check_parent(scope, name)
        await write.checked(Operation.CREATE, obj, None)
        request = self._request(scope, name, admit.user, dry_run=admit.dry_run)
        return self._shown(scope, self._obj(scope, await self._rest.create(request, write.to_hub(obj, None))))


class _Creates(Virtual):
    async def create(self, scope: RequestScope, obj: Obj, *, admit: Admission) -> DecodedResult:
        """See :class:`extapi.registry.base.ResourceCreater`."""
        return await self._create(scope, "", obj, admit)

    async def create_named(self, scope: RequestScope, name: str, obj: Obj, *, admit: Admission) -> DecodedResult:
        """See :class:`extapi.registry.base.NamedResourceCreater`."""
        return await self._create(scope, name, obj, admit)


class _Gets(Virtual):
    async def get(self, scope: RequestScope, name: str, resource_version: str = "") -> DecodedResult:
        """See :class:`extapi.registry.base.ResourceGetter`. The object has only its present state."""
        del resource_version
        return self._shown(scope, await self._got(scope, name, scope.user))


class _Lists(Virtual):
    async def list(self, scope: RequestScope, query: Query) -> ListResult:
        """See :class:`extapi.registry.base.ResourceLister`. One page: what the selectors match, in the author's order."""
        found = await self._rest.list(self._request(scope, "", scope.user))
        objects = [self._obj(scope, one) for one in found]
        if not (query.labels.empty and query.fields.empty):
            objects = [obj for obj in objects if self._matches(scope, query, obj)]
        return ListResult(ObjectResultList([self._shown(scope, obj) for obj in objects]), 0)

    def _matches(self, scope: RequestScope, query: Query, obj: Obj) -> bool:
        metadata: Mapping[str, Any] = obj["metadata"]
        fields = {f"metadata.{name}": metadata.get(name, "") for name in ("name", "namespace")}
        fields |= self._kind.versions[self._version_of(scope)].selectable.values(obj)
        return query.labels.matches(metadata.get("labels") or {}) and query.fields.matches(fields)


class _Updates(Virtual):
    async def update(
        self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission
    ) -> DecodedResult:
        """See :class:`extapi.registry.base.ResourceUpdater`. A resourceVersion is compared if the author's object has one."""
        return await self._update(scope, name, await self._got(scope, name, admit.user), change, admit)

    def complete_applied(self, scope: RequestScope, obj: Obj) -> None:
        """See :class:`extapi.registry.base.Applied`."""
        self._kind.complete_applied(obj, self._version_of(scope))

    async def apply(
        self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission, creation: Creation
    ) -> DecodedResult:
        """See :class:`extapi.registry.base.Applied`. What is missing is created if the author's object can."""
        try:
            old = await self._got(scope, name, admit.user)
        except NotFound:
            if self.subresource or not hasattr(self._rest, "create"):
                raise
            obj = await creation.make()
            obj["metadata"].pop("resourceVersion", None)
            return await self._create(scope, "", obj, creation.admit, named=name)
        return await self._update(scope, name, old, change, admit)

    async def _update(
        self, scope: RequestScope, name: str, old: Obj, change: UpdateFunction, admit: Admission
    ) -> DecodedResult:
        obj = await change(old)
        self._kind.check_type(obj, self._version_of(scope), name)
        write = self._write(scope, name, admit)
        obj = await write.mutated(
            Operation.UPDATE, obj, old, _keeper(obj, admit), named="" if self.subresource else name
        )
        given, live = (one["metadata"].get("resourceVersion", "") for one in (obj, old))
        if given and live and given != live:
            raise Conflict.on(self.plural, self.group, name, Conflict.MODIFIED)
        await write.checked(Operation.UPDATE, obj, old)
        return self._shown(scope, self._obj(scope, await self._updated(scope, name, write, obj, old, admit)))


class _Deletes(Virtual):
    async def delete(
        self, scope: RequestScope, name: str, rules: DeleteRules, *, admit: Admission
    ) -> tuple[DecodedResult, bool]:
        """See :class:`extapi.registry.base.ResourceDeleter`. If the author returns the object, it still exists."""
        if hasattr(self._rest, "get"):
            old = await self._got(scope, name, admit.user)
        else:
            await self._check_parent(scope, name)
            old = self._obj(scope, {"metadata": {"name": name}})
        check_preconditions(self._kind, name, old, rules.preconditions)
        await self._write(scope, name, admit).deletable(name, old)
        left = await self._rest.delete(self._request(scope, name, admit.user, dry_run=admit.dry_run))
        if left is not None:
            return self._shown(scope, self._obj(scope, left)), False
        old["metadata"].setdefault("uid", "")
        return self._shown(scope, old), True


class _Watches(Virtual):
    _clock: Clock
    _random: Random
    _watches: OpenWatches
    _source: CacheSource

    async def watch(self, scope: RequestScope, query: WatchQuery, encoding: WatchEncoding) -> Streaming:
        """See :class:`extapi.registry.base.ResourceWatcher`. It always begins with what there is.

        Raises:
            Invalid: It asks for the end of the initial events, which nobody knows.
        """
        if query.asks_for_initial_end:
            why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            raise Invalid.of("ListOptions", "meta.k8s.io", "", [FieldError.forbidden("sendInitialEvents", why)])
        wanted, version = query.query, self._kind.versions[scope.version]
        encoder = event_encoder(self._kind, self._clock, version, encoding)
        if parse_resource_version(wanted.resource_version):
            return partial(_expired, encoder)
        selection = Selection(scope.namespace, wanted.labels, wanted.fields, version.representation)
        return AuthorWatch(
            self._kind,
            scope.version,
            partial(self._rest.watch, self._request(scope, "", scope.user)),
            made=partial(self._obj, scope),
            encoder=encoder,
            predicate=selection.predicate(self._source),
            source=self._source,
            clock=self._clock,
            seconds=chosen_seconds(self._random) if query.seconds is None else query.seconds,
            watches=self._watches,
        )

    def end_watches(self) -> None:
        """End all watches cleanly, also those that begin later."""
        self._watches.end()


async def _expired(encoder: EventEncoder, sink: Sink) -> None:
    """A watch that cannot resume: the client lists again (behaviour F8)."""
    sink.write(Chunk(encoder.error(Expired("a watch of this resource cannot resume"))))


_VERBS: Mapping[str, type[Virtual]] = {
    "create": _Creates,
    "get": _Gets,
    "list": _Lists,
    "watch": _Watches,
    "update": _Updates,
    "delete": _Deletes,
}


Able = TypeVar("Able", bound=Virtual)


def able(cls: type[Able], rest: Any, verbs: Mapping[str, type[Virtual]]) -> type[Able]:
    """``cls`` with those of ``verbs`` whose methods ``rest`` has."""
    return type(cls.__name__, (cls, *(made for verb, made in verbs.items() if hasattr(rest, verb))), {})


class VirtualResource(Virtual):
    """The main resource of a virtual kind, with the verbs of the author's object.

    ``clock`` and ``random`` are for the durations of watches.
    """

    def __new__(cls, kind: ServedKind, clock: Clock, random: Random) -> Self:
        """An instance with these verbs only."""
        del clock, random
        return super().__new__(able(cls, kind.kind.rest, _VERBS))

    def __init__(self, kind: ServedKind, clock: Clock, random: Random) -> None:
        super().__init__(kind, kind)
        self._rest = kind.kind.rest
        self._clock = clock
        self._random = random
        self._watches = OpenWatches()
        self._source = CacheSource(kind.layout, kind)


class VirtualSubresource(Virtual):
    """A virtual subresource, with the verbs of the author's object, which gets the name in the path.

    ``kind``: of the objects that it belongs to; ``parent``: their store, so that a missing one is 404.
    """

    def __new__(cls, kind: ServedKind, name: str, sub: Subresource, parent: Store | None) -> Self:
        """An instance with these verbs only."""
        del kind, name, parent
        return super().__new__(able(cls, sub.rest, _VERBS))

    def __init__(self, kind: ServedKind, name: str, sub: Subresource, parent: Store | None) -> None:
        self.subresource = name
        super().__init__(subresource_kind(kind, sub), kind)
        self._rest = sub.rest
        self._version = sub.version
        self._parent = parent


def subresource_kind(kind: ServedKind, sub: Subresource) -> ServedKind:
    """The kind of a subresource's bodies and answers: its own, or ``kind`` itself."""
    if not sub.kind or sub.type is None:
        return kind
    versions = {version: Version(sub.type) for version in ([sub.version] if sub.version else kind.versions)}
    own = Kind(
        sub.kind, versions=versions, storage=next(iter(versions)), scope=kind.kind.scope, plural=kind.kind.plural
    )
    return ServedKind(own, sub.group or kind.group)


class PathWrite(Write):
    """A write of what a path names, which is not an object of ``kind`` in the store.

    The rules of metadata are left to the author: a review has no name.
    """

    def __init__(self, kind: ServedKind, scope: RequestScope, admit: Admission, path: RequestPath) -> None:
        super().__init__(kind, scope, admit)
        self._path = path

    def _name(self, obj: Obj) -> str:
        return self._path.name or super()._name(obj)

    def _versions(self) -> ReviewedVersions:
        return ReviewedVersions(self._kind, self._path.kind, self._admit.subresource)

    def _review(self, operation: Operation, name: str, obj: Obj | None, old: Obj | None) -> Review:
        review = super()._review(operation, name, obj, old)
        path = self._path
        review.group, review.resource, review.path_version = path.kind.group, path.kind.kind.plural, path.version
        return review

    def _metadata_errors(self, obj: Obj, old: Obj | None) -> list[FieldError]:
        del obj, old
        return []


def _keeper(obj: Obj, admit: Admission) -> Callable[[Obj], None]:
    """Restores managed fields that plugins have made invalid, and nothing else that they change."""
    return partial(keep_managed_fields, before=obj["metadata"].get("managedFields"), warn=admit.warn)
