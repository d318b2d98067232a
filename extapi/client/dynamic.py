"""A client for any kind of one API server, by group, version and resource: what an author's code is given.

Follows client-go's ``dynamic`` client: objects are dicts, refusals the errors that the server raised. Adds what each
caller would have to write: lists are read page by page, watches go on where they broke off. Must not know which server
it is, nor who asks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal

from extapi.client.base import TransportError
from extapi.client.clock import Clock, sleep
from extapi.client.informer import FIRST_DELAY, LAST_DELAY, PAGE, Informer, OnChange
from extapi.client.kube import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Client,
    Obj,
    ResourceName,
    WatchEvent,
    items_of,
)
from extapi.client.watching import one_watch
from extapi.errors import ApiError, Expired, Gone

PatchType = Literal["merge", "json", "strategic", "apply"]
Propagation = Literal["", "Background", "Foreground", "Orphan"]

_Objects = list[Obj]
"""For annotations below a method that is called list."""
_CONTENT_TYPES: Mapping[PatchType, str] = {
    "merge": MERGE_PATCH,
    "json": JSON_PATCH,
    "strategic": STRATEGIC_MERGE_PATCH,
    "apply": APPLY_PATCH,
}


class DynamicClient:
    """Every kind of one API server, by group (empty: the core group), version and resource (the plural name).

    Each method raises the :class:`ApiError` of a refusal, such as NotFound, Conflict or Forbidden, and
    :class:`TransportError` where no answer came. ``namespace`` stays empty for kinds that are in none; for lists it
    then means all namespaces. ``jitter``: random numbers in [0, 1), which spread the delays of many processes.
    """

    def __init__(self, client: Client, clock: Clock, jitter: Callable[[], float]) -> None:
        self.client = client
        self._clock = clock
        self._jitter = jitter
        self._informers: list[Informer] = []

    async def get(
        self, group: str, version: str, resource: str, name: str, *, namespace: str = "", subresource: str = ""
    ) -> Obj:
        """One object, read live."""
        target = _named(ResourceName(group, version, resource), name)
        return await self.client.get(target, name, namespace=namespace, subresource=subresource)

    async def list(
        self,
        group: str,
        version: str,
        resource: str,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
    ) -> _Objects:
        """All objects that the selectors match, read page by page; with ``limit`` the first so many.

        What changes while pages are read is not in the result. A list that takes longer than the server keeps its
        history is read once more in one page, as client-go's pager does.
        """
        query = _selectors(label_selector, field_selector)
        objects, _ = await self._listed(ResourceName(group, version, resource), namespace, query, limit)
        return objects

    async def create(
        self,
        group: str,
        version: str,
        resource: str,
        obj: Obj,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        dry_run: bool = False,
    ) -> Obj:
        """Create ``obj``; the object as it is stored. Without ``namespace`` in that of its metadata.

        ``name`` is for subresources alone: of the object below which ``obj`` is posted, as in pods/NAME/eviction.
        Raises :class:`extapi.errors.AlreadyExists` if the name is taken.
        """
        return await self.client.create(
            ResourceName(group, version, resource),
            obj,
            namespace=namespace or _metadata(obj).get("namespace", ""),
            name=name,
            subresource=subresource,
            query=_dry_run(dry_run),
        )

    async def update(
        self,
        group: str,
        version: str,
        resource: str,
        obj: Obj,
        *,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
    ) -> Obj:
        """Replace the object of that name by ``obj``; name and namespace are those of its metadata.

        Raises :class:`extapi.errors.Conflict` if it has changed since ``obj``, with its resourceVersion, was read.
        """
        metadata = _metadata(obj)
        target = _named(ResourceName(group, version, resource), metadata.get("name", ""))
        return await self.client.update(
            target,
            metadata["name"],
            obj,
            namespace=namespace or metadata.get("namespace", ""),
            subresource=subresource,
            query=_dry_run(dry_run),
        )

    async def patch(
        self,
        group: str,
        version: str,
        resource: str,
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        subresource: str = "",
        patch_type: PatchType = "merge",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Obj:
        """Change the object by ``patch``.

        ``patch_type``: ``merge`` (RFC 7396; None takes a field away), ``json`` (RFC 6902: a list of operations),
        ``strategic`` (for Kubernetes' own kinds) or ``apply`` (server-side apply, which needs ``field_manager``;
        ``force`` takes fields over from other managers). The last is nothing that is served here; a cluster has it.
        """
        query = _dry_run(dry_run)
        if field_manager:
            query["fieldManager"] = field_manager
        if force:
            query["force"] = "true"
        return await self.client.patch(
            _named(ResourceName(group, version, resource), name),
            name,
            patch,
            namespace=namespace,
            subresource=subresource,
            content_type=_CONTENT_TYPES[patch_type],
            query=query,
        )

    async def patch_status(
        self, group: str, version: str, resource: str, name: str, status: Obj, *, namespace: str = ""
    ) -> Obj:
        """Merge ``status`` into the object's status; None takes a field away."""
        return await self.patch(
            group, version, resource, name, {"status": status}, namespace=namespace, subresource="status"
        )

    async def delete(
        self,
        group: str,
        version: str,
        resource: str,
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation = "",
        dry_run: bool = False,
    ) -> Obj:
        """Delete one object. The answer is a Status, or the object where something holds it still.

        ``uid`` and ``resource_version`` are preconditions: an object that has another one stays, and
        :class:`extapi.errors.Conflict` is raised. ``propagation``: what becomes of the objects that it owns.
        """
        return await self.client.delete(
            _named(ResourceName(group, version, resource), name),
            name,
            namespace=namespace,
            options=_delete_options(uid, resource_version, propagation),
            query=_dry_run(dry_run),
        )

    async def delete_collection(
        self,
        group: str,
        version: str,
        resource: str,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        propagation: Propagation = "",
        dry_run: bool = False,
    ) -> None:
        """Delete all objects that the selectors match; without selectors all there are."""
        query = {**_selectors(label_selector, field_selector), **_dry_run(dry_run)}
        await self.client.delete(
            ResourceName(group, version, resource),
            namespace=namespace,
            options=_delete_options("", "", propagation),
            query=query,
        )

    async def watch(
        self,
        group: str,
        version: str,
        resource: str,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
    ) -> AsyncIterator[WatchEvent]:
        """What happens, for ever: ``async for event, obj in context.watch(...)``, with ADDED, MODIFIED and DELETED.

        Begins after ``resource_version``; without one with an ADDED for each object that there is. A watch that ends or
        breaks goes on where it was (client-go's RetryWatcher). Raises :class:`Expired` or :class:`Gone` where the server
        has no history from there on: begin anew, or use an :meth:`informer`, which does. Other refusals that will not
        pass by themselves, such as Forbidden, are raised as well.
        """
        target = ResourceName(group, version, resource)
        query = _selectors(label_selector, field_selector)
        if not resource_version:
            objects, resource_version = await self._listed(target, namespace, query, 0)
            for obj in objects:
                yield WatchEvent("ADDED", obj)
            del objects
        failures = 0
        while True:
            began, seen = self._clock.seconds(), False
            try:
                watch = one_watch(
                    self.client,
                    target,
                    namespace=namespace,
                    query=query,
                    resource_version=resource_version,
                    clock=self._clock,
                    jitter=self._jitter,
                )
                async for event in watch:
                    failures, seen = 0, True
                    resource_version = _metadata(event.object).get("resourceVersion") or resource_version
                    if event.type != "BOOKMARK":
                        yield event
            except (Expired, Gone):
                raise
            except ApiError as error:
                if error.code < 500 and error.code != 429:
                    raise
                failures += 1
            except TransportError:
                failures += 1
            else:
                # A server that ends every watch at once must not be asked in a tight loop.
                failures = 0 if seen or self._clock.seconds() - began >= 1 else failures + 1
            if failures:
                delay = min(FIRST_DELAY * 2 ** min(failures - 1, 10), LAST_DELAY)
                await sleep(self._clock, delay * (1 + self._jitter()))

    def informer(
        self,
        group: str,
        version: str,
        resource: str,
        *,
        namespace: str = "",
        field_selector: str = "",
        label_selector: str = "",
        on_change: OnChange | None = None,
    ) -> Informer:
        """A started, self-refreshing copy of a collection; ``await informer.wait_synced()`` before reading it."""
        informer = Informer(
            self.client,
            ResourceName(group, version, resource),
            clock=self._clock,
            jitter=self._jitter,
            namespace=namespace,
            field_selector=field_selector,
            label_selector=label_selector,
            on_change=on_change,
        )
        self._informers.append(informer)
        informer.start()
        return informer

    def own(self) -> DynamicClient:
        """The same for somebody with informers of their own, which end with :meth:`stop`."""
        return DynamicClient(self.client, self._clock, self._jitter)

    def stop(self) -> None:
        """End all informers."""
        for informer in self._informers:
            informer.stop()
        self._informers.clear()

    async def _listed(
        self, resource: ResourceName, namespace: str, query: Mapping[str, str], limit: int
    ) -> tuple[_Objects, str]:
        """Objects and the resourceVersion of the list."""
        found: _Objects = []
        token = ""
        while True:
            size = min(PAGE, limit - len(found)) if limit else PAGE
            page_query = {**query, "limit": str(size), **({"continue": token} if token else {})}
            try:
                page = await self.client.list(resource, namespace=namespace, query=page_query)
            except Expired:
                if not token:
                    raise
                page = await self.client.list(resource, namespace=namespace, query=query)
                found = []
            found += items_of(page)
            metadata = _metadata(page)
            token = metadata.get("continue", "")
            if not token or (limit and len(found) >= limit):
                return found[:limit] if limit else found, metadata.get("resourceVersion", "")


def _named(resource: ResourceName, name: str) -> ResourceName:
    """``resource``. Raises ValueError without a name: the path would be that of the whole collection."""
    if not name:
        raise ValueError(f"{resource.resource}: a name is required")
    return resource


def _metadata(obj: Obj) -> dict[str, str]:
    return obj.get("metadata") or {}


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    given = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in given.items() if value}


def _dry_run(wanted: bool) -> dict[str, str]:
    return {"dryRun": "All"} if wanted else {}


def _delete_options(uid: str, resource_version: str, propagation: Propagation) -> Obj | None:
    given = {"uid": uid, "resourceVersion": resource_version}
    preconditions = {name: value for name, value in given.items() if value}
    options: Obj = {}
    if preconditions:
        options["preconditions"] = preconditions
    if propagation:
        options["propagationPolicy"] = propagation
    return {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
