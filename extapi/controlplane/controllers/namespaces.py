"""Empties a namespace that is being deleted, in every group, then lets it go.

Source: ``kubernetes/pkg/controller/namespace/deletion``; conditions, reasons and messages are those of
``status_condition_utils.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from extapi import ApiError, Conflict, Context, NotFound
from extapi.api.timestamp import format_timestamp
from extapi.client.base import TransportError
from extapi.client.clock import Clock
from extapi.client.kube import Client, ResourceName
from extapi.controlplane.controllers.resources import Discovered, namespaced_resources

NAMESPACES = ResourceName("", "v1", "namespaces")
FINALIZER = "kubernetes"

WAIT = 2.0
"""Seconds until a namespace is looked at again in which something is left, which others have to let go."""

_BACKGROUND = {"propagationPolicy": "Background"}
_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class NamespaceController:
    """Follows namespaces; each that is marked for deletion is emptied, again and again until nothing is left."""

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        queue = context.queue()

        def changed(event: str, namespace: dict[str, Any]) -> None:
            if event != "DELETED" and "deletionTimestamp" in namespace["metadata"]:
                queue.add(namespace["metadata"]["name"])

        async def empty(name: str) -> float | None:
            return None if await _emptied(context.client, name, context.clock) else WAIT

        namespaces = context.informer(NAMESPACES.group, NAMESPACES.version, NAMESPACES.resource, on_change=changed)
        await namespaces.wait_synced()
        await queue.each(empty)


async def _emptied(client: Client, name: str, clock: Clock) -> bool:
    """Whether the namespace needs no more of us. What stands in the way is written into its conditions."""
    try:
        namespace = await client.get(NAMESPACES, name)
        if "deletionTimestamp" not in namespace["metadata"] or FINALIZER not in namespace["spec"].get("finalizers", ()):
            return True
        problems = await _Content(client, name).remove()
        namespace = await _tell(client, namespace, problems, format_timestamp(clock.seconds()))
        if problems:
            return False
        left = [each for each in namespace["spec"].get("finalizers", ()) if each != FINALIZER]
        namespace["spec"] = {**namespace["spec"], "finalizers": left}
        await client.update(NAMESPACES, name, namespace, subresource="finalize")
    except NotFound:
        return True
    except Conflict:
        return False
    return True


class _Metadata(msgspec.Struct):
    name: str
    finalizers: list[str] | None = None


class _Item(msgspec.Struct):
    metadata: _Metadata


class _List(msgspec.Struct):
    """What is read of a list, which may come from any extension server."""

    items: list[_Item]


class _Content:
    """What is in one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._errors: list[str] = []
        self._remaining: dict[str, int] = {}
        self._finalizers: dict[str, int] = {}

    async def remove(self) -> dict[str, tuple[str, str]]:
        """Delete all of it. What is wrong then: types of conditions with reason and message."""
        try:
            found = await namespaced_resources(self._client)
        except (ApiError, TransportError) as error:
            return {"NamespaceDeletionDiscoveryFailure": ("DiscoveryFailed", str(error))}
        for resource, verbs in found.resources.items():
            try:
                await self._remove(resource, verbs)
            except (ApiError, TransportError) as error:
                self._errors.append(str(error))
        return dict(self._problems(found))

    async def _remove(self, resource: ResourceName, verbs: frozenset[str]) -> None:
        if "deletecollection" in verbs:
            await self._client.delete(resource, namespace=self._namespace, options=_BACKGROUND)
        if "list" not in verbs:
            return
        left = await self._left(resource)
        if left and "deletecollection" not in verbs:
            for each in left:
                await self._delete(resource, each.name)
            left = await self._left(resource)
        if left:
            self._remaining[f"{resource.resource}.{resource.group}"] = len(left)
        for each in left:
            for finalizer in each.finalizers or ():
                self._finalizers[finalizer] = self._finalizers.get(finalizer, 0) + 1

    async def _left(self, resource: ResourceName) -> list[_Metadata]:
        """What is still there. Raises TransportError for an answer that is no list."""
        answer = await self._client.list(resource, namespace=self._namespace)
        try:
            return [each.metadata for each in msgspec.convert(answer, _List).items]
        except msgspec.ValidationError as error:
            raise TransportError(f"{resource.resource}.{resource.group}: the answer is no list: {error}") from error

    async def _delete(self, resource: ResourceName, name: str) -> None:
        try:
            await self._client.delete(resource, name, namespace=self._namespace, options=_BACKGROUND)
        except NotFound:
            return  # somebody else was faster

    def _problems(self, found: Discovered) -> list[tuple[str, tuple[str, str]]]:
        problems = []
        if found.failed:
            each = ", ".join(f"{version}: stale GroupVersion discovery: {version}" for version in found.failed)
            text = (
                f"Discovery failed for some groups, {len(found.failed)} failing: "
                f"unable to retrieve the complete list of server APIs: {each}"
            )
            problems.append(("NamespaceDeletionDiscoveryFailure", ("DiscoveryFailed", text)))
        if self._errors:
            text = (
                f"Failed to delete all resource types, {len(self._errors)} remaining: {', '.join(sorted(self._errors))}"
            )
            problems.append(("NamespaceDeletionContentFailure", ("ContentDeletionFailed", text)))
        if self._remaining:
            text = f"Some resources are remaining: {_counted(self._remaining, 'has {} resource instances')}"
            problems.append(("NamespaceContentRemaining", ("SomeResourcesRemain", text)))
        if self._finalizers:
            each = _counted(self._finalizers, "in {} resource instances")
            text = f"Some content in the namespace has finalizers remaining: {each}"
            problems.append(("NamespaceFinalizersRemaining", ("SomeFinalizersRemain", text)))
        return problems


def _counted(counts: Mapping[str, int], text: str) -> str:
    return ", ".join(sorted(f"{name} {text.format(count)}" for name, count in counts.items()))


async def _tell(
    client: Client, namespace: dict[str, Any], problems: Mapping[str, tuple[str, str]], now: str
) -> dict[str, Any]:
    """The namespace with conditions that say what is wrong, written only where they say something new."""
    before = {each["type"]: each for each in namespace.get("status", {}).get("conditions", ())}
    conditions = dict(before)
    for kind, fine in _FINE.items():
        reason, message = problems.get(kind, fine)
        truth = "True" if kind in problems else "False"
        old = before.get(kind, {})
        since = old["lastTransitionTime"] if old.get("status") == truth else now
        told = {"type": kind, "status": truth, "lastTransitionTime": since, "reason": reason, "message": message}
        if told != old:
            conditions[kind] = told
    if conditions == before:
        return namespace
    status = {**namespace.get("status", {}), "phase": "Terminating", "conditions": list(conditions.values())}
    return await client.update(
        NAMESPACES, namespace["metadata"]["name"], {**namespace, "status": status}, subresource="status"
    )
