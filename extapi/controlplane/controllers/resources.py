"""What can be emptied with a namespace: every namespaced resource that is served here or by an extension server.

Knows discovery documents (spec C13, D12) and nothing of what becomes of the resources.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from extapi.client.kube import Client, ResourceName

_ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class _Resource(msgspec.Struct):
    resource: str
    scope: str
    verbs: frozenset[str] | None = None


class _Version(msgspec.Struct):
    freshness: str = ""
    resources: list[_Resource] | None = None


@dataclass(frozen=True)
class Discovered:
    """Resources with their verbs, each in its group's preferred version; and the group versions that did not answer."""

    resources: dict[ResourceName, frozenset[str]]
    failed: tuple[str, ...]


async def namespaced_resources(client: Client) -> Discovered:
    """Every namespaced resource that can be deleted. Raises what the client raises.

    A group version is listed as failed if its server is away, or says what cannot be understood: nobody knows what it
    still has in the namespace.
    """
    resources: dict[ResourceName, frozenset[str]] = {}
    failed: list[str] = []
    for path in ("/api", "/apis"):
        document = await client.call("GET", path, accept=_ACCEPT)
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
                        resources[ResourceName(name, each["version"], found)] = verbs
    return Discovered(resources, tuple(sorted(failed)))


def _deletable(version: _Version) -> Iterator[tuple[str, frozenset[str]]]:
    for each in version.resources or ():
        if each.scope == "Namespaced" and each.verbs is not None and "delete" in each.verbs:
            yield each.resource, each.verbs
