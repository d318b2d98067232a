"""Follows every kind that can be collected, as discovery lists them: an informer per resource, of metadata only.

Resources come and go with their servers. A server that is away keeps its resources, as they were: nobody knows what has
become of them. Must not know what is done with objects. Source: ``garbagecollector.go`` Sync, GetDeletableResources.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from extapi import Context
from extapi.controlplane.controllers.garbage.objects import Observed, reduced
from extapi.controlplane.controllers.resources import ServedResource, ServedResources, served_resources

VERBS = frozenset({"delete", "list", "watch"})
"""What a resource must support to be followed."""
IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})
"""Group and plural of what is not followed: there are many, and they expire (``DefaultIgnoredResources``)."""

Seen = Callable[[Observed], None]
Gone = Callable[[Observed], None]


class Monitor:
    """Follows one resource until it is stopped.

    Args:
        context: Starts the informer.
        resource: What to follow.
        seen: Called with each object that was added or changed.
        gone: Called with each object that was deleted, or is not followed any more.
    """

    def __init__(self, context: Context, resource: ServedResource, seen: Seen, gone: Gone) -> None:
        self.resource = resource
        self._seen = seen
        self._gone = gone
        self._client = context.own().metadata_only()
        self._informer = self._client.informer(
            *resource[:3], on_change=self._changed, transform=partial(reduced, resource)
        )

    @property
    def synced(self) -> bool:
        """Whether all objects are known."""
        return self._informer.synced

    def stop(self) -> None:
        """Stop following; nothing is reported any more."""
        self._client.stop()

    def leave(self) -> None:
        """Stop following, and report every object as gone."""
        self.stop()
        for obj in self._informer.items():
            self._changed("DELETED", obj)

    def _changed(self, event: str, obj: dict[str, Any]) -> None:
        found: Observed | None = obj["observed"]
        if found is None:
            return  # not an object: nobody owns it, and it owns nothing
        if event == "DELETED":
            self._gone(found)
        else:
            self._seen(found)


class Monitors:
    """The monitors of all resources, brought up to date by :meth:`resync`.

    Args:
        context: Discovers resources and starts informers.
        seen: See :class:`Monitor`.
        gone: See :class:`Monitor`.
    """

    def __init__(self, context: Context, seen: Seen, gone: Gone) -> None:
        self._context = context
        self._seen = seen
        self._gone = gone
        self._monitors: dict[tuple[str, str], Monitor] = {}
        self._kinds: dict[tuple[str, str], ServedResource] = {}
        self._failed: frozenset[tuple[str, str]] = frozenset()

    @property
    def complete(self) -> bool:
        """Whether every group version answered at the last :meth:`resync`."""
        return not self._failed

    @property
    def synced(self) -> bool:
        """Whether all objects are known, except those of servers that are away."""
        return all(
            each.synced or (each.resource.group, each.resource.version) in self._failed
            for each in self._monitors.values()
        )

    @property
    def followed(self) -> list[ServedResource]:
        """What is followed now."""
        return [each.resource for each in self._monitors.values()]

    def resource(self, api_version: str, kind: str) -> ServedResource | None:
        """The resource of a kind, in the version that ``api_version`` names; None if nobody serves it."""
        return self._kinds.get((api_version, kind))

    async def resync(self) -> bool:
        """Follow what discovery lists now, and nothing else.

        Returns:
            Whether kinds were added.

        Raises:
            ApiError: Discovery was refused. Nothing changes.
            TransportError: Discovery did not answer. Nothing changes.
        """
        served = await served_resources(self._context)
        self._failed = served.failed
        new = self._remap(served)
        wanted = self._wanted(served)
        for key, monitor in list(self._monitors.items()):
            if wanted.get(key) != monitor.resource:
                del self._monitors[key]
                monitor.leave()
        for key, resource in wanted.items():
            if key not in self._monitors:
                self._monitors[key] = Monitor(self._context, resource, self._seen, self._gone)
        return new

    def stop(self) -> None:
        """Stop following anything."""
        for each in self._monitors.values():
            each.stop()
        self._monitors.clear()

    def _remap(self, served: ServedResources) -> bool:
        """Remember which resource has which kind; of servers that are away, what they had before."""
        before = self._kinds
        self._kinds = {key: each for key, each in before.items() if (each.group, each.version) in served.failed} | {
            (each.api_version, each.kind): each for each in reversed(served.resources) if each.kind
        }
        return bool(self._kinds.keys() - before.keys())

    def _wanted(self, served: ServedResources) -> dict[tuple[str, str], ServedResource]:
        """What to follow, by group and plural: each resource in one version, and that as long as it is served."""
        followable = [
            each
            for each in served.resources
            if each.verbs >= VERBS and each.kind and (each.group, each.plural) not in IGNORED
        ]
        wanted: dict[tuple[str, str], ServedResource] = {}
        for each in followable:
            if (each.group, each.version) not in served.failed:
                wanted.setdefault((each.group, each.plural), each)
        listed = {each[:5] for each in followable}
        for key, monitor in self._monitors.items():
            now = monitor.resource
            if now[:5] in listed or (now.group, now.version) in served.failed:
                wanted[key] = now
        return wanted
