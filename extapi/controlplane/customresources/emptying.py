"""Deletes the objects of a definition that is deleted, then the definition's finalizer.

Objects are deleted as clients delete them, but past the aggregator: an APIService may have given the path to another server,
whose objects are not ours. Those of a definition that serves no version can only be deleted in the store.

Source: ``apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go``.
"""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Final

import msgspec

from extapi import ApiError, Context, DynamicClient, NotFound, TransportError
from extapi.api.timestamp import format_timestamp
from extapi.api.types import Obj
from extapi.client.kube import Client
from extapi.clock import Clock, wall_time
from extapi.controlplane.customresources.served import DEFINITIONS
from extapi.controlplane.kinds.apiextensions import CLEANUP
from extapi.crd.conditions import ESTABLISHED, TERMINATING, DefinitionCondition, is_true, set_condition
from extapi.crd.definition import Definition
from extapi.http.response import Handler
from extapi.server.loopback import LoopbackTransport
from extapi.storage.base import Backend, RevisionConflict, Unavailable
from extapi.storage.keys import resource_prefix

PATIENCE: Final = 60.0
"""Seconds to wait until all objects are gone, before it begins again."""
FIRST, LAST = 0.05, 5.0
"""Seconds between two looks at what is left: the first time, doubled each time, and at most."""
PAGE: Final = 500
"""Objects that are read from the store at once."""

IN_PROGRESS = DefinitionCondition(
    TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
)
COMPLETED = DefinitionCondition(TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances")
NEVER = DefinitionCondition(TERMINATING, "False", "NeverEstablished", "resource was never established")
OVERLAPPING = DefinitionCondition(
    TERMINATING, "False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
)


class Emptier:
    """Empties kinds.

    Args:
        direct: Handles requests by what this server serves itself, whatever APIServices say.
        backend: The store.
        clock: The time.
        built_in: Group and resource of the control plane's own kinds, whose objects are no instances of definitions.
    """

    def __init__(
        self,
        direct: Handler,
        backend: Backend,
        clock: Clock,
        built_in: Collection[tuple[str, str]],
    ) -> None:
        self._backend = backend
        self._built_in = built_in
        self._client = DynamicClient(Client(LoopbackTransport(direct, clock, "")), clock, Random().random)  # noqa: S311 - spreads retries

    async def finalize(self, context: Context, name: str) -> None:
        """Delete the objects of a definition, and let it go.

        Raises:
            ApiError: Some could not be deleted, or are there still after :data:`PATIENCE`; its condition says which. Or the
                definition has changed meanwhile.
            TransportError: The same.
        """
        try:
            obj = await context.get(*DEFINITIONS, name)
            metadata = obj["metadata"]
            if "deletionTimestamp" not in metadata or CLEANUP not in metadata.get("finalizers", ()):
                return
            obj = await self._tell(context, obj, IN_PROGRESS)
            definition = Definition(obj)
            if (definition.group, definition.plural) in self._built_in:
                done = OVERLAPPING
            elif is_true(obj, ESTABLISHED):
                await self._empty(context, definition)
                done = COMPLETED
            else:
                done = NEVER
            obj["metadata"]["finalizers"] = [each for each in obj["metadata"]["finalizers"] if each != CLEANUP]
            await self._tell(context, obj, done)
        except NotFound:
            return

    async def _tell(self, context: Context, obj: Obj, condition: DefinitionCondition) -> Obj:
        set_condition(obj, condition, format_timestamp(wall_time(context.clock)))
        return await context.update(*DEFINITIONS, obj, subresource="status")

    async def _empty(self, context: Context, definition: Definition) -> None:
        """Delete all objects; if that fails, say why in a condition.

        Raises:
            ApiError: It failed.
            TransportError: It failed.
        """
        try:
            instances = self._instances(context, definition)
            await self._delete(instances)
        except (ApiError, TransportError, Unavailable) as error:
            await self._failed(
                context, definition.obj, "InstanceDeletionFailed", f"could not issue all deletes: {error}"
            )
            raise
        try:
            await self._wait(context, instances)
        except (ApiError, TransportError, Unavailable) as error:
            why = f"could not confirm zero CustomResources remaining: {error}"
            await self._failed(context, definition.obj, "InstanceDeletionCheck", why)
            raise

    async def _failed(self, context: Context, obj: Obj, reason: str, message: str) -> None:
        await self._tell(context, obj, DefinitionCondition(TERMINATING, "True", reason, message))

    def _instances(self, context: Context, definition: Definition) -> _Served | _Stored:
        served = definition.served_versions
        if not served:
            return _Stored(self._backend, definition, context)
        version = definition.storage_version if definition.storage_version in served else served[0]
        return _Served(self._client.metadata_only(), (definition.group, version, definition.plural))

    async def _delete(self, instances: _Served | _Stored) -> None:
        for namespace in await instances.namespaces():
            await instances.delete(namespace)

    async def _wait(self, context: Context, instances: _Served | _Stored) -> None:
        """Wait until nothing is left.

        Raises:
            TransportError: Something is left after :data:`PATIENCE`.
        """
        deadline, delay = context.clock.seconds() + PATIENCE, FIRST
        while await instances.any():
            if context.clock.seconds() + delay > deadline:
                raise TransportError("context deadline exceeded")
            await context.sleep(delay)
            delay = min(delay * 2, LAST)


class _Served:
    """The objects of a kind that serves a version."""

    def __init__(self, client: DynamicClient, resource: tuple[str, str, str]) -> None:
        self._client = client
        self._resource = resource

    async def namespaces(self) -> list[str]:
        """Where there are objects."""
        found = await self._client.list(*self._resource)
        return list(dict.fromkeys(each["metadata"].get("namespace", "") for each in found))

    async def delete(self, namespace: str) -> None:
        """Delete the objects of a namespace."""
        await self._client.delete_collection(*self._resource, namespace=namespace)

    async def any(self) -> bool:
        """Whether there are objects."""
        return bool(await self._client.list(*self._resource, limit=1))


class _Metadata(msgspec.Struct, rename="camel"):
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata


class _Stored:
    """The objects of a kind that serves no version: nobody sees them, so nobody can remove their finalizers either."""

    def __init__(self, backend: Backend, definition: Definition, context: Context) -> None:
        self._backend = backend
        self._prefix = resource_prefix(definition.group, definition.plural)
        self._context = context

    async def namespaces(self) -> list[str]:
        """All at once."""
        return [""]

    async def delete(self, namespace: str) -> None:
        """Delete what no finalizer keeps, and mark the others as deleted."""
        del namespace
        after = b""
        while True:
            page = await self._backend.page(self._prefix, at=None, after=after, limit=PAGE)
            for entry in page.entries:
                metadata = msgspec.json.decode(entry.value, type=_Object).metadata
                value: bytes | None = None
                if metadata.finalizers:
                    if metadata.deletion_timestamp:
                        continue
                    value = self._marked(entry.value)
                try:
                    await self._backend.commit(entry.key, value, expected=entry.revision)
                except RevisionConflict:
                    continue  # it is there still, and found by any()
            if not page.more:
                return
            after = page.entries[-1].key

    def _marked(self, value: bytes) -> bytes:
        obj = msgspec.json.decode(value)
        obj["metadata"]["deletionTimestamp"] = format_timestamp(wall_time(self._context.clock))
        obj["metadata"]["deletionGracePeriodSeconds"] = 0
        return msgspec.json.encode(obj)

    async def any(self) -> bool:
        """Whether there are objects."""
        return bool((await self._backend.page(self._prefix, at=None, after=b"", limit=1)).entries)
