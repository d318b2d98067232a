"""Stored kinds as the verbs see them: the main resource, and the subresources that are a field of it, such as status.

Reading stands here; each way of writing has a module of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from extapi.api.types import Obj
from extapi.client.clock import sleep
from extapi.codec import continuation
from extapi.codec.options import parse_resource_version
from extapi.codec.tables import Columns
from extapi.errors import BadRequest, Expired, NotFound, Timeout
from extapi.listener.call import Streaming
from extapi.registry.base import Admission, Change, DeleteRules, Listing, Place, Query, Rendering, WatchForm, WatchQuery
from extapi.registry.create import create
from extapi.registry.delete import delete
from extapi.registry.rendering import CachedRendering, CachedRenderings
from extapi.registry.selectable import selectable
from extapi.registry.update import update
from extapi.registry.watching import watch
from extapi.registry.writing import Store
from extapi.schema.structural import Structural
from extapi.storage.base import Compacted, Future
from extapi.watch.entry import Entry
from extapi.watch.selection import Selection
from extapi.watch.snapshot import EntryPage

TURN = 2000
"""Objects of a list whose forms are made in one turn: some 20 ms where none is there yet."""

INCONSISTENT_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted "
    "between the time the first chunk was returned and now may show up in the list."
)


class StoredObject:
    """What the main resource and its parts have in common: one object is read and changed.

    The protocols in :mod:`extapi.registry.base` say what each method promises, here and below.
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
        self.native = kind.kind.native

    def api_version(self, at: Place) -> str:
        """See :class:`extapi.registry.base.Resource`."""
        return self._store.kind.versions[at.version].api_version

    def selectable(self, at: Place) -> tuple[str, ...]:
        """See :class:`extapi.registry.base.Resource`."""
        return self._selectable[at.version]

    def accept(self, at: Place, obj: Obj) -> list[str]:
        """See :class:`extapi.registry.base.Resource`."""
        return self._store.kind.accept(obj, at.version)

    def structural(self, at: Place) -> Structural:
        """See :class:`extapi.registry.base.Structured`."""
        return self._store.kind.versions[at.version].structural

    def columns(self, at: Place) -> Columns:
        """See :class:`extapi.registry.base.Resource`."""
        return self._store.kind.versions[at.version].columns

    async def get(self, at: Place, name: str, resource_version: str = "") -> Rendering:
        """See :class:`extapi.registry.base.Resource`."""
        cache = self._store.cache
        if not resource_version:
            await cache.fresh()
        elif resource_version != "0":
            await cache.at_least(parse_resource_version(resource_version) or 0)
        entry = cache.get(at.namespace, name)
        if entry is None:
            raise NotFound.named(self.plural, self.group, name)
        return CachedRendering(entry, self._shape(at))

    def _shape(self, at: Place) -> str:
        """What the cache calls the request's version."""
        return self._store.kind.versions[at.version].shape

    async def update(self, at: Place, name: str, change: Change, *, admit: Admission) -> Rendering:
        """See :class:`extapi.registry.base.Updater`."""
        return await update(self._store, at, name, change, admit, part=self._field)


class PartResource(StoredObject):
    """A subresource that is a field of the stored object: an update changes this field and nothing else."""

    def __init__(self, store: Store, name: str, field: str) -> None:
        super().__init__(store)
        self.subresource = name
        self._field = field


class StatusResource(PartResource):
    """The status subresource of a stored kind."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, "status", "status")


class StoredResource(StoredObject):
    """The main resource of a stored kind."""

    async def list(self, at: Place, query: Query) -> Listing:
        """See :class:`extapi.registry.base.Resource`."""
        if query.continue_:
            token = continuation.decode(query.continue_)
            if query.resource_version not in ("", "0"):
                raise BadRequest("specifying resource version is not allowed when using continue")
            return await self._continued(at, query, token)
        cache = self._store.cache
        wanted = parse_resource_version(query.resource_version) or 0
        exact = query.resource_version_match == "Exact" or (
            wanted > 0 and query.limit > 0 and not query.resource_version_match
        )
        if exact:
            return await self._snapshot(at, query, wanted, after=b"")
        if query.resource_version == "":
            await cache.fresh("list")
        elif wanted:
            await cache.at_least(wanted)
        limit = 0 if query.resource_version == "0" else query.limit
        page = cache.page(at.namespace, b"", limit, self._selection(at, query))
        return await self._listing(at, page, cache.revision)

    async def watch(self, at: Place, query: WatchQuery, form: WatchForm) -> Streaming:
        """See :class:`extapi.registry.base.Resource`."""
        return await watch(self._store, at, query, form, self._selection(at, query.query))

    async def create(self, at: Place, obj: Obj, *, admit: Admission) -> Rendering:
        """See :class:`extapi.registry.base.Resource`."""
        return await create(self._store, at, obj, admit)

    async def delete(self, at: Place, name: str, rules: DeleteRules, *, admit: Admission) -> tuple[Rendering, bool]:
        """See :class:`extapi.registry.base.Resource`."""
        return await delete(self._store, at, name, rules, admit)

    def _selection(self, at: Place, query: Query) -> Selection:
        return Selection(at.namespace, query.labels, query.fields, self._shape(at))

    async def _continued(self, at: Place, query: Query, token: continuation.Continuation) -> Listing:
        """The next page of a list; a negative revision in the token means "whatever is there now" (spec E29)."""
        after = self._base(at) + token.start.encode()
        if token.revision < 0:
            await self._store.cache.fresh()
            page = self._store.cache.page(at.namespace, after, query.limit, self._selection(at, query))
            return await self._listing(at, page, self._store.cache.revision)
        try:
            return await self._snapshot(at, query, token.revision, after=after)
        except Expired:
            fresh = continuation.encode(token.start, -1)
            raise Expired(INCONSISTENT_CONTINUE, metadata={"continue": fresh}) from None

    async def _snapshot(self, at: Place, query: Query, revision: int, *, after: bytes) -> Listing:
        """A list as it was at ``revision`` (spec E28)."""
        try:
            page = await self._store.cache.page_at(
                revision, at.namespace, after, query.limit, self._selection(at, query)
            )
        except Compacted:
            raise Expired("The resourceVersion for the provided list is too old.") from None
        except Future as future:
            raise Timeout.too_large_resource_version(revision, future.current) from None
        return await self._listing(at, page, revision)

    def _base(self, at: Place) -> bytes:
        """What the keys in continue tokens are relative to: the listed prefix, so that they lead nowhere else."""
        prefix = self._store.kind.prefix
        return prefix + f"{at.namespace}/".encode() if at.namespace else prefix

    async def _listing(self, at: Place, page: EntryPage, revision: int) -> Listing:
        await self._encode(page.entries, self._shape(at))
        items = CachedRenderings(page.entries, self._shape(at))
        continue_ = ""
        if page.more:
            last = page.entries[-1].key.removeprefix(self._base(at)).decode()
            # A slash in front, as kube-apiserver has it within a namespace.
            continue_ = continuation.encode(("/" if at.namespace else "") + last + "\0", revision)
        return Listing(items, revision, continue_, page.remaining if page.more else None)

    async def _encode(self, entries: Sequence[Entry], shape: str) -> None:
        """Have the forms made that a long list is about to show: others get their turn in between."""
        for at in range(0, len(entries) - TURN, TURN):
            for entry in entries[at : at + TURN]:
                entry.encoded(shape)
            await sleep(self._store.clock, 0)
