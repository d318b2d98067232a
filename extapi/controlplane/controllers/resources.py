"""The resources that are served, here or by an extension server, as controllers discover them.

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


class ServedResource(NamedTuple):
    """A resource in one version, with its kind; the core group is empty."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: frozenset[str]

    @property
    def api_version(self) -> str:
        """As in objects: ``v1`` or ``example.com/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version


class Remaining(msgspec.Struct):
    """What the controller reads of an object that is still there."""

    name: str
    finalizers: list[str] | None = None


class _Item(msgspec.Struct):
    metadata: Remaining


class _List(msgspec.Struct):
    items: list[_Item]


class _ResponseKind(msgspec.Struct):
    kind: str = ""


class _DiscoveredResource(msgspec.Struct, rename="camel"):
    resource: str
    scope: str
    verbs: frozenset[str] | None = None
    response_kind: _ResponseKind | None = None


class _Version(msgspec.Struct):
    freshness: str = ""
    resources: list[_DiscoveredResource] | None = None


@dataclass(frozen=True)
class ServedResources:
    """Every resource in each version that serves it, preferred versions first, and the group versions that did not answer."""

    resources: tuple[ServedResource, ...]
    failed: frozenset[tuple[str, str]]
    """Group and version. Nobody knows what they have now; there may be resources of them, from before."""


@dataclass(frozen=True)
class Discovered:
    """Resources with their verbs, each in its group's preferred version, and the group versions that did not answer."""

    resources: dict[NamespacedResource, frozenset[str]]
    failed: tuple[str, ...]


async def served_resources(context: Context) -> ServedResources:
    """Everything that discovery lists.

    A group version counts as failed if its server is away or its discovery document makes no sense.

    Raises:
        ApiError: Discovery was refused.
        TransportError: Discovery did not answer.
    """
    resources: list[ServedResource] = []
    failed: set[tuple[str, str]] = set()
    for path in ("/api", "/apis"):
        document = await context.client.call("GET", path, accept=_ACCEPT)
        for group in document["items"]:
            name = group["metadata"].get("name", "")
            for each in group["versions"]:
                try:
                    version = msgspec.convert(each, _Version)
                except msgspec.ValidationError:
                    version = _Version("Stale")
                if version.freshness == "Stale":
                    failed.add((name, each["version"]))
                resources += _resources(name, each["version"], version)
    return ServedResources(tuple(resources), frozenset(failed))


async def namespaced_resources(context: Context) -> Discovered:
    """Every namespaced resource that can be deleted.

    Raises:
        ApiError: Discovery was refused.
        TransportError: Discovery did not answer.
    """
    served = await served_resources(context)
    resources: dict[NamespacedResource, frozenset[str]] = {}
    seen: set[tuple[str, str]] = set()
    for each in served.resources:
        if each.namespaced and "delete" in each.verbs and (each.group, each.plural) not in seen:
            seen.add((each.group, each.plural))
            resources[NamespacedResource(each.group, each.version, each.plural)] = each.verbs
    return Discovered(resources, tuple(sorted(f"{group}/{version}" for group, version in served.failed)))


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


def _resources(group: str, name: str, version: _Version) -> Iterator[ServedResource]:
    for each in version.resources or ():
        kind = each.response_kind.kind if each.response_kind is not None else ""
        if each.scope in ("Namespaced", "Cluster") and each.verbs is not None:
            yield ServedResource(group, name, each.resource, kind, each.scope == "Namespaced", each.verbs)
