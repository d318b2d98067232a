"""The resources of a stored kind: the main one, and the subresources that are a field of it, such as status.

Reading is here; each way of writing has its own module.
"""

from __future__ import annotations

from collections.abc import Sequence

from extapi.api.types import Obj
from extapi.clock import sleep
from extapi.codec import continuation
from extapi.codec.options import parse_resource_version
from extapi.codec.tables import Columns
from extapi.errors import BadRequest, Expired, NotFound, Timeout
from extapi.http.response import Streaming
from extapi.managedfields.fieldmanager import FieldManager
from extapi.registry.base import (
    Admission,
    Creation,
    DeleteRules,
    ListResult,
    ObjectResult,
    Query,
    RequestScope,
    UpdateFunction,
    WatchEncoding,
    WatchQuery,
)
from extapi.registry.create import create
from extapi.registry.delete import delete
from extapi.registry.fieldmanagers import FieldManagers
from extapi.registry.results import CachedResult, CachedResults, unserialized
from extapi.registry.selectable import selectable
from extapi.registry.store import Store
from extapi.registry.update import update
from extapi.registry.watching import watch
from extapi.schema.structural import Structural
from extapi.storage.base import Compacted, Future
from extapi.watch.cachedobject import CachedObject
from extapi.watch.selection import Selection
from extapi.watch.snapshot import ObjectPage

TURN = 2000
"""Objects of a list that are serialized in one turn of the event loop: some 20 ms if none of them was before."""

INCONSISTENT_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted "
    "between the time the first chunk was returned and now may show up in the list."
)


class StoredObject:
    """Reads and updates one object, for the main resource and its subresources alike.

    The methods are those of the protocols in :mod:`extapi.registry.base`, here and below.
    """

    subresource = ""
    _field = ""

    def __init__(self, store: Store) -> None:
        self._store = store
        kind = store.kind
        self.group = kind.group
        self.plural = kind.kind.plural
        self.kind = kind.kind.name
        self.list_kind = kind.kind.list_kind
        self.namespaced = kind.namespaced
        self._selectable = {version: selectable(kind.kind, version) for version in kind.versions}
        self.behaviour = kind.kind.behaviour
        self._waits = kind.waits
        self._field_managers = FieldManagers(kind, store.converted)

    def api_version(self, scope: RequestScope) -> str:
        """See :class:`extapi.registry.base.Resource`."""
        return self._store.kind.versions[scope.version].api_version

    def selectable(self, scope: RequestScope) -> tuple[str, ...]:
        """See :class:`extapi.registry.base.Resource`."""
        return self._selectable[scope.version]

    def coerce_and_default(self, scope: RequestScope, obj: Obj) -> list[str]:
        """See :class:`extapi.registry.base.Resource`."""
        return self._store.kind.coerce_and_default(obj, scope.version)

    def structural(self, scope: RequestScope) -> Structural:
        """See :class:`extapi.registry.base.Structured`."""
        return self._store.kind.versions[scope.version].structural

    def columns(self, scope: RequestScope) -> Columns:
        """See :class:`extapi.registry.base.Resource`."""
        return self._store.kind.versions[scope.version].columns

    async def get(self, scope: RequestScope, name: str, resource_version: str = "") -> ObjectResult:
        """See :class:`extapi.registry.base.Resource`."""
        cache = self._store.cache
        if not resource_version:
            await cache.fresh()
        elif resource_version != "0":
            await cache.at_least(parse_resource_version(resource_version) or 0)
        cached = cache.get(scope.namespace, name)
        if cached is None:
            raise NotFound.named(self.plural, self.group, name)
        if self._waits and cached.find(self._representation(scope)) is None:
            await cache.prepare((cached,), self._representation(scope))
        return CachedResult(cached, self._representation(scope))

    def _representation(self, scope: RequestScope) -> str:
        """The name of the version's representation in the cache."""
        return self._store.kind.versions[scope.version].representation

    async def update(self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission) -> ObjectResult:
        """See :class:`extapi.registry.base.ResourceUpdater`."""
        return await update(self._store, scope, name, change, admit, part=self._field)

    def field_manager(self, scope: RequestScope) -> FieldManager:
        """See :class:`extapi.registry.base.Resource`."""
        return self._field_managers.of(scope.version)

    def complete_applied(self, scope: RequestScope, obj: Obj) -> None:
        """See :class:`extapi.registry.base.Applied`."""
        self._store.kind.complete_applied(obj, scope.version)

    async def apply(
        self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission, creation: Creation
    ) -> ObjectResult:
        """See :class:`extapi.registry.base.Applied`."""
        del creation
        return await self.update(scope, name, change, admit=admit)


class PartResource(StoredObject):
    """A subresource that is a field of the stored object: an update changes only this field."""

    def __init__(self, store: Store, name: str, field: str) -> None:
        super().__init__(store)
        self.subresource = name
        self._field = field
        self._field_managers = FieldManagers(store.kind, store.converted, field, name)


class StatusResource(PartResource):
    """The status subresource of a stored kind."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, "status", "status")


class StoredResource(StoredObject):
    """The main resource of a stored kind."""

    async def list(self, scope: RequestScope, query: Query) -> ListResult:
        """See :class:`extapi.registry.base.Resource`."""
        if query.continue_:
            token = continuation.decode(query.continue_)
            if query.resource_version not in ("", "0"):
                raise BadRequest("specifying resource version is not allowed when using continue")
            return await self._continued(scope, query, token)
        cache = self._store.cache
        wanted = parse_resource_version(query.resource_version) or 0
        exact = query.resource_version_match == "Exact" or (
            wanted > 0 and query.limit > 0 and not query.resource_version_match
        )
        if exact:
            return await self._snapshot(scope, query, wanted, after=b"")
        if query.resource_version == "":
            await cache.fresh("list")
        elif wanted:
            await cache.at_least(wanted)
        limit = 0 if query.resource_version == "0" else query.limit
        revision, selection = cache.revision, self._selection(scope, query)
        page = (
            await cache.prepared_page(scope.namespace, b"", limit, selection)
            if self._waits
            else cache.page(scope.namespace, b"", limit, selection)
        )
        return await self._listing(scope, page, revision)

    async def watch(self, scope: RequestScope, query: WatchQuery, encoding: WatchEncoding) -> Streaming:
        """See :class:`extapi.registry.base.Resource`."""
        return await watch(self._store, scope, query, encoding, self._selection(scope, query.query))

    async def create(self, scope: RequestScope, obj: Obj, *, admit: Admission) -> ObjectResult:
        """See :class:`extapi.registry.base.Resource`."""
        return await create(self._store, scope, obj, admit)

    async def apply(
        self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission, creation: Creation
    ) -> ObjectResult:
        """See :class:`extapi.registry.base.Applied`."""
        return await update(self._store, scope, name, change, admit, creation=creation)

    async def delete(
        self, scope: RequestScope, name: str, rules: DeleteRules, *, admit: Admission
    ) -> tuple[ObjectResult, bool]:
        """See :class:`extapi.registry.base.Resource`."""
        return await delete(self._store, scope, name, rules, admit)

    def _selection(self, scope: RequestScope, query: Query) -> Selection:
        return Selection(scope.namespace, query.labels, query.fields, self._representation(scope))

    async def _continued(self, scope: RequestScope, query: Query, token: continuation.Continuation) -> ListResult:
        """The next page of a list. A negative revision in the token stands for the present (behaviour E29)."""
        after = self._base(scope) + token.start.encode()
        if token.revision < 0:
            revision = await self._store.cache.fresh()
            page = await self._store.cache.prepared_page(
                scope.namespace, after, query.limit, self._selection(scope, query)
            )
            return await self._listing(scope, page, revision)
        try:
            return await self._snapshot(scope, query, token.revision, after=after)
        except Expired:
            fresh = continuation.encode(token.start, -1)
            raise Expired(INCONSISTENT_CONTINUE, metadata={"continue": fresh}) from None

    async def _snapshot(self, scope: RequestScope, query: Query, revision: int, *, after: bytes) -> ListResult:
        """A list as it was at ``revision`` (behaviour E28)."""
        try:
            page = await self._store.cache.page_at(
                revision, scope.namespace, after, query.limit, self._selection(scope, query)
            )
        except Compacted:
            raise Expired("The resourceVersion for the provided list is too old.") from None
        except Future as future:
            raise Timeout.too_large_resource_version(revision, future.current) from None
        return await self._listing(scope, page, revision)

    def _base(self, scope: RequestScope) -> bytes:
        """The listed prefix. Keys in continue tokens are relative to it, so that they lead nowhere else."""
        return self._store.kind.layout.namespace_prefix(scope.namespace)

    async def _listing(self, scope: RequestScope, page: ObjectPage, revision: int) -> ListResult:
        if self._waits:
            await self._store.cache.prepare(page.objects, self._representation(scope))
        await self._serialize(page.objects, self._representation(scope))
        items = CachedResults(page.objects, self._representation(scope))
        continue_ = ""
        if page.more:
            last = page.objects[-1].key.removeprefix(self._base(scope)).decode()
            # With a slash in front within a namespace, as in kube-apiserver.
            continue_ = continuation.encode(("/" if scope.namespace else "") + last + "\0", revision)
        return ListResult(items, revision, continue_, page.remaining if page.more else None)

    async def _serialize(self, objects: Sequence[CachedObject], representation: str) -> None:
        """Serialize the objects of a long list in advance, and let other requests have their turn in between."""
        if len(objects) <= TURN:
            return
        lacking = unserialized(objects, representation)
        for start in range(0, len(lacking) - TURN, TURN):
            for cached in lacking[start : start + TURN]:
                cached.serialized(representation)
            await sleep(self._store.clock, 0)
