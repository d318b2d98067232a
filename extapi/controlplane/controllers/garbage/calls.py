"""The API calls of garbage collection: at a bounded rate, and with preconditions, so that none acts on what has changed.

Must not know why a call is made. Source: ``operations.go``, ``patch.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extapi import Conflict, DynamicClient, NotFound, TransportError
from extapi.clock import Clock, sleep
from extapi.controlplane.controllers.garbage.decisions import Policy
from extapi.controlplane.controllers.garbage.objects import Observed, Owner, observed
from extapi.controlplane.controllers.resources import ServedResource

RATE, BURST = 500.0, 1000.0
"""Calls per second in the long run, and at once: a quarter of a processor. kube-controller-manager has 40 and 30."""

TRIES = 5
"""Tries of a patch that conflicts with changes of something else (``retry.DefaultBackoff``)."""


class Pace:
    """Delays calls to a rate, in their order (the generic cell rate algorithm, ITU-T I.371).

    Args:
        clock: The reactor's clock.
        rate: Calls per second in the long run.
        burst: Calls at once.
    """

    def __init__(self, clock: Clock, *, rate: float = RATE, burst: float = BURST) -> None:
        self._clock = clock
        self._interval = 1 / rate
        self._tolerance = (burst - 1) / rate
        self._next = clock.seconds()

    async def turn(self) -> None:
        """Wait until the next call may begin."""
        now = self._clock.seconds()
        expected = max(self._next, now)
        self._next = expected + self._interval
        if expected - now > self._tolerance:
            await sleep(self._clock, expected - now - self._tolerance)


class Calls:
    """Calls about single objects, of which only the metadata is read.

    Each raises :class:`extapi.ApiError` for a refusal, and :class:`extapi.TransportError` if there was no response. An
    object counts as missing only if the server that has its kind says so. A 404 without its name comes from a server that
    does not have the kind, or not now, and is raised.

    Args:
        client: Calls the API.
        clock: The reactor's clock.
    """

    def __init__(self, client: DynamicClient, clock: Clock) -> None:
        self._client = client.metadata_only()
        self._pace = Pace(clock)

    async def get(self, resource: ServedResource, namespace: str, name: str) -> Observed | None:
        """The object; None if there is none of that name."""
        metadata = await self._metadata(resource, namespace, name)
        return None if metadata is None else _decoded(resource, metadata)

    async def delete(self, obj: Observed, policy: Policy) -> bool:
        """Delete the object as it was seen, or as it is now if it has the same owners and finalizers.

        Returns:
            Whether it was still there.

        Raises:
            Conflict: It has changed.
        """
        try:
            return await self._delete(obj, obj.resource_version, policy)
        except Conflict:
            live = await self.get(obj.resource, obj.namespace, obj.name)
            if live is None or live.uid != obj.uid:
                return False
            if live.resource_version == obj.resource_version or not _same(live, obj):
                raise
        # Without the resourceVersion: an object that changes all the time must not escape.
        return await self._delete(obj, "", policy)

    async def keep_owners(self, obj: Observed, owners: Sequence[Owner]) -> Observed | None:
        """Give the object these references in place of those that it was seen with.

        Returns:
            The object as it is then; None if it is gone.

        Raises:
            Conflict: Its references have changed.
        """
        references = [each.to_dict() for each in owners] or None
        seen = obj
        for tries_left in reversed(range(TRIES)):
            try:
                return await self._patch(seen, {"ownerReferences": references})
            except Conflict:
                live = await self.get(obj.resource, obj.namespace, obj.name)
                if live is None or live.uid != obj.uid:
                    return None
                if live.owners != obj.owners or not tries_left:
                    raise
                seen = live
        return None

    async def remove_finalizer(self, obj: Observed, finalizer: str) -> None:
        """Take a finalizer off the object, if it is there and has it.

        Raises:
            Conflict: It changes all the time.
        """
        for tries_left in reversed(range(TRIES)):
            metadata = await self._metadata(obj.resource, obj.namespace, obj.name)
            if metadata is None:
                return
            live = _decoded(obj.resource, metadata)
            finalizers = metadata.get("finalizers") or []
            if live.uid != obj.uid or finalizer not in finalizers:
                return
            try:
                await self._patch(live, {"finalizers": [each for each in finalizers if each != finalizer] or None})
            except Conflict:
                if not tries_left:
                    raise
            else:
                return

    async def _metadata(self, resource: ServedResource, namespace: str, name: str) -> dict[str, Any] | None:
        await self._pace.turn()
        try:
            found = await self._client.get(*resource[:3], name, namespace=namespace)
        except NotFound as error:
            if error.name != name:
                raise
            return None
        metadata = found.get("metadata")
        if not isinstance(metadata, dict):
            raise TransportError(f"{resource.plural} {name}: the answer is no object")
        return metadata

    async def _delete(self, obj: Observed, version: str, policy: Policy) -> bool:
        await self._pace.turn()
        try:
            await self._client.delete(
                *obj.resource[:3],
                obj.name,
                namespace=obj.namespace,
                uid=obj.uid,
                resource_version=version,
                propagation=policy,
            )
        except NotFound as error:
            if error.name != obj.name:
                raise
            return False
        return True

    async def _patch(self, obj: Observed, changes: dict[str, Any]) -> Observed | None:
        """A merge patch, which every kind supports, of the object in exactly this state."""
        await self._pace.turn()
        patch = {"metadata": {"uid": obj.uid, "resourceVersion": obj.resource_version, **changes}}
        try:
            answer = await self._client.patch(*obj.resource[:3], obj.name, patch, namespace=obj.namespace)
        except NotFound as error:
            if error.name != obj.name:
                raise
            return None
        return _decoded(obj.resource, answer.get("metadata"))


def _decoded(resource: ServedResource, metadata: Any) -> Observed:
    found = observed(resource, {"metadata": metadata})
    if found is None:
        raise TransportError(f"{resource.plural}: the answer is no object")
    return found


def _same(live: Observed, seen: Observed) -> bool:
    """Whether nothing has changed that the decision to delete was made of."""
    return (live.owners, live.orphans, live.foreground) == (seen.owners, seen.orphans, seen.foreground)
