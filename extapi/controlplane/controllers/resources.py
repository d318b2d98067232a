"""The resources that are emptied with a namespace: every namespaced one, served here or by an extension server.

Reads discovery documents (behaviour C13, D12) and lists. Must not know what happens to the resources.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from extapi import Context, TransportError
from extapi.client.kube import ResourceName

_ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class NamespacedResource(NamedTuple):
    """A resource in one version; the core group is empty."""

    group: str
    version: str
    plural: str

    def qualified(self) -> str:
        """The name in messages: ``widgets.example.com``."""
        return f"{self.plural}.{self.group}"


class Remaining(msgspec.Struct):
    """What the controller reads of an object that is still there."""

    name: str
    finalizers: list[str] | None = None


class _Item(msgspec.Struct):
    metadata: Remaining


class _List(msgspec.Struct):
    items: list[_Item]


class _DiscoveredResource(msgspec.Struct):
    resource: str
    scope: str
    verbs: frozenset[str] | None = None


class _Version(msgspec.Struct):
    freshness: str = ""
    resources: list[_DiscoveredResource] | None = None


@dataclass(frozen=True)
class Discovered:
    """Resources with their verbs, each in its group's preferred version, and the group versions that did not answer."""

    resources: dict[NamespacedResource, frozenset[str]]
    failed: tuple[str, ...]


async def namespaced_resources(context: Context) -> Discovered:
    """Every namespaced resource that can be deleted.

    A group version counts as failed if its server is away or its discovery document makes no sense: nobody knows what
    it still has in the namespace.

    Raises:
        ApiError: Discovery was refused.
        TransportError: Discovery did not answer.
    """
    resources: dict[NamespacedResource, frozenset[str]] = {}
    failed: list[str] = []
    for path in ("/api", "/apis"):
        document = await context.client.call("GET", path, accept=_ACCEPT)
        for group in document["items"]:
            name = group["metadata"].get("name", "")
            seen: set[str] = set()
            for each in group["versions"]:
                try:
                    version = msgspec.convert(each, _Version)
                except msgspec.ValidationError:
                    version = _Version("Stale")
                if version.freshness == "Stale":
                    failed.append(f"{name}/{each['version']}")
                for found, verbs in _deletable(version):
                    if found not in seen:
                        seen.add(found)
                        resources[NamespacedResource(name, each["version"], found)] = verbs
    return Discovered(resources, tuple(sorted(failed)))


async def remaining(context: Context, resource: NamespacedResource, namespace: str) -> list[Remaining]:
    """The objects of one resource in a namespace.

    The list may come from any extension server. It is read as it was sent, since ``context.list`` takes a list without
    items for an empty one, and the namespace would then go too early.

    Raises:
        ApiError: The list was refused.
        TransportError: No answer came, or one that is not a list.
    """
    answer = await context.client.list(ResourceName(*resource), namespace=namespace)
    try:
        return [each.metadata for each in msgspec.convert(answer, _List).items]
    except msgspec.ValidationError as error:
        raise TransportError(f"{resource.qualified()}: the answer is no list: {error}") from error


def _deletable(version: _Version) -> Iterator[tuple[str, frozenset[str]]]:
    for each in version.resources or ():
        if each.scope == "Namespaced" and each.verbs is not None and "delete" in each.verbs:
            yield each.resource, each.verbs
