"""Deletes the content of a namespace that is being deleted, in every group, then its finalizer.

Source: ``kubernetes/pkg/controller/namespace/deletion``; conditions, reasons and messages are those of
``status_condition_utils.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extapi import ApiError, Conflict, Context, NotFound, TransportError
from extapi.api.timestamp import format_timestamp
from extapi.clock import wall_time
from extapi.controlplane.controllers.resources import (
    Discovered,
    NamespacedResource,
    Remaining,
    namespaced_resources,
    remaining,
)

NAMESPACES = NamespacedResource("", "v1", "namespaces")
FINALIZER = "kubernetes"

WAIT = 2.0
"""Seconds between attempts while something is left that others have to release."""

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
    """Follows namespaces, and empties those that are being deleted until nothing is left."""

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        queue = context.queue()

        def changed(event: str, namespace: dict[str, Any]) -> None:
            if event != "DELETED" and "deletionTimestamp" in namespace["metadata"]:
                queue.add(namespace["metadata"]["name"])

        async def empty(name: str) -> float | None:
            return None if await _emptied(context, name) else WAIT

        namespaces = context.informer(*NAMESPACES, on_change=changed)
        await namespaces.wait_synced()
        await queue.each(empty)


async def _emptied(context: Context, name: str) -> bool:
    """Whether nothing is left to do for the namespace. What prevents its end is written to its conditions."""
    try:
        namespace = await context.get(*NAMESPACES, name)
        if "deletionTimestamp" not in namespace["metadata"] or FINALIZER not in namespace["spec"].get("finalizers", ()):
            return True
        problems = await _Content(context, name).remove()
        namespace = await _write_conditions(context, namespace, problems)
        if problems:
            return False
        left = [each for each in namespace["spec"].get("finalizers", ()) if each != FINALIZER]
        namespace["spec"] = {**namespace["spec"], "finalizers": left}
        await context.update(*NAMESPACES, namespace, subresource="finalize")
    except NotFound:
        return True
    except Conflict:
        return False
    return True


class _Content:
    """The content of one namespace."""

    def __init__(self, context: Context, namespace: str) -> None:
        self._context = context
        self._namespace = namespace
        self._errors: list[str] = []
        self._remaining: dict[str, int] = {}
        self._finalizers: dict[str, int] = {}

    async def remove(self) -> dict[str, tuple[str, str]]:
        """Delete all of it.

        Returns:
            The remaining problems: reason and message by the condition's type.
        """
        try:
            found = await namespaced_resources(self._context)
        except (ApiError, TransportError) as error:
            return {"NamespaceDeletionDiscoveryFailure": ("DiscoveryFailed", str(error))}
        for resource, verbs in found.resources.items():
            try:
                await self._remove(resource, verbs)
            except (ApiError, TransportError) as error:
                self._errors.append(str(error))
        return dict(self._problems(found))

    async def _remove(self, resource: NamespacedResource, verbs: frozenset[str]) -> None:
        if "deletecollection" in verbs:
            await self._context.delete_collection(*resource, namespace=self._namespace, propagation="Background")
        if "list" not in verbs:
            return
        left = await self._left(resource)
        if left and "deletecollection" not in verbs:
            for each in left:
                await self._delete(resource, each.name)
            left = await self._left(resource)
        if left:
            self._remaining[resource.qualified()] = len(left)
        for each in left:
            for finalizer in each.finalizers or ():
                self._finalizers[finalizer] = self._finalizers.get(finalizer, 0) + 1

    async def _left(self, resource: NamespacedResource) -> list[Remaining]:
        return await remaining(self._context, resource, self._namespace)

    async def _delete(self, resource: NamespacedResource, name: str) -> None:
        try:
            await self._context.delete(*resource, name, namespace=self._namespace, propagation="Background")
        except NotFound:
            return  # somebody else deleted it first

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


async def _write_conditions(
    context: Context, namespace: dict[str, Any], problems: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    """Write the problems to the namespace's conditions, if they changed; the namespace as it is then."""
    now = format_timestamp(wall_time(context.clock))
    before = {each["type"]: each for each in namespace.get("status", {}).get("conditions", ())}
    conditions = dict(before)
    for kind, fine in _FINE.items():
        reason, message = problems.get(kind, fine)
        truth = "True" if kind in problems else "False"
        old = before.get(kind, {})
        since = old["lastTransitionTime"] if old.get("status") == truth else now
        condition = {"type": kind, "status": truth, "lastTransitionTime": since, "reason": reason, "message": message}
        if condition != old:
            conditions[kind] = condition
    if conditions == before:
        return namespace
    status = {**namespace.get("status", {}), "phase": "Terminating", "conditions": list(conditions.values())}
    return await context.update(*NAMESPACES, {**namespace, "status": status}, subresource="status")
