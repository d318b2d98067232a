"""Merged discovery: ``/apis``, ``/apis/G`` and ``/`` of this server and the others (behaviour D11-D13, C3, C7-C17).

In the order of the APIServices. Other servers are asked for aggregated discovery; if they do not support it, for each
version.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from extapi import ApiError, TransportError, User
from extapi.api.versions import version_priority
from extapi.client.upstream import Upstream
from extapi.controlplane.aggregator.proxy import BackendProxy
from extapi.controlplane.aggregator.remote import PROBER, Remote
from extapi.controlplane.aggregator.services import GROUP, APIServiceInfo, by_group
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.server.documents import Document, aggregated_response, discovery_format, plain_response

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
ACCEPT = ",".join(AGGREGATED.format(version) for version in ("v2", "v2beta1"))

FIRST = 20000
"""The priority of the group of APIServices, which comes before all others."""
UNKNOWN = 1000
"""The priority of groups without an APIService."""

LocalDocument = Callable[[str, str], Awaitable[bytes]]


class MergedDiscovery:
    """Discovery documents, merged when they are requested.

    Args:
        local: Returns a document of the control plane's own router, by path and Accept header.
        services: Returns all APIServices.
        remotes: The other servers, by the names of their APIServices.
    """

    def __init__(
        self, local: LocalDocument, services: Callable[[], Iterable[APIServiceInfo]], remotes: Mapping[str, Remote]
    ) -> None:
        self._local = local
        self._services = services
        self._remotes = remotes
        self._own_groups: dict[str, dict[str, Any]] | None = None
        self._made: dict[str, Document] = {}

    def forget(self) -> None:
        """Something has changed: merge again."""
        self._made.clear()

    def forget_own(self) -> None:
        """The control plane serves other groups: read its documents again, too."""
        self._own_groups = None
        self.forget()

    async def has_core(self) -> bool:
        """Whether the control plane serves the core group."""
        try:
            await self._local("/api", "application/json")
        except ApiError:
            return False
        return True

    async def own(self) -> list[tuple[str, str]]:
        """The other groups and versions that the control plane serves."""
        return [(group, version) for group, versions in (await self._own_discovery()).items() for version in versions]

    async def serve(self, request: Request, path: str) -> Response | None:
        """The response for a path whose discovery is merged; None for other paths."""
        path = path.rstrip("/") or "/"
        if path in ("/", "/index.html"):
            return Response(200, [("Content-Type", "application/json")], await self._index())
        if path == "/apis":
            # Only the document that is asked for: while servers come, each is made again for every request.
            negotiated = discovery_format(request)
            if not negotiated.version:
                return plain_response(request, await self._groups())
            return aggregated_response(request, await self._aggregated(negotiated.version), negotiated)
        if path.startswith("/apis/") and path.count("/") == 2:
            group = path.removeprefix("/apis/")
            if any(remote.service.group == group for remote in self._remotes.values()):
                group_of = by_group(self._services())[group]
                return plain_response(
                    request, Document({"kind": "APIGroup", "apiVersion": "v1", **_api_group(group_of)})
                )
        return None

    async def _served(self) -> list[APIServiceInfo]:
        """The APIServices that are served, by another server or this one."""
        own = await self._own_discovery()
        return [
            each
            for each in self._services()
            if each.group and (each.backend is not None or each.version in own.get(each.group, ()))
        ]

    async def _own_discovery(self) -> dict[str, dict[str, Any]]:
        """The control plane's own part of aggregated discovery, by group and version."""
        if self._own_groups is None:
            listed = msgspec.json.decode(await self._local("/apis", AGGREGATED.format("v2")))
            self._own_groups = {
                group["metadata"]["name"]: {version["version"]: version for version in group["versions"]}
                for group in listed["items"]
            }
        return self._own_groups

    async def _index(self) -> bytes:
        own = msgspec.json.decode(await self._local("/", "application/json"))
        paths = set(own["paths"])
        for remote in self._remotes.values():
            paths |= {f"/apis/{remote.service.group}", remote.service.path}
        return msgspec.json.format(msgspec.json.encode({"paths": sorted(paths)}), indent=2)

    async def _groups(self) -> Document:
        if "" not in self._made:
            groups = by_group(await self._served())
            own = await self._own_discovery()
            first = {} if GROUP in groups or GROUP not in own else {GROUP: _unregistered(GROUP, own[GROUP])}
            rest = {name: _unregistered(name, own[name]) for name in own if name not in groups and name not in first}
            merged = {**first, **groups, **rest}
            self._made[""] = Document(
                {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_api_group(each) for each in merged.values()]}
            )
        return self._made[""]

    async def _aggregated(self, version: str) -> Document:
        if version not in self._made:
            services = await self._served()
            own = await self._own_discovery()
            known = {each.group for each in services}
            for group in own:
                if group not in known:
                    services += _unregistered(group, own[group])
            groups: dict[str, list[APIServiceInfo]] = {}
            for each in services:
                groups.setdefault(each.group, []).append(each)
            # Unlike the list of groups, this one sorts groups of equal priority by name.
            names = sorted(groups, key=lambda name: (-max(each.group_priority for each in groups[name]), name))
            items = [
                {
                    "metadata": {"name": name},
                    "versions": [
                        self._entry(each, own)
                        for each in sorted(
                            groups[name], key=lambda each: (-each.version_priority, version_priority(each.version))
                        )
                    ],
                }
                for name in names
            ]
            self._made[version] = Document(
                {
                    "kind": "APIGroupDiscoveryList",
                    "apiVersion": f"apidiscovery.k8s.io/{version}",
                    "metadata": {},
                    "items": items,
                }
            )
        return self._made[version]

    def _entry(self, service: APIServiceInfo, own: dict[str, dict[str, Any]]) -> dict[str, Any]:
        remote = self._remotes.get(service.name)
        if remote is None:
            known = own.get(service.group, {}).get(service.version)
            return known or {"version": service.version, "freshness": "Current"}
        known = remote.resources or {"version": service.version}
        return {**known, "freshness": "Current" if remote.fresh else "Stale"}


def converted(service: APIServiceInfo, listed: Any) -> dict[str, Any]:
    """An APIResourceList in the format of aggregated discovery (``endpoints.ConvertGroupVersionIntoToDiscovery``)."""
    found: dict[str, dict[str, Any]] = {}
    for resource in listed.get("resources") or ():
        name, _, sub = resource["name"].partition("/")
        kind = {
            "group": resource.get("group") or service.group,
            "version": resource.get("version") or service.version,
            "kind": resource["kind"],
        }
        scope = "Namespaced" if resource.get("namespaced") else "Cluster"
        entry = found.setdefault(name, {"resource": name, "responseKind": {}, "scope": scope, "singularResource": ""})
        if sub:
            entry.setdefault("subresources", []).append(
                {"subresource": sub, "responseKind": kind, "verbs": resource.get("verbs") or []}
            )
        else:
            more = {key: resource[key] for key in ("shortNames", "categories") if resource.get(key)}
            entry |= {
                "responseKind": kind,
                "singularResource": resource.get("singularName", ""),
                "verbs": resource.get("verbs") or [],
                **more,
            }
    return {"version": service.version, "resources": list(found.values())}


async def read(proxy: BackendProxy, upstream: Upstream, known: ServersDiscovery | None) -> ServersDiscovery | None:
    """Read what a server has in all its group versions.

    Args:
        proxy: Sends the request.
        upstream: The server.
        known: What it had before.

    Returns:
        What it has now; None if it does not say so in aggregated form.

    Raises:
        TransportError: The server did not respond, or not with discovery.
    """
    kept = (("If-None-Match", known.etag),) if known is not None and known.etag else ()
    status, response, body = await proxy.fetch(upstream, "/apis", PROBER, ("Accept", ACCEPT), *kept)
    if status == 304:
        return known
    if status == 503:
        raise TransportError("/apis was answered with 503")
    content_type = response.header("content-type").replace(" ", "").lower()
    if status == 200 and "as=apigroupdiscoverylist" in content_type and "g=apidiscovery.k8s.io" in content_type:
        return ServersDiscovery(body, response.header("etag"))
    return None


async def read_version(proxy: BackendProxy, upstream: Upstream, service: APIServiceInfo) -> dict[str, Any]:
    """Read what a server without aggregated discovery has in one group version.

    Raises:
        TransportError: The server did not respond, or not with discovery.
    """
    user = User(PROBER.name)
    status, _, body = await proxy.fetch(upstream, service.path, user, ("Accept", "application/json"))
    if status != 200:
        raise TransportError(f"{service.path} was answered with {status}")
    return converted(service, _decoded(body))


class ServersDiscovery:
    """What a server has in all its group versions.

    Args:
        body: An APIGroupDiscoveryList.
        etag: Its ETag.

    Raises:
        TransportError: It is none.
    """

    def __init__(self, body: bytes, etag: str) -> None:
        self.etag = etag
        self._versions: dict[tuple[str, str], dict[str, Any]] = {}
        try:
            for group in _decoded(body).get("items") or ():
                for version in group.get("versions") or ():
                    self._versions.setdefault((group["metadata"]["name"], version["version"]), dict(version))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise TransportError(f"no APIGroupDiscoveryList: {error!r}") from error

    def version(self, service: APIServiceInfo) -> dict[str, Any]:
        """The part for one group version; without resources if it is not in there."""
        return self._versions.get((service.group, service.version)) or {"version": service.version}


def _decoded(body: bytes) -> Any:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TransportError(f"the answer is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise TransportError("the answer is not a JSON object")
    return found


def _unregistered(group: str, versions: Iterable[str]) -> list[APIServiceInfo]:
    priority = FIRST if group == GROUP else UNKNOWN
    return [APIServiceInfo(f"{version}.{group}", group, version, priority, 15, None) for version in versions]


def _api_group(services: list[APIServiceInfo]) -> dict[str, Any]:
    versions = [{"groupVersion": f"{each.group}/{each.version}", "version": each.version} for each in services]
    return {"name": services[0].group, "versions": versions, "preferredVersion": versions[0]}
