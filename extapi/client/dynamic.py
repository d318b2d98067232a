"""A client for all kinds of an API server, by group, version and resource: what authors' code gets.

Follows client-go's ``dynamic`` client: objects are dicts, refusals the errors that the server raised. Adds what every
caller would have to write: lists are read page by page, and watches resume where they broke off. Knows neither which
server it calls nor as whom.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal

from extapi.client.backoff import Backoff
from extapi.client.informer import Informer, OnChange, Transform
from extapi.client.kube import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Client,
    Obj,
    ReceivedEvent,
    ResourceName,
)
from extapi.client.paging import Pages
from extapi.client.parameters import Propagation, delete_options, dry_run_query, selectors
from extapi.client.transport import TransportError
from extapi.client.watching import one_watch
from extapi.clock import Clock, sleep
from extapi.errors import ApiError, Expired, Gone

PatchType = Literal["merge", "json", "strategic", "apply"]

_Objects = list[Obj]
"""For annotations below the method named list."""
_CONTENT_TYPES: Mapping[PatchType, str] = {
    "merge": MERGE_PATCH,
    "json": JSON_PATCH,
    "strategic": STRATEGIC_MERGE_PATCH,
    "apply": APPLY_PATCH,
}


class DynamicClient:
    """A client for all kinds of an API server, by group (empty for the core group), version and resource (the plural name).

    Each method raises the :class:`ApiError` of a refusal, such as NotFound, Conflict or Forbidden,
    :class:`TransportError` if there was no response, and ValueError if a name that it needs is empty. ``namespace`` is
    empty for cluster-scoped kinds; for lists of namespaced kinds, empty means all namespaces.

    Args:
        client: Sends the requests.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1), which spread the delays of many processes.
    """

    def __init__(self, client: Client, clock: Clock, jitter: Callable[[], float]) -> None:
        self.client = client
        self._clock = clock
        self._jitter = jitter
        self._informers: list[Informer] = []

    async def get(
        self, group: str, version: str, resource: str, name: str, *, namespace: str = "", subresource: str = ""
    ) -> Obj:
        """Get an object, from the server, not from a copy.

        Raises:
            NotFound: There is no such object.
            ValueError: ``name`` is empty.
        """
        collection = _named(ResourceName(group, version, resource), name)
        return await self.client.get(collection, name, namespace=namespace, subresource=subresource)

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
        """List the objects that the selectors match, page by page; with ``limit``, only the first ones.

        All pages show the same state. If reading takes longer than the server keeps its history, the list is read again
        in a single page, as client-go's pager does.
        """
        query = selectors(label_selector, field_selector)
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
        """Create ``obj`` and return it as it is stored. ``namespace`` defaults to the one in its metadata.

        ``name`` is only for subresources: the object whose subresource ``obj`` is posted to, as in pods/NAME/eviction.

        Raises:
            AlreadyExists: The name is taken.
        """
        return await self.client.create(
            ResourceName(group, version, resource),
            obj,
            namespace=namespace or _metadata(obj).get("namespace", ""),
            name=name,
            subresource=subresource,
            query=dry_run_query(dry_run),
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
        """Replace the object that has the name and namespace in the metadata of ``obj``.

        Raises:
            Conflict: The object has changed since ``obj``, with its resourceVersion, was read.
            ValueError: ``obj`` has no name.
        """
        metadata = _metadata(obj)
        collection = _named(ResourceName(group, version, resource), metadata.get("name", ""))
        return await self.client.update(
            collection,
            metadata["name"],
            obj,
            namespace=namespace or metadata.get("namespace", ""),
            subresource=subresource,
            query=dry_run_query(dry_run),
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
        """Change an object by ``patch``.

        ``patch_type`` is ``merge`` (RFC 7396; None removes a field), ``json`` (RFC 6902, a list of operations),
        ``strategic`` (for Kubernetes' own kinds), or ``apply`` (server-side apply, which needs ``field_manager``;
        ``force`` takes fields over from other managers).

        Raises:
            ValueError: ``name`` is empty.
        """
        query = dry_run_query(dry_run)
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
        """Merge ``status`` into the object's status; None removes a field."""
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
        """Delete an object, and return a Status, or the object if something still blocks its deletion.

        ``uid`` and ``resource_version`` are preconditions: an object with another one is not deleted. ``propagation``
        says what happens to the objects that it owns.

        Raises:
            Conflict: A precondition does not hold.
            ValueError: ``name`` is empty.
        """
        return await self.client.delete(
            _named(ResourceName(group, version, resource), name),
            name,
            namespace=namespace,
            options=delete_options(uid, resource_version, propagation),
            query=dry_run_query(dry_run),
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
        """Delete all objects that the selectors match; without selectors, all objects."""
        query = {**selectors(label_selector, field_selector), **dry_run_query(dry_run)}
        await self.client.delete(
            ResourceName(group, version, resource),
            namespace=namespace,
            options=delete_options("", "", propagation),
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
    ) -> AsyncIterator[ReceivedEvent]:
        """Watch for ever: ``async for event, obj in context.watch(...)``, with events ADDED, MODIFIED and DELETED.

        Begins after ``resource_version``; without one, with an ADDED for each existing object. A watch that ends or
        breaks resumes where it was, like client-go's RetryWatcher.

        Raises:
            Expired: The server has no history from there on. Begin again, or use an :meth:`informer`, which does so itself.
            Gone: The same, with the older reason.
            ApiError: Another refusal that does not pass by itself, such as Forbidden.
        """
        collection = ResourceName(group, version, resource)
        query = selectors(label_selector, field_selector)
        if not resource_version:
            objects, resource_version = await self._listed(collection, namespace, query, 0)
            for obj in objects:
                yield ReceivedEvent("ADDED", obj)
            del objects
        backoff = Backoff(self._clock, self._jitter)
        while True:
            began = self._clock.seconds()
            asked = 0
            try:
                watch = one_watch(
                    self.client,
                    collection,
                    namespace=namespace,
                    query=query,
                    resource_version=resource_version,
                    clock=self._clock,
                    jitter=self._jitter,
                )
                async for event in watch:
                    resource_version = _metadata(event.object).get("resourceVersion") or resource_version
                    if event.type != "BOOKMARK":
                        yield event
                continue
            except (Expired, Gone):
                raise
            except ApiError as error:
                if error.code < 500 and error.code != 429:
                    raise
                asked = error.retry_after
            except TransportError:
                pass
            await sleep(self._clock, backoff.wait(took=self._clock.seconds() - began, asked=asked))

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
        transform: Transform | None = None,
    ) -> Informer:
        """Start a copy of a collection that keeps itself up to date; ``await informer.wait_synced()`` before reading it.

        ``transform`` reduces each object that arrives, to save memory. What it returns is kept and reported, and needs the
        name, namespace, uid and resourceVersion.
        """
        informer = Informer(
            self.client,
            ResourceName(group, version, resource),
            clock=self._clock,
            jitter=self._jitter,
            namespace=namespace,
            field_selector=field_selector,
            label_selector=label_selector,
            on_change=on_change,
            transform=transform,
        )
        self._informers.append(informer)
        informer.start()
        return informer

    def own(self) -> DynamicClient:
        """The same client with its own informers, which end with its :meth:`stop`."""
        return DynamicClient(self.client, self._clock, self._jitter)

    def metadata_only(self) -> DynamicClient:
        """The same client for metadata only: what it reads, lists, watches and patches is PartialObjectMetadata.

        For whoever follows many objects and needs no more of them (client-go's ``metadata`` client).
        """
        client = DynamicClient(self.client.metadata_only(), self._clock, self._jitter)
        client._informers = self._informers  # they end with these
        return client

    def stop(self) -> None:
        """Stop all informers."""
        for informer in self._informers:
            informer.stop()
        self._informers.clear()

    async def _listed(
        self, resource: ResourceName, namespace: str, query: Mapping[str, str], limit: int
    ) -> tuple[_Objects, str]:
        """Objects and the resourceVersion of the list."""
        return await Pages(self.client, resource, namespace, query).read(limit)


def _named(resource: ResourceName, name: str) -> ResourceName:
    """Return ``resource``, after checking the name; without it, the path would be that of the whole collection.

    Raises:
        ValueError: ``name`` is empty.
    """
    if not name:
        raise ValueError(f"{resource.resource}: a name is required")
    return resource


def _metadata(obj: Obj) -> dict[str, str]:
    return obj.get("metadata") or {}
